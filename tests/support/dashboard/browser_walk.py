"""A random walk through the dashboard in a real browser: seeded, so that a failure can be played again.

A step is one of `STEPS`: a page of the menu, back, forward, reload, a slider to an end, any select, toggle, choice side
by side, fold, text or number field, another study, a click into a chart, a button that pins or closes. A step that
finds nothing to do, or whose click meets nothing, is no step.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Error, Locator, Page

from pages.shared.menu import MENU

BUTTONS = ("Pin as candidate", "Unpin", "Close", "Compare with the candidate", "Floors")
"""Buttons that may be pressed; others download, fetch or write."""
JOB_BUTTONS = ("Start", "Pause", "Go on", "Cancel")
"""Buttons of the Run page, for whoever walks over studies of their own."""
TEXTS = ("", "a walk", "..", "<b>&amp;</b>", "Ä" * 300)
CLICK_MILLISECONDS = 10_000
MARKS = ".js-plotly-plot .scatterlayer .point, .js-plotly-plot .barlayer .point"


@dataclass
class Walker:
    """Somebody who goes about a dashboard at random; `said` holds every step that was done."""

    page: Page
    settle: Callable[[], None]
    draw: random.Random
    problems: Callable[[], list[str]]
    """What went wrong so far, in the browser and in the server."""
    buttons: tuple[str, ...] = BUTTONS
    said: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    """Steps whose click met nothing any more."""
    seen: set[str] = field(default_factory=set)
    """Titles of the pages that were open."""
    _depth: int = 0
    _ahead: int = 0

    def walk(self, n_steps: int) -> None:
        """So many steps; after each, the page must be whole."""
        names, weights = list(STEPS), [weight for weight, _ in STEPS.values()]
        while len(self.said) < n_steps:
            name = self.draw.choices(names, weights)[0]
            try:
                done = STEPS[name][1](self)
            except Error as error:  # a rerun took away under the click what was to be clicked
                self.missed.append(f"after {len(self.said)}, {name}: {error.message}")
                done = None
            self.page.wait_for_timeout(120)
            self.settle()
            if done is not None:
                self.said.append(" ".join(f"{name} {done}".split()))
                self.seen.add(self.page.title())
            problem = self.page.get_by_test_id("stException")
            assert problem.count() == 0, f"{self.path()}\n{problem.first.inner_text()}"
            assert not self.problems(), f"{self.path()}\n{self.problems()}"

    def path(self) -> str:
        """How many steps were done, and the last, for whoever looks for the reason."""
        return "\n".join([f"{len(self.said)} steps, {len(self.missed)} missed", self.page.url, *self.said[-25:]])

    def one(self, selector: str) -> Locator | None:
        """One of what can be seen of this kind."""
        found = [place for place in self.page.locator(selector).all() if place.is_visible()]
        return self.draw.choice(found) if found else None


def menu(walker: Walker) -> str | None:
    """Any page of the menu, its group folded out first where it is not; one that is grey by its address."""
    entry, side = walker.draw.choice(MENU), walker.page.get_by_test_id("stSidebar")
    closed = side.locator(f".st-key-menu-{entry.group.replace(' ', '-')} details:not([open]) > summary")
    if closed.count():
        closed.click(timeout=CLICK_MILLISECONDS)
    link = side.get_by_role("link", name=entry.label, exact=True)
    if link.count():
        link.click(timeout=CLICK_MILLISECONDS)
    else:
        address = urlsplit(walker.page.url)
        path = "" if entry.file == "app.py" else Path(entry.file).stem
        walker.page.goto(f"{address.scheme}://{address.netloc}/{path}?{address.query}")
    walker._depth, walker._ahead = walker._depth + 1, 0
    walker.page.wait_for_timeout(200)
    return entry.label


def back(walker: Walker) -> str | None:
    """The page before, if there is one."""
    if not walker._depth:
        return None
    walker._depth, walker._ahead = walker._depth - 1, walker._ahead + 1
    walker.page.evaluate("history.back()")
    walker.page.wait_for_timeout(300)
    if walker.page.url == "about:blank":  # a link to where one was already was no step
        walker._depth, walker._ahead = 0, 0
        walker.page.go_forward()
        return None
    return ""


def forward(walker: Walker) -> str | None:
    """Where one came back from."""
    if not walker._ahead:
        return None
    walker._depth, walker._ahead = walker._depth + 1, walker._ahead - 1
    walker.page.evaluate("history.forward()")
    walker.page.wait_for_timeout(300)
    return ""


def reload(walker: Walker) -> str:
    """The same address anew."""
    walker.page.reload()
    return ""


def slide(walker: Walker) -> str | None:
    """A slider to an end, or a step."""
    track = walker.one('[data-testid="stSlider"] input[type=range]')
    if track is None:
        return None
    key = walker.draw.choice(["Home", "End", "ArrowLeft", "ArrowRight"])
    track.focus(timeout=CLICK_MILLISECONDS)
    walker.page.keyboard.press(key)
    return f"{track.get_attribute('aria-label')} {key}"


def select(walker: Walker, within: str = "") -> str | None:
    """Any option of any list."""
    box = walker.one(f'{within} [data-testid="stSelectbox"] input')
    if box is None:
        return None
    box.click(timeout=CLICK_MILLISECONDS)
    options = walker.page.get_by_role("option").all()
    if not options:
        walker.page.keyboard.press("Escape")
        return None
    option = walker.draw.choice(options)
    name = option.inner_text(timeout=CLICK_MILLISECONDS)
    option.click(timeout=CLICK_MILLISECONDS)
    return name


def study(walker: Walker) -> str | None:
    """Another study, whatever page is open."""
    return select(walker, ".st-key-study")


def toggle(walker: Walker) -> str | None:
    """A switch."""
    switch = walker.one('[data-testid="stCheckbox"] label')
    if switch is None:
        return None
    switch.click(timeout=CLICK_MILLISECONDS)
    return switch.inner_text(timeout=CLICK_MILLISECONDS)


def side_by_side(walker: Walker) -> str | None:
    """One of a few that stand side by side."""
    choice = walker.one('[data-testid="stButtonGroup"] button')
    if choice is None:
        return None
    choice.click(timeout=CLICK_MILLISECONDS)
    return choice.inner_text(timeout=CLICK_MILLISECONDS)


def number(walker: Walker) -> str | None:
    """Some number in a field, an end of its range or beyond, or nothing."""
    box = walker.one('[data-testid="stNumberInput"] input')
    if box is None:
        return None
    text = walker.draw.choice(["0", "100", "50", "-5", "99.95", "1000000", ""])
    box.fill(text, timeout=CLICK_MILLISECONDS)
    box.press("Enter", timeout=CLICK_MILLISECONDS)
    return text


def several(walker: Walker) -> str | None:
    """One more or one less of a list of several."""
    box = walker.one('[data-testid="stMultiSelect"] input')
    if box is None:
        return None
    if walker.draw.random() < 0.5:
        box.press("Backspace", timeout=CLICK_MILLISECONDS)
        return "one less"
    box.click(timeout=CLICK_MILLISECONDS)
    options = walker.page.get_by_role("option").all()
    if options:
        walker.draw.choice(options).click(timeout=CLICK_MILLISECONDS)
    walker.page.keyboard.press("Escape")
    return "one more"


def fold(walker: Walker) -> str | None:
    """Something folded out, or in: a part of a page, a group of the menu."""
    head = walker.one('[data-testid="stExpander"] summary')
    if head is None:
        return None
    head.click(timeout=CLICK_MILLISECONDS)
    return max(head.inner_text(timeout=CLICK_MILLISECONDS).splitlines(), key=len)


def text(walker: Walker) -> str | None:
    """Some text in a field, strange or none."""
    box = walker.one('[data-testid="stTextInput"] input:enabled')
    if box is None:
        return None
    written = walker.draw.choice(TEXTS)
    box.fill(written, timeout=CLICK_MILLISECONDS)
    box.press("Enter", timeout=CLICK_MILLISECONDS)
    return written[:20]


def mark(walker: Walker) -> str | None:
    """A click on a mark of a chart: a point, a bar."""
    point = walker.one(MARKS)
    if point is None:
        return None
    point.scroll_into_view_if_needed(timeout=CLICK_MILLISECONDS)
    box = point.bounding_box(timeout=CLICK_MILLISECONDS)
    if box is None:
        return None
    walker.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    return ""


def button(walker: Walker) -> str | None:
    """A button that pins, forgets, closes, compares or folds out; a reason is given where one is asked for."""
    found = [
        place
        for name in walker.buttons
        for place in walker.page.get_by_role("button", name=name, exact=name in JOB_BUTTONS).all()
        if place.is_visible() and place.is_enabled()
    ]
    if not found:
        return None
    for reason in walker.page.get_by_placeholder("The record keeps the reason").all():
        if walker.draw.random() < 0.7:
            reason.fill("a walk", timeout=CLICK_MILLISECONDS)
    chosen = walker.draw.choice(found)
    name = chosen.inner_text(timeout=CLICK_MILLISECONDS).strip().splitlines()[-1]
    chosen.click(timeout=CLICK_MILLISECONDS)
    return name


STEPS: dict[str, tuple[float, Callable[[Walker], str | None]]] = {
    "menu": (4, menu),
    "back": (2, back),
    "forward": (1, forward),
    "reload": (0.5, reload),
    "slider": (3, slide),
    "select": (3, select),
    "study": (1.5, study),
    "toggle": (1, toggle),
    "side by side": (1.5, side_by_side),
    "number": (1, number),
    "several": (0.5, several),
    "fold": (1, fold),
    "text": (0.5, text),
    "mark": (2, mark),
    "button": (2.5, button),
}
"""What a walk does, and how often beside the others."""
