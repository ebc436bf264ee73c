"""Back and Forward: one entry per page, with the settings that the page was left with; a pin makes an entry of its own.

Streamlit adds an entry for the page that is being left without its settings, and one for each setting that the next
page takes over: Back would show another answer. Both happen in the browser, so both are put right there.
"""

from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared.session.candidate import KEYS

SCRIPT = """
export default function () {
  if (window.oneEntryPerPage) return;
  window.oneEntryPerPage = true;
  const push = history.pushState.bind(history);
  let leaving = false;
  document.addEventListener("click", (event) => {
    const link = event.target.closest ? event.target.closest("a[href]") : null;
    if (link) leaving = new URL(link.href, location.href).pathname !== location.pathname;
  }, true);
  window.addEventListener("popstate", () => { leaving = false; });
  history.pushState = (state, title, url) => {
    const here = new URL(location.href), next = new URL(url, here);
    const pins = (place) => KEYS.map((key) => place.searchParams.get(key)).join("|");
    if (next.pathname !== here.pathname) { leaving = false; push(state, title, url); }
    else if (leaving) return;
    else if (pins(next) !== pins(here)) push(state, title, url);
    else history.replaceState(state, title, url);
  };
}
""".replace("KEYS", str(list(KEYS)))


def keep_history() -> None:
    """Put the browser's history right, once a page."""
    st.components.v2.component("prunescope_history", js=SCRIPT)(key="history")


def take_address(shared: tuple[str, ...]) -> None:
    """Let a page that was just opened have what its address says: all of it by Back and Forward, else what pages share.

    Streamlit leaves out what a control of the page before had under the same name, and Back would forget the study.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    # The browser adds what its controls hold to what a link says, so that a setting may stand there twice.
    said = {key: list(dict.fromkeys(v)) for key, v in parse_qs(context.query_string, keep_blank_values=True).items()}
    if not context.is_history_navigation:
        said = {key: values for key, values in said.items() if key in shared}
    with context.session_state.query_params() as known:
        if any(key not in known for key in said):
            rest = {key: known.get_all(key) for key in known if key not in said}
            known.populate_from_query_string(urlencode(said | rest, doseq=True))
            known.set_initial_query_params_from_current()
            known._send_query_param_msg()
