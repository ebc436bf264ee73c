"""A real browser on a real server, and what it complains of."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Response,
    TimeoutError,
    expect,
    sync_playwright,
)
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.shared.menu import MENU
from tests.browser.payloads import EVERYTHING, PAYLOADS, SOME
from tests.support.harness.reruns import note_second_try
from tests.support.planted.regions import make_regions
from tests.support.server import ARGUMENTS, BROWSERS, CHROMIUM, QUIET, Served, serve
from tests.support.studies import make_study

WAIT_MILLISECONDS = 120_000
USUAL: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"}
GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 27)"}
"""The background of a page in each scheme."""
RACE = "Bad delta path"
"""Of Streamlit's own, where a page is turned in the moment in which a control is moved: the page is asked for anew."""
UNDRAWN = '[data-testid="stPlotlyChart"]:not(:has(.main-svg))'
"""A chart that Plotly has not drawn yet."""
ASKED_BY_STREAMLIT = re.compile(r"/_stcore/(health|host-config)$")
"""Streamlit's own page looks for its server under the page's path first, and is told 404 on a deep link."""


DRAWN = "() => new Promise(done => requestIdleCallback(done, {timeout: 10000}))"
"""Comes back once the browser has drawn what it was sent so far, and has nothing left to do."""
STAND_STILL = """
const still = new CSSStyleSheet();
still.replaceSync("*, ::before, ::after { animation: none !important }");
document.adoptedStyleSheets.push(still);
"""
"""Without a graphics card, placeholders that pulse cost more than the page that they stand for."""


@dataclass
class Watched:
    """A page and everything that went wrong on it."""

    page: Page
    home: str
    test: pytest.Item
    problems: list[str] = field(default_factory=list)
    n_begun: int = 0
    """How often the server began to run the page's script, or a part of it."""
    n_ended: int = 0
    """How many of these have ended."""

    def listen(self) -> None:
        """Write down errors, dialogs and every request that leaves the server, and count runs of the page's script."""
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._message))
        self.page.on("pageerror", self._error)
        self.page.on("console", self._console)
        self.page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._request)
        self.page.on("response", self._response)

    def open(self, path: str) -> Page:
        """Open an address of the dashboard and wait until it is drawn."""
        self.page.goto(f"{self.home}{path}")
        self.settle()
        return self.page

    def follow(self, label: str) -> Page:
        """Go to a page by the menu and wait until it is drawn; to one that is grey there by its address."""
        entry, side = next(entry for entry in MENU if entry.label == label), self.page.get_by_test_id("stSidebar")
        closed = side.locator(f".st-key-menu-{entry.group.replace(' ', '-')} details:not([open]) > summary")
        if closed.count():
            closed.click()
        link = side.get_by_role("link", name=label, exact=True)
        if side.get_by_text(f"{label} · ").count():
            self.page.goto(f"{self.home}/{Path(entry.file).stem}?{urlsplit(self.page.url).query}")
        else:
            link.click()
        expect(self.page).to_have_title(f"{label} · PruneScope")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing runs, nothing is a skeleton any more, and every chart is drawn."""
        expect(self.page.locator(QUIET)).to_be_visible()
        expect(self.page.get_by_test_id("stHeading").first).to_be_visible()
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0)
        expect(self.page.locator(UNDRAWN)).to_have_count(0)

    def rerun_by(self, act: Callable[[], object], within: float = WAIT_MILLISECONDS) -> None:
        """Do what makes the page's script run again, and wait until it has: what is quiet may be so only before."""
        before, end = self.n_begun, time.monotonic() + within / 1000
        act()
        while self.n_begun == before or self.n_ended < self.n_begun:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.n_begun - before} runs of the script began within {within / 1000:.0f} s")
            self.page.wait_for_timeout(20)
        self.page.evaluate(DRAWN)
        self.settle()

    def note_second_try(self, reason: str) -> None:
        """Count a step that had to be done again; the end of the tests says so."""
        note_second_try(self.test, reason)

    def _message(self, frame: str | bytes) -> None:
        kind = ForwardMsg.FromString(frame).WhichOneof("type") if isinstance(frame, bytes) else None
        if kind == "new_session":
            self.n_begun += 1
        elif kind == "script_finished":
            self.n_ended = self.n_begun

    def _error(self, error: Error) -> None:
        if RACE in str(error):
            self.note_second_try("a page that could not be put together")
        else:
            self.problems.append(f"error in page: {error}")

    def _console(self, message: ConsoleMessage) -> None:
        is_known = ASKED_BY_STREAMLIT.search(message.location["url"]) or RACE in message.text
        if message.type == "error" and not is_known:
            self.problems.append(f"console: {message.text} ({message.location['url']})")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.home, self.home.replace("http", "ws", 1), "data:", "blob:")):
            self.problems.append(f"request out: {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and not ASKED_BY_STREAMLIT.search(response.url):
            self.problems.append(f"{response.status} from {response.url}")


@pytest.fixture(scope="package")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up studies, not to be changed: a usual one, one of two levels, one where a region pays, an empty one, one of
    payloads."""
    root = tmp_path_factory.mktemp("studies")
    make_study(root / "made", levels=8, title="A made-up study")
    make_study(root / "short", levels=2, title="Two levels")
    make_regions(root / "regions")
    (root / "empty" / "runs").mkdir(parents=True)
    names: dict[str, Any] = {
        "classes": PAYLOADS,
        "techniques": SOME,
        "title": EVERYTHING,
        "description": EVERYTHING,
    }
    names |= {"groups": {PAYLOADS[0]: PAYLOADS[:15], PAYLOADS[1]: PAYLOADS[15:]}, "network": PAYLOADS[2]}
    names |= {"treatments": (PAYLOADS[3],), "mitigation": PAYLOADS[4], "dataset": "own", "split": ""}
    make_study(root / "payloads", **names, levels=3, seeds=1, examples=600)
    return root


@pytest.fixture(scope="package")
def served(studies: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The dashboard over these studies."""
    with serve(studies, tmp_path_factory.mktemp("log") / "server.log") as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    if CHROMIUM is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} on this machine; `sh tests/install_browser.sh`")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


