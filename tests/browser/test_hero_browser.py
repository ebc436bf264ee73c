"""The picture "Who pays?" in a real browser: it moves smoothly, alone, by hand and by keyboard, and asks no rerun."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Watched

MOST_MS = 25.0
"""A frame in the median."""
PHONE = {"width": 390, "height": 844}
FRAMES = """
async slide => {
    const times = [], drawn = [];
    let last = performance.now();
    for (let frame = 0; frame < 90; frame += 1) {
        slide.value = (frame % 45) / 45 * slide.max;
        const began = performance.now();
        slide.dispatchEvent(new Event("input"));
        drawn.push(performance.now() - began);
        const now = await new Promise(requestAnimationFrame);
        times.push(now - last);
        last = now;
    }
    const median = list => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
    return [median(times.slice(1)), median(drawn)];
}
"""
INKED = """
canvas => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let sum = 0;
    for (let place = 3; place < pixels.length; place += 4) sum += pixels[place];
    return sum;
}
"""


def picture(page: Page) -> tuple[Locator, Locator]:
    """The slider and the canvas."""
    slide = page.locator(".who-pays .slide")
    expect(slide).to_be_visible()
    return slide, page.locator(".who-pays .picture")


def value(slide: Locator) -> float:
    """Where the slider stands."""
    return float(slide.input_value())


def rest(page: Page, slide: Locator) -> None:
    """Wait until the picture has played."""
    expect(page.locator(".who-pays .play")).to_have_text("Play", timeout=20_000)
    page.wait_for_function("() => true")


@pytest.mark.quiet
def test_it_plays_once_and_rests(visit: Callable[..., Watched]) -> None:
    watched = visit(reduced_motion="no-preference")
    page = watched.open("/?study=made")
    slide, _ = picture(page)
    expect(page.locator(".who-pays .play")).to_have_text("Pause", timeout=20_000)
    rest(page, slide)
    stopped = value(slide)
    assert stopped > 0
    page.wait_for_timeout(1500)
    assert value(slide) == stopped


@pytest.mark.quiet
def test_dragging_is_smooth_and_asks_no_rerun(visit: Callable[..., Watched]) -> None:
    watched = visit(reduced_motion="reduce")
    page = watched.open("/?study=made")
    slide, canvas = picture(page)
    runs = watched.n_begun
    frame, drawn = slide.evaluate(FRAMES)
    print(f"{frame:.1f} ms a frame in the median, {drawn:.2f} ms of it drawing")
    assert frame <= MOST_MS and drawn <= MOST_MS / 2
    box = slide.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] / 2, steps=20)
    page.mouse.up()
    assert value(slide) > 0.9 * float(slide.get_attribute("max") or 0)
    dark_end = canvas.evaluate(INKED)
    slide.press("Home")
    assert canvas.evaluate(INKED) > dark_end, "tiles fade"
    page.wait_for_timeout(500)
    assert watched.n_begun == runs


def test_keys_go_level_by_level_and_say_what_is_seen(visit: Callable[..., Watched]) -> None:
    watched = visit(reduced_motion="reduce")
    page = watched.open("/?study=made")
    slide, canvas = picture(page)
    assert " of 24 writers " in (canvas.get_attribute("aria-label") or "")
    slide.press("Home")
    expect(slide).to_have_attribute(
        "aria-valuetext", "0.0 % of the weights cut: accuracy 97.4 %, 0 of 24 writers lose 3.5 points or more"
    )
    said = set()
    for level in range(1, 4):
        slide.press("ArrowRight")
        assert value(slide) == level
        said.add(slide.get_attribute("aria-valuetext"))
    slide.press("ArrowLeft")
    assert value(slide) == 2 and len(said) == 3


def test_reduced_motion_shows_the_end_at_once(visit: Callable[..., Watched]) -> None:
    page = visit(reduced_motion="reduce").open("/?study=made")
    slide, _ = picture(page)
    assert value(slide) > 0
    expect(page.locator(".who-pays .play")).to_have_text("Play")


@pytest.mark.parametrize("view", [{"width": 1440, "height": 900}, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("study", ["made", "short", "regions"])
def test_the_picture_is_on_the_first_screen(visit: Callable[..., Watched], view: dict[str, int], study: str) -> None:
    settings: dict[str, Any] = {"viewport": view, "reduced_motion": "reduce"}
    page = visit(**settings).open(f"/?study={study}")
    _, canvas = picture(page)
    box = canvas.bounding_box()
    assert box is not None and box["y"] + box["height"] <= view["height"] and box["height"] > 40
    assert page.evaluate("document.documentElement.scrollWidth") <= view["width"]


def test_print_shows_the_end(visit: Callable[..., Watched]) -> None:
    page = visit(reduced_motion="reduce").open("/?study=made")
    slide, _ = picture(page)
    end = value(slide)
    slide.press("Home")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert value(slide) == end
    page.emulate_media(media="print")
    expect(page.locator(".who-pays .picture")).to_be_visible()
    expect(slide).to_be_hidden()
