"""axe-core on every page, light and dark, at three widths: nothing serious, nothing critical.

What a scheme changes is colour alone, so a dark page is asked for its contrast."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pages.shared.menu import MENU, Entry
from tests.browser.conftest import GROUNDS, Watched
from tests.support.server import TOP

AXE = (TOP / "tests" / "support" / "axe" / "axe.min.js").read_text(encoding="utf-8")
WIDTHS = (1440, 900, 390)
CONTRAST = ["color-contrast"]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SIDEWAYS = "() => (main => main.scrollWidth > main.clientWidth)(document.querySelector('[data-testid=stMain]'))"
CUT = """() => [...document.querySelectorAll('[data-testid=stDataFrame] .dvn-scroller')]
  .some(table => table.checkVisibility() && table.scrollWidth > table.clientWidth + 2)"""
GRAVE = ("serious", "critical")
STREAMLITS = {
    "color-contrast": ('[data-testid="stTooltipIcon"]',),
}
"""By rule, places of Streamlit's own that no page can change."""


def violations(page: Page, rules: Sequence[str] = RULES) -> list[str]:
    """What axe finds serious or critical by these rules, or sets of rules; a line each."""
    page.evaluate(AXE)
    left_out = [place for places in STREAMLITS.values() for place in places]
    found: dict[str, Any] = page.evaluate(
        "([rules, left_out]) => axe.run({exclude: left_out.map(place => [place])}, "
        "{resultTypes: ['violations'], runOnly: rules})",
        [list(rules), left_out],
    )
    return [
        f"{rule['impact']} {rule['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for rule in found["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("entry", MENU, ids=lambda entry: entry.label)
def test_page_is_accessible(visit: Callable[..., Watched], entry: Entry) -> None:
    watched = visit(reduced_motion="reduce")
    stem = "" if entry.file == "app.py" else Path(entry.file).stem
    page = watched.open(f"/{stem}?study=made")
    found = {}
    for scheme, rules in (("light", RULES), ("dark", CONTRAST)):
        if scheme == "dark":
            watched.rerun_by(lambda: page.emulate_media(color_scheme="dark"))
            expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS["dark"])
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(400)
            found |= dict.fromkeys(violations(page, rules), f"{scheme}, {width} px")
            assert not page.evaluate(SIDEWAYS), f"{width} px: the page scrolls sideways"
            assert width > 390 or not page.evaluate(CUT), "a table scrolls in its frame on a phone"
    assert not found, "\n".join(f"{where}: {line}" for line, where in found.items())


def test_the_tour_is_accessible(visit: Callable[..., Watched]) -> None:
    page = visit(reduced_motion="reduce").open("/?study=made&tour=1")
    assert violations(page) == []


def test_axe_sees_what_is_wrong(visit: Callable[..., Watched]) -> None:
    page = visit(reduced_motion="reduce").open("/bring?study=made")
    page.evaluate("document.querySelector('[data-testid=stMain]').append(document.createElement('button'))")
    assert any("button-name" in line for line in violations(page))