def new_context(browser: Browser, **settings: Any) -> BrowserContext:
    """A window of its own, patient, in which nothing pulses."""
    context = browser.new_context(**settings)
    context.set_default_timeout(WAIT_MILLISECONDS)
    context.add_init_script(STAND_STILL)
    return context


@pytest.fixture(scope="package")
def profiles(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Browser contexts by their settings, each with its cache: the second visit is as fast as a person's."""
    made: dict[str, BrowserContext] = {}

    def profile(settings: dict[str, Any]) -> BrowserContext:
        name = repr(sorted(settings.items()))
        if name not in made:
            made[name] = new_context(browser, **settings)
        return made[name]

    yield profile
    for context in made.values():
        context.close()


@pytest.fixture
def visit(
    request: pytest.FixtureRequest, profiles: Callable[..., BrowserContext], served: Served
) -> Iterator[Callable[..., Watched]]:
    """Fresh pages; the test fails at its end for whatever went wrong on a page or in the server."""
    watched: list[Watched] = []
    before = len(served.said())

    def fresh(**settings: Any) -> Watched:
        one = Watched(profiles(USUAL | settings).new_page(), served.address, request.node)
        one.listen()
        watched.append(one)
        return one

    expect.set_options(timeout=WAIT_MILLISECONDS)
    yield fresh
    for one in watched:
        one.page.close()
    assert not [problem for one in watched for problem in one.problems]
    assert "Traceback" not in served.said()[before:], served.said()[before:]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page of somebody whom nobody knows."""
    expect.set_options(timeout=WAIT_MILLISECONDS)
    with new_context(browser, viewport={"width": 1440, "height": 900}) as context:
        yield context.new_page()
