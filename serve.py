"""Starts the dashboard, and reads what its first page shows while the browser still loads.

`prunescope serve` runs it, and names the address that a browser opens; `streamlit run serve.py` does as well from a
clone, and `streamlit run app.py` starts without all that.
"""

import logging
import os
import webbrowser
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from re import DOTALL, findall
from threading import Thread
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import App, config

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
    from pages.shared import (
        menu,
        protocol,  # noqa: F401
    )
    from pages.shared.cache import catalog
    from pages.views.overview import contents, hero, words  # noqa: F401

    with suppress(OSError, PruneScopeError):
        remove_left_beside(catalog.studies_root())
    for source in map(catalog.source, catalog.study_names()[:1]):
        with suppress(PruneScopeError):
            for experiment in catalog.experiments(source)[:1]:
                catalog.class_names(source, experiment)
                flags = catalog.flags(source, experiment, CONTROL).table
                hero.payload(hero.find_hero(flags, source, experiment, CONTROL), source, experiment)
                menu.missing(source)


@asynccontextmanager
async def reading_ahead(app: App) -> AsyncIterator[None]:
    """Begin to read as soon as the server runs, and open a browser where one is asked for."""
    Thread(target=read_ahead, name=AHEAD, daemon=True).start()
    if address := os.environ.pop("PRUNESCOPE_BROWSER", ""):
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    yield


def content_policy() -> str:
    """What a page may load: the server's own files, and of inline scripts only those of Streamlit's own page."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    inline = (script for script in findall(r"<script>(.*?)</script>", page, DOTALL))
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in inline)
    rules = {
        "default-src": "'self'",
        # Components come as blobs; Plotly compiles its drawing of many points.
        "script-src": f"'self' blob: 'unsafe-eval' {hashes}",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())


class Guard:
    """Stands before Streamlit: closes what nobody needs, refuses pages of other origins and uploads that are too
    large before they are read, and tells browsers what a page may do."""

    CLOSED = ("/_stcore/metrics", "/_stcore/agent")
    AROUND = 2**16
    """Bytes that a form adds to the file in it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = {
            "Content-Security-Policy": content_policy(),
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "websocket" and not same_origin(Headers(scope=scope)):
            await send({"type": "websocket.close", "code": 1008, "reason": "This origin is not allowed."})
        elif scope["type"] == "http":
            refusal = self._refusal(scope)
            await (refusal or self.app)(scope, receive, self._with_headers(send))
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        if str(scope["path"]).startswith(self.CLOSED):
            return PlainTextResponse("Not found.", 404)
        if scope["method"] in ("POST", "PUT", "PATCH"):
            length, most = Headers(scope=scope).get("content-length", ""), config.get_option("server.maxUploadSize")
            if not length.isdecimal():
                return PlainTextResponse("Say how long the upload is (Content-Length).", 411)
            if int(length) > most * 2**20 + self.AROUND:
                return PlainTextResponse(f"The upload has {int(length):,} bytes; allowed are {most} MB.", 413)
        return None

    def _with_headers(self, send: Send) -> Send:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        return told


def same_origin(headers: Headers) -> bool:
    """Whether a page of this server asks, or no page at all; `server.corsAllowedOrigins` lists further ones."""
    origin = headers.get("origin")
    if origin is None:
        return True
    return urlsplit(origin).netloc == headers.get("host") or origin in config.get_option("server.corsAllowedOrigins")


app = App("app.py", lifespan=reading_ahead, middleware=[Middleware(Guard)])


def main() -> None:
    """Have Streamlit run this file; Ctrl-C is how a server ends, and no mistake."""
    from click import Abort
    from streamlit.web.cli import main as run_streamlit

    with suppress(KeyboardInterrupt, Abort):
        run_streamlit(["run", __file__], standalone_mode=False)


if __name__ == "__main__":
    main()
