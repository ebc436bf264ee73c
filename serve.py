"""Starts the dashboard, and reads what its first page shows while the browser still loads.

`prunescope serve` runs it, and names the address that a browser opens; `streamlit run serve.py` does as well from a
clone, and `streamlit run app.py` starts without all that.
"""

import logging
import os
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from threading import Thread

from streamlit import App

AHEAD = "reading ahead"
"""Name of the thread. Streamlit warns of what is drawn outside of a session, such as the spinners of caches."""

logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").addFilter(
    lambda record: record.threadName != AHEAD
)


def read_ahead() -> None:
    """Fill the caches with what the Overview shows of the first study; what cannot be read, the page itself says."""
    # Imported here, so that the server answers before.
    from engine.analysis.curves.baseline import CONTROL
    from engine.errors import PruneScopeError
    from engine.store.files import remove_left_beside
    from pages.shared import protocol  # noqa: F401
    from pages.shared.cache import catalog
    from pages.views.overview import contents, words  # noqa: F401

    with suppress(OSError, PruneScopeError):
        remove_left_beside(catalog.studies_root())
    for source in map(catalog.source, catalog.study_names()[:1]):
        with suppress(PruneScopeError):
            for experiment in catalog.experiments(source)[:1]:
                catalog.class_names(source, experiment)
                catalog.flags(source, experiment, CONTROL)


@asynccontextmanager
async def reading_ahead(app: App) -> AsyncIterator[None]:
    """Begin to read as soon as the server runs, and open a browser where one is asked for."""
    Thread(target=read_ahead, name=AHEAD, daemon=True).start()
    if address := os.environ.pop("PRUNESCOPE_BROWSER", ""):
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    yield


app = App("app.py", lifespan=reading_ahead)


def main() -> None:
    """Have Streamlit run this file; Ctrl-C is how a server ends, and no mistake."""
    from click import Abort
    from streamlit.web.cli import main as run_streamlit

    with suppress(KeyboardInterrupt, Abort):
        run_streamlit(["run", __file__], standalone_mode=False)


if __name__ == "__main__":
    main()
