"""Light or dark: where the browser turns from one to the other while a page is open, the page is drawn again.

Streamlit repaints its own parts and runs nothing, so that charts would keep the ink of the other scheme.
"""

import streamlit as st

SCRIPT = """
const LAST_MS = 3000, EVERY_MS = 150;

function isDark() {
  const colour = getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor;
  const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}

export default function ({ data, setTriggerValue }) {
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  let wait = 0;
  const compare = (end) => {
    const dark = isDark();
    if (dark === data.dark) {
      window.schemeTold = undefined;
      if (performance.now() < end) wait = setTimeout(compare, EVERY_MS, end);
    } else if (window.schemeTold !== dark) {  // told once: what the server does not take in is not said for ever
      window.schemeTold = dark;
      setTriggerValue("turned", true);
    }
  };
  const turned = () => {
    clearTimeout(wait);
    compare(performance.now() + LAST_MS);
  };
  scheme.addEventListener("change", turned);
  turned();  // it may have turned before this was there
  return () => {
    clearTimeout(wait);
    scheme.removeEventListener("change", turned);
  };
}
"""


def is_dark() -> bool:
    """Whether the browser showed this page dark when it last asked for it."""
    return st.context.theme.type == "dark"


def follow_scheme() -> None:
    """Draw the page again when the browser turns to the other scheme, once a page."""
    component = st.components.v2.component("prunescope_scheme", js=SCRIPT)
    component(data={"dark": is_dark()}, key="scheme", on_turned_change=lambda: None)
