"""Every page of the menu opens in a real browser without an error in page, console or server: here in the light scheme.

The dark one is for the walk in `test_payloads_browser`.
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from pages.shared.menu import MENU
from tests.browser.conftest import GROUNDS, RACE, Watched

INK = "() => getComputedStyle(document.querySelector('.js-plotly-plot .annotation-text')).fill"
"""The colour in which the first chart is written on."""


@pytest.mark.parametrize(
    ("query", "kept"), [("study=made&techniques=Layer+random", ("study", "techniques")), ("study=empty", ())]
)
def test_menu_leads_to_every_page_and_keeps_the_filters(
    visit: Callable[..., Watched], query: str, kept: tuple[str, ...]
) -> None:
    watched = visit()
    watched.open(f"/?{query}")
    for entry in MENU:
        page = watched.follow(entry.label)
        expect(page.get_by_text(entry.question, exact=True).first).to_be_visible()
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS["light"])
        assert all(f"{name}=" in page.url for name in kept)
        assert page.get_by_test_id("stException").count() == 0


def test_an_open_page_follows_the_scheme(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open("/frontier?study=made")
    inks = set()
    for scheme in ("dark", "light", "dark"):
        watched.rerun_by(lambda scheme=scheme: page.emulate_media(color_scheme=scheme))
        inks.add((scheme, page.evaluate(INK)))
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS[scheme])
    assert len(inks) == len(dict(inks)) == len({ink for _, ink in inks}) == 2, inks


def test_what_no_longer_fits_another_study_is_forgotten(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open("/frontier?study=made")
    page.locator(".st-key-threshold-slide input[type=range]").focus()
    watched.rerun_by(lambda: page.keyboard.press("Home"))
    watched.follow("Harmed examples")
    page.locator(".st-key-level input[type=range]").focus()
    watched.rerun_by(lambda: page.keyboard.press("End"))
    experiment = page.locator(".st-key-protocol input")
    before = experiment.input_value()
    page.locator(".st-key-study input").click()
    watched.rerun_by(page.get_by_role("option", name="short", exact=True).click)
    expect(experiment).not_to_have_value(before)
    for label in ("Harmed examples", "Subgroups", "Writers", "Frontier"):
        watched.follow(label)
        assert "study=short" in page.url and page.get_by_test_id("stException").count() == 0, label


def test_a_page_that_cannot_be_put_together_is_asked_for_anew_once(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open("/decisions?study=made")
    said = f"{RACE} index 3 (should be between [0, 0])"
    watched.note_second_try = lambda reason: None  # it is meant to happen here
    for is_first in (True, False):
        page.evaluate("window.isOld = true")
        page.evaluate("said => { setTimeout(() => { throw Error(said) }) }", said)
        page.wait_for_timeout(1000)
        watched.settle()
        assert page.evaluate("window.isOld === true") is not is_first
