"""Every page of the menu opens in a real browser, light and dark, without an error in page, console or server."""

import re
from collections.abc import Callable
from pathlib import PurePath

import pytest
from playwright.sync_api import expect

from pages.shared.frame import MENU, Entry
from tests.browser.conftest import Watched

pytestmark = pytest.mark.xdist_group("browser")

GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 27)"}


def address(entry: Entry, query: str = "") -> str:
    """Where a page of the menu lies."""
    return f"/{'' if entry.file == 'app.py' else PurePath(entry.file).stem}{query}"


@pytest.mark.parametrize("entry", MENU, ids=[entry.label for entry in MENU])
def test_page_opens(visit: Callable[..., Watched], entry: Entry) -> None:
    watched = visit()
    page = watched.open(address(entry, "?study=made"))
    expect(page).to_have_title(f"{entry.label} · PruneScope")
    expect(page.get_by_text(entry.question, exact=True).first).to_be_visible()
    for scheme, ground in GROUNDS.items():
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
        watched.settle()
        assert page.get_by_test_id("stException").count() == 0


@pytest.mark.parametrize(
    ("query", "kept"), [("study=made&techniques=Layer+random", ("study", "techniques")), ("study=empty", ())]
)
def test_menu_leads_to_every_page_and_keeps_the_filters(
    visit: Callable[..., Watched], query: str, kept: tuple[str, ...]
) -> None:
    watched = visit()
    page = watched.open(f"/?{query}")
    for entry in MENU[1:]:
        page.get_by_test_id("stSidebar").get_by_role("link", name=entry.label, exact=True).click()
        expect(page).to_have_title(f"{entry.label} · PruneScope")
        watched.settle()
        assert all(f"{name}=" in page.url for name in kept)
        expect(page.get_by_test_id("stMain")).to_contain_text(re.compile(r"\w+ \w+"))
        assert page.get_by_test_id("stException").count() == 0
