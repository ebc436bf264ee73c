"""The sidebar on a narrow screen: folded when the dashboard opens, so that the page has the width."""

import streamlit as st

NARROW = 1100
"""Pixels up to which a screen is narrow."""

SCRIPT = """
export default function () {
  if (window.sidebarMet) return;
  window.sidebarMet = true;
  const fold = document.querySelector('[data-testid="stSidebarCollapseButton"] button[aria-expanded="true"]');
  if (fold && window.innerWidth <= NARROW) fold.click();
}
""".replace("NARROW", str(NARROW))


def fold_where_narrow() -> None:
    """Fold the sidebar of a narrow screen, once a visit; who unfolds it keeps it."""
    st.components.v2.component("prunescope_sidebar", js=SCRIPT)(key="sidebar")
