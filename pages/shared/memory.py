"""Frees closed sessions: the server does not collect after each rerun, which is much faster with many sessions."""

import gc
import threading
import time

import streamlit as st

SECONDS = 10.0


@st.cache_resource
def keep_memory_free() -> threading.Thread:
    """The one thread of the server that collects every few seconds."""
    thread = threading.Thread(target=_collect, daemon=True)
    thread.start()
    return thread


def _collect() -> None:
    while True:
        time.sleep(SECONDS)
        gc.collect()
