"""The candidate in a real browser: a click opens a card, a pin goes to every page, Back and links bring it back."""

import re
from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import Browser, Page, TimeoutError, expect

from tests.browser.conftest import USUAL, Watched, new_context
from tests.browser.test_frontier_browser import answer

ASKED = "/frontier?study=made&threshold=80&weight=10"
NO_ANSWER = 8_000
"""After so many milliseconds a click has led to nothing."""
OPENS_ON = ("Class curves", "Writers", "Harmed examples", "Subgroups")


def pin_finetuned(watched: Watched, page: Page) -> str:
    """Pin a finetuned network by its mark on the chart, with a reason; what the sidebar then says of it."""
    marks = page.locator(".st-key-frontier .scatterlayer .point")
    card = page.locator(".st-key-point-card")
    for place in range(marks.count() - 1, -1, -1):
        box = marks.nth(place).bounding_box()
        if box is None:  # the chart has been drawn again without it
            continue
        with suppress(TimeoutError):  # a mark that is open already, or lies under another, asks for nothing
            watched.rerun_by(
                lambda box=box: page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), NO_ANSWER
            )
        watched.settle()
        lines = card.inner_text().splitlines() if card.count() else [""]
        if "with continued training at" in lines[0] and any(line.startswith("Not chosen") for line in lines):
            break
    else:
        raise AssertionError("no finetuned network could be clicked")
    card.get_by_role("textbox").fill("its training is ours")
    watched.rerun_by(card.get_by_role("button", name="Pin as candidate").click)
    pinned = page.locator(".st-key-candidate-card")
    expect(pinned).to_contain_text("keep training")
    expect(pinned).to_contain_text("its training is ours")
    return str(pinned.inner_text())


def test_a_candidate_is_carried_to_every_page_and_back(visit: Callable[..., Watched], browser: Browser) -> None:
    watched = visit()
    page = watched.open(ASKED)
    said = answer(page).inner_text()
    pinned = pin_finetuned(watched, page)
    link, sparsity = page.url, re.search(r"[\d.]+ % sparsity", pinned)
    assert sparsity is not None and "weight=10" in link
    for label in OPENS_ON:
        watched.follow(label)
        expect(page.locator(".st-key-candidate-card")).to_have_text(pinned, use_inner_text=True)
        expect(page.locator(".st-key-treatment input").first).to_have_value("Keep training")
        if page.locator(".st-key-level").count():
            expect(page.locator(".st-key-level")).to_contain_text(sparsity[0].split(" %")[0])
    for label in reversed(OPENS_ON[:-1]):
        page.go_back()
        expect(page).to_have_title(f"{label} · PruneScope")
        watched.settle()
        expect(page.locator(".st-key-treatment input").first).to_have_value("Keep training")
    page.go_back()
    expect(page).to_have_title("Frontier · PruneScope")
    watched.settle()
    expect(answer(page)).to_have_text(said)
    expect(page.locator(".st-key-candidate-card")).to_have_text(pinned, use_inner_text=True)
    assert "weight=10" in page.url
    page.go_back()
    expect(page.locator(".st-key-candidate-card")).to_have_count(0)
    watched.settle()
    expect(answer(page)).to_have_text(said)
    page.go_forward()
    expect(page.locator(".st-key-candidate-card")).to_have_text(pinned, use_inner_text=True)

    context = new_context(browser, **USUAL)
    fresh = context.new_page()
    fresh.goto(link)
    expect(answer(fresh)).to_have_text(said)
    expect(fresh.locator(".st-key-candidate-card")).to_have_text(pinned, use_inner_text=True)
    context.close()


def test_weight_and_threshold_come_back(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open("/frontier?study=made")
    for key in ("weight", "threshold-slide"):
        page.locator(f".st-key-{key} input[type=range]").focus()
        watched.rerun_by(lambda: page.keyboard.press("Home"))
    page.locator(".st-key-measure input").click()
    watched.rerun_by(page.get_by_role("option", name="Gap average to worst", exact=True).click)
    said = answer(page).inner_text()
    for label in ("Class curves", "Writers"):
        watched.follow(label)
    for _ in range(2):
        page.go_back()
        page.wait_for_timeout(500)
        watched.settle()
    expect(page).to_have_title("Frontier · PruneScope")
    expect(answer(page)).to_have_text(said)
    assert "measure=Gap+average" in page.url and "weight=0.01" in page.url
    page.go_forward()
    expect(page).to_have_title("Class curves · PruneScope")
    page.go_back()
    expect(answer(page)).to_have_text(said)


def test_rows_and_stretches_open_cards_and_two_are_compared(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open(ASKED)
    watched.rerun_by(page.get_by_role("button", name="Pin as candidate").first.click)
    expect(page.get_by_text("This is your candidate.")).to_be_visible()
    page.locator(".st-key-weights").scroll_into_view_if_needed()
    bar = page.locator(".st-key-weights .barlayer .point").last.bounding_box()
    assert bar is not None
    watched.rerun_by(lambda: page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2))
    card = page.locator(".st-key-point-card")
    expect(card).to_be_visible()
    first = card.inner_text()
    table = page.locator(".st-key-front-rows canvas").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    watched.rerun_by(lambda: page.mouse.click(box["x"] + 15, box["y"] + 35 * 2.5))
    expect(card).not_to_have_text(first, use_inner_text=True)
    watched.rerun_by(page.get_by_role("button", name="Compare with the candidate").click)
    expect(page.get_by_text("The candidate beside the second one")).to_be_visible()
    expect(page.locator(".st-key-compared .main-svg").first).to_be_visible()
    watched.rerun_by(page.get_by_text("Examples that they answer differently").click)
    expect(page.get_by_text(re.compile("test examples the second one has"))).to_be_visible()
    watched.rerun_by(page.locator(".st-key-rival-unpin button").click)
    expect(page.get_by_text("The candidate beside the second one")).to_have_count(0)
