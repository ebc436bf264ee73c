"""How often one session may write: a person never notices, a script that presses buttons is slowed down."""

import time

import streamlit as st

from engine.errors import PruneScopeError

MOST_WRITES, WITHIN_SECONDS = 60, 60.0
WRITES = "writes"
"""Where the session keeps when it wrote lately."""


def check_pace() -> None:
    """Take note of one more write of this session; refused where there were too many of late."""
    now = time.monotonic()
    lately = [then for then in st.session_state.get(WRITES, ()) if now - then < WITHIN_SECONDS]
    if len(lately) >= MOST_WRITES:
        wait = WITHIN_SECONDS - (now - lately[0])
        raise PruneScopeError(f"That is {MOST_WRITES} changes within a minute. Go on in {wait:.0f} seconds.")
    st.session_state[WRITES] = [*lately, now]
