"""Frees closed sessions: the server does not collect after each rerun, which is much faster with many sessions."""

import atexit
import gc
import threading
import time
from functools import cache

SECONDS = 10.0


@cache
def keep_memory_free() -> threading.Thread:
    """The one thread of the process that collects every few seconds.

    It passes over what the process holds by now, which is code and stays: looking through that takes a tenth of a
    second, in which no session runs.
    """
    gc.freeze()
    atexit.register(gc.unfreeze)
    thread = threading.Thread(target=_collect, name="collector", daemon=True)
    thread.start()
    return thread


def _collect() -> None:
    while True:
        time.sleep(SECONDS)
        gc.collect()
