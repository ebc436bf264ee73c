"""A page that the browser could not put together is asked for anew.

What a control sends just before somebody turns the page may reach the browser after the page was cleared, and then
Streamlit draws nothing more.
"""

import streamlit as st

SCRIPT = """
const LEAST_MS = 10000;

export default function () {
  if (window.mendsItself) return;
  window.mendsItself = true;
  const mend = (event) => {
    const said = String(event.message || (event.reason && event.reason.message) || "");
    if (!/delta path/i.test(said)) return;
    const last = Number(sessionStorage.getItem("mended") || 0);
    if (Date.now() - last < LEAST_MS) return;
    sessionStorage.setItem("mended", Date.now());
    location.reload();
  };
  window.addEventListener("error", mend);
  window.addEventListener("unhandledrejection", mend);
}
"""


def mend_page() -> None:
    """Ask for the page anew where the browser could not put it together; at most every ten seconds."""
    st.components.v2.component("prunescope_mending", js=SCRIPT)(key="mending")
