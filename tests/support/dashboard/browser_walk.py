"""A random walk through the dashboard in a real browser: seeded, so that a failure can be played again.

A step is one of `STEPS`: a page of the menu, back, forward, reload, a slider to an end, any select, toggle, choice side
by side or number field, another study, a click into a chart, a button that pins or closes. A step that finds nothing to
do is no step.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Error, Locator, Page

BUTTONS = ("Pin as candidate", "Unpin", "Close", "Compare with the candidate", "Floors")
"""Buttons that may be pressed; others download, fetch or write."""
CLICK_MILLISECONDS = 4_000
MARKS = ".js-plotly-plot .scatterlayer .point, .js-plotly-plot .barlayer .point"


@dataclass
class Walker:
    """Somebody who goes about a dashboard at random; `said` holds every step that was done."""

    page: Page
    settle: Callable[[], None]
    draw: random.Random
    said: list[str] = field(default_factory=list)
    _depth: int = 0
    _ahead: int = 0

    def walk(self, n_steps: int) -> None:
        """So many steps; after each, the page must be whole."""
        names, weights = list(STEPS), [weight for weight, _ in STEPS.values()]
        while len(self.said) < n_steps:
            name = self.draw.choices(names, weights)[0]
            try:
                done = STEPS[name][1](self)
            except Error:  # a rerun took away under the click what was to be clicked
                done = ""
            self.page.wait_for_timeout(120)
            self.settle()
            if done is not None:
                self.said.append(f"{name} {done}".strip())
            problem = self.page.get_by_test_id("stException")
            assert problem.count() == 0, f"{self.path()}\n{problem.first.inner_text()}"

    def path(self) -> str:
        """The last steps, for whoever looks for the reason."""
        return "\n".join([self.page.url, *self.said[-25:]])

    def one(self, selector: str) -> Locator | None:
        """One of what can be seen of this kind."""
        found = [place for place in self.page.locator(selector).all() if place.is_visible()]
        return self.draw.choice(found) if found else None


def menu(walker: Walker) -> str | None:
    """A page of the menu."""
    link = walker.one('[data-testid="stSidebar"] [data-testid="stPageLink-NavLink"]')
    if link is None:
        return None
    link.click(timeout=CLICK_MILLISECONDS)
    walker._depth, walker._ahead = walker._depth + 1, 0
    walker.page.wait_for_timeout(200)
    return link.inner_text(timeout=CLICK_MILLISECONDS)


def back(walker: Walker) -> str | None:
    """The page before, if there is one."""
    if not walker._depth:
        return None
    walker._depth, walker._ahead = walker._depth - 1, walker._ahead + 1
    walker.page.evaluate("history.back()")
    walker.page.wait_for_timeout(300)
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
        place for name in BUTTONS for place in walker.page.get_by_role("button", name=name).all() if place.is_visible()
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
    "mark": (2, mark),
    "button": (2.5, button),
}
"""What a walk does, and how often beside the others."""
