"""Every page of the menu opens in a real browser, light and dark, without an error in page, console or server."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from pages.shared.frame import MENU
from tests.browser.conftest import Watched

GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 27)"}


@pytest.mark.parametrize(
    ("query", "kept"), [("study=made&techniques=Layer+random", ("study", "techniques")), ("study=empty", ())]
)
def test_menu_leads_to_every_page_light_and_dark(
    visit: Callable[..., Watched], query: str, kept: tuple[str, ...]
) -> None:
    watched, schemes = visit(), list(GROUNDS)
    watched.open(f"/?{query}")
    for entry in MENU:
        page = watched.follow(entry.label)
        expect(page.get_by_text(entry.question, exact=True).first).to_be_visible()
        assert all(f"{name}=" in page.url for name in kept)
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS[scheme])
            watched.settle()
            expect(page.get_by_test_id("stMain")).to_contain_text(re.compile(r"\w+ \w+"))
            assert page.get_by_test_id("stException").count() == 0
        schemes.reverse()  # the next page starts as this one ended
