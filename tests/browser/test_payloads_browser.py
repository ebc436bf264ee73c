"""Names with HTML and markdown reach every page, all dark, and hover text as plain text: no dialog, no request out."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.shared import formats
from pages.shared.menu import MENU
from pages.views.frontier.side_charts import MOST_GROUPS
from tests.browser.conftest import GROUNDS, Watched
from tests.browser.payloads import EVERYTHING, PAYLOADS, SOME

INJECTED = """() => [...document.querySelectorAll('*')].filter(found =>
    found.matches('iframe, object, embed, base, img[src="x"], details[ontoggle], input[autofocus]')
    || ['onerror', 'onload', 'onfocus', 'ontoggle'].some(name => found.hasAttribute(name))
    || ['src', 'href'].some(name => found.hasAttribute(name)
        && !found.getAttribute(name).startsWith('data:')
        && new URL(found.getAttribute(name), document.baseURI).origin !== location.origin)
).map(found => found.outerHTML.slice(0, 200))"""
"""Elements that only a payload could have made: they act by themselves, or lead or load from elsewhere."""

HOVER_MS = 150
"""Plotly answers a pointer at most every 50 ms; a busy machine takes longer."""


def squeezed(text: str) -> str:
    """The text without what browsers fold or do not show."""
    return re.sub(r"\s+", " ", text.replace(formats.JOINER, ""))


def words(page: Page) -> str:
    """All text of a page, its charts' too, as a reader sees it; without title and description, which say all names."""
    text = squeezed(page.evaluate("() => document.body.innerText + ' ' + document.body.textContent"))
    return text.replace(squeezed(EVERYTHING), "")


def test_there_are_thirty_different_payloads() -> None:
    assert len(set(PAYLOADS)) == 30


def test_names_are_text_on_every_page(visit: Callable[..., Watched]) -> None:
    watched = visit(color_scheme="dark")
    watched.open("/?study=payloads")
    seen = ""
    for entry in MENU:
        page = watched.follow(entry.label)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS["dark"])
        assert page.evaluate(INJECTED) == []
        assert page.get_by_test_id("stException").count() == 0
        text = words(page)
        missing = [payload for payload in SOME if squeezed(payload) not in text]
        shown = page.locator(".st-key-techniques").count()
        assert not missing or not shown, "the filter shows the techniques as they are"
        seen += text
    assert not [payload for payload in PAYLOADS if squeezed(payload) not in seen]


@pytest.mark.quiet
def test_names_are_text_when_a_point_is_hovered(visit: Callable[..., Watched]) -> None:
    watched = visit(viewport={"width": 1440, "height": 2400})
    page = watched.open("/frontier?study=payloads&threshold=50")
    said = ""
    for chart in (".st-key-frontier", ".st-key-chosen-classes", ".st-key-weights"):
        plot = page.locator(f"{chart} .js-plotly-plot")
        expect(plot).to_be_visible()
        for point in plot.locator(".point path, path.point").all()[:40]:
            point.hover(force=True)
            page.wait_for_timeout(HOVER_MS)
            said += squeezed(page.locator(f"{chart} .hoverlayer").text_content() or "")
    assert sum(squeezed(payload).replace(" ", "") in said.replace(" ", "") for payload in PAYLOADS) >= MOST_GROUPS
    assert page.evaluate(INJECTED) == []


def test_names_are_text_in_tables_and_the_record(visit: Callable[..., Watched], tmp_path: Path) -> None:
    watched = visit()
    page = watched.open("/frontier?study=payloads&threshold=50")
    with page.expect_download() as coming:
        page.get_by_role("button", name="HTML, for people").click()
    coming.value.save_as(tmp_path / "record.html")
    record = visit()
    record.home = "file:"
    record.page.goto(f"file://{tmp_path / 'record.html'}")
    expect(record.page.locator(".first svg").first).to_be_visible()
    text = words(record.page)
    assert not [payload for payload in PAYLOADS if squeezed(payload) not in text]
    back = [found for found in record.page.evaluate(INJECTED) if found.startswith(f'<a href="{watched.home}/frontier?')]
    assert record.page.evaluate(INJECTED) == back and len(back) == 1, "one link leads out: back to the view"
