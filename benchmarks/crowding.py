"""How many times as long as on a machine of its own a process takes here now, beside whatever else runs.

Seconds that somebody waits are divided by it before they are judged, so that a busy machine fails no benchmark.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PROBE_SECONDS, PAUSE_SECONDS = 0.05, 0.5
"""So much of a processor is asked for, every so often."""


@contextmanager
def crowding() -> Iterator[Callable[[], float]]:
    """Asks for a little of a processor again and again; gives a function that says how many times as long it takes."""
    found, ended = [1.0], threading.Event()

    def probe() -> None:
        while not ended.wait(PAUSE_SECONDS):
            begun, spent = time.perf_counter(), time.thread_time()
            while time.thread_time() - spent < PROBE_SECONDS:
                pass
            found.append((time.perf_counter() - begun) / PROBE_SECONDS)

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    try:
        yield lambda: max(1.0, statistics.median(found))
    finally:
        ended.set()
        thread.join()
