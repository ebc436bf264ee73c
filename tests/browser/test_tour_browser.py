"""The tour in a real browser: five steps by arrow keys, notes, a file that opens offline and prints a step a page."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watched

SHOWN = ".tour .slide:not([hidden])"
STEPS = {"made": 5, "regions": 4, "short": 5}


def walked(page: Page, n: int) -> list[str]:
    """The sentences of all steps, walked through by arrow keys, each with a chart that is drawn and described."""
    said = []
    for number in range(1, n + 1):
        expect(page.locator(".tour .where")).to_have_text(re.compile(f"^{number} of {n} · "))
        expect(page.locator(SHOWN)).to_have_count(1)
        image = page.locator(f"{SHOWN} img")
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
        assert len(image.get_attribute("alt") or "") > 20
        said.append(page.locator(f"{SHOWN} h2").inner_text())
        page.keyboard.press("ArrowRight")
    expect(page.locator(".tour .next")).to_be_disabled()
    return said


@pytest.mark.parametrize("study", STEPS)
def test_the_tour_is_walked_saved_and_opened_offline(
    visit: Callable[..., Watched], browser: Browser, tmp_path: Path, study: str
) -> None:
    watched = visit()
    page = watched.open(f"/?study={study}&tour=1")
    expect(page.locator(SHOWN)).to_have_count(1)
    runs = watched.n_begun
    said = walked(page, STEPS[study])
    assert len(set(said)) == STEPS[study] and watched.n_begun == runs
    page.keyboard.press("n")
    expect(page.locator(f"{SHOWN} .notes")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".tour .where")).to_have_text(re.compile(f"^{STEPS[study] - 1} of"))
    watched.settle()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as one file").click()
    file = tmp_path / "tour.html"
    download.value.save_as(file)

    context = browser.new_context(offline=True)
    alone, asked = context.new_page(), []
    alone.on("request", lambda request: asked.append(request.url))
    problems: list[str] = []
    alone.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    alone.goto(file.as_uri())
    assert walked(alone, STEPS[study]) == said
    assert [url for url in asked if not url.startswith(("data:", file.as_uri()))] == [] and not problems
    printed = alone.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == STEPS[study]
    context.close()


def test_a_button_leads_into_the_tour_and_out(visit: Callable[..., Watched]) -> None:
    watched = visit(viewport={"width": 390, "height": 844})
    page = watched.open("/?study=made")
    watched.rerun_by(page.get_by_role("link", name="Take the tour").click)
    expect(page.locator(SHOWN)).to_be_visible()
    box = page.locator(f"{SHOWN} img").bounding_box()
    assert box is not None and box["y"] + box["height"] <= 844 and "tour=1" in page.url
    watched.rerun_by(page.get_by_role("link", name="Leave the tour").click)
    expect(page.locator(".who-pays")).to_be_visible()
    assert "tour=" not in page.url
