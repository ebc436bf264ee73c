"""Frontier in a real browser: moving sliders changes the choice, a link brings it back, the record says the same."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, TimeoutError, expect

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.points import operating_points
from engine.analysis.unfairness import unfairness_table
from engine.store.study import Study
from pages.shared import formats
from tests.browser.conftest import Watched


def answer(page: Page) -> Any:
    """The sentence that says which network to ship."""
    opening = re.compile("^(Clear|Close call|Toss-up|Ship)")
    return page.get_by_test_id("stMarkdownContainer").get_by_text(opening).locator("xpath=..").first


def move(page: Page, slider: str, *keys: str) -> str:
    """Move a slider by the keyboard, wait until the sentence changes, and return the new one."""
    before = answer(page).inner_text()
    page.locator(f".st-key-{slider} input[type=range]").focus()
    for key in keys:
        page.keyboard.press(key)
    expect(answer(page)).not_to_have_text(before)
    return str(answer(page).inner_text())


def download(watched: Watched, button: str) -> Path:
    """What a button of the page gives; asked again where a rerun took the button away under the click."""
    for _ in range(3):
        watched.settle()
        try:
            with watched.page.expect_download(timeout=20_000) as coming:
                watched.page.get_by_role("button", name=button).click()
            return Path(coming.value.path())
        except TimeoutError:
            watched.note_second_try(f"{button} gave nothing within 20 s")
    raise AssertionError(f"{button} gave nothing")


def test_choice_moves_returns_by_its_link_and_is_recorded(
    visit: Callable[..., Watched], browser: Browser, studies: Path, tmp_path: Path
) -> None:
    watched = visit()
    page = watched.open("/frontier?study=made")
    first = answer(page).inner_text()
    sparser = move(page, "threshold-slide", "Home")
    fairer = move(page, "weight", "End")
    assert len({first, sparser, fairer}) == 3 and "the dense network" in fairer.split(",")[0]
    chosen = move(page, "weight", "Home", "ArrowRight", "ArrowRight")
    watched.settle()
    link = page.url
    assert "threshold=" in link and "weight=0.0158" in link

    page.reload()
    watched.settle()
    expect(answer(page)).to_have_text(chosen)

    found = json.loads(download(watched, "JSON, for machines").read_text(encoding="utf-8"))
    check_facts(found, chosen, studies)
    reopened = visit(color_scheme="dark")
    reopened.page.goto(found["origin"]["link"])
    reopened.settle()
    expect(answer(reopened.page)).to_have_text(chosen)

    file = tmp_path / "record.html"
    file.write_bytes(download(watched, "HTML, for people").read_bytes())
    check_record(browser, file, chosen)


def check_facts(found: dict[str, Any], sentence: str, studies: Path) -> None:
    """The record for machines says what the page says and what the engine finds."""
    study = Study(studies / "made")
    points = operating_points(study.levels(), unfairness_table(study.classes()))
    rule = found["rule"]
    choice = choose(points, rule["floors"]["accuracy"], rule["weight"], rule["measure"])
    row, chosen = points.iloc[choice.chosen], found["chosen"]
    assert found["summary"].startswith(sentence) and rule["weight"] == 0.0158
    assert (chosen["technique"], chosen["treatment"], chosen["level"]) == (
        row["technique"],
        row["treatment"],
        row["level"],
    )
    for part in (formats.sparsity(chosen["sparsity"]), formats.percent(chosen["accuracy"])):
        assert part in sentence
    assert formats.unfairness(chosen["unfairness"], "max_min") in sentence
    assert sum(group["grouping"] == "class" for group in found["groups"]) == 10


def check_record(browser: Browser, file: Path, sentence: str) -> None:
    """The record for people stands alone: no request leaves the file, and its figures are drawn."""
    context = browser.new_context(offline=True)
    page, asked, problems = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    expect(page.locator(".verdict")).to_contain_text(sentence)
    expect(page.locator(".first svg").first).to_be_visible()
    assert page.locator(".first svg").count() == 2
    assert page.locator(".first svg circle").count() > 10
    star = page.locator(".first svg polygon")
    assert star.evaluate("point => getComputedStyle(point).fill") != "rgb(255, 255, 255)", "white on white"
    assert not problems
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    context.close()


def test_second_weight_measure_and_axis_are_in_the_link(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open("/frontier?study=made&threshold=70&weight=0.1")
    page.get_by_text("Second weight", exact=True).click()
    expect(page.get_by_text(re.compile("^The second weight, "))).to_be_visible()
    page.locator(".st-key-axis input").click()
    watched.rerun_by(page.get_by_role("option", name="sparsity", exact=True).click)
    expect(page).to_have_url(re.compile(r"two=true.*axis=sparsity|axis=.*two=true"))
    again = visit()
    again.page.goto(page.url)
    again.settle()
    expect(again.page.get_by_text(re.compile("^The second weight, "))).to_be_visible()
    expect(again.page.locator(".st-key-axis input")).to_have_value("sparsity")


def test_a_region_that_pays_is_named_and_never_paid_with(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open("/frontier?study=regions&threshold=70&weight=10")
    expect(answer(page)).to_contain_text("90.0 % sparsity")
    expect(page.get_by_test_id("stAlert")).to_contain_text("region rural loses 30.0 points")
    page.locator(".st-key-fair input").click()
    watched.rerun_by(page.get_by_role("option", name="Region", exact=True).click)
    expect(page).to_have_url(re.compile("fair=Region"))
    page.locator(".st-key-weight input[type=range]").focus()
    for _ in range(21):  # from 10 up to 1000, every step that there is
        expect(answer(page)).to_contain_text("50.0 % sparsity")
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
        if "weight=1000" in page.url:
            break
        watched.rerun_by(lambda: page.keyboard.press("ArrowRight"))
        page.locator(".st-key-weight input[type=range]").focus()
    assert "weight=1000" in page.url


def test_arrow_keys_and_a_click_reach_every_tenth_of_a_floor(visit: Callable[..., Watched]) -> None:
    watched = visit()
    page = watched.open("/frontier?study=made&threshold=95.0")
    field = page.locator(".st-key-threshold input")
    track = page.locator(".st-key-threshold-slide")
    for key, value in (("ArrowRight", "95.1"), ("ArrowRight", "95.2"), ("ArrowLeft", "95.1")):
        track.locator("input[type=range]").focus()
        watched.rerun_by(lambda key=key: page.keyboard.press(key))
        expect(field).to_have_value(value)
    box = track.bounding_box()
    assert box is not None
    watched.rerun_by(lambda: page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2 + 8))
    assert float(field.input_value()) < 95 and round(10 * float(field.input_value()), 6) % 1 == 0
    field.fill("93.3")
    watched.rerun_by(lambda: field.press("Enter"))
    expect(page).to_have_url(re.compile("threshold=93.3"))


NONSENSE = (
    "?study=made&weight=abc&threshold=1e9&techniques=%3Cscript%3Ealert(1)%3C/script%3E&measure=%00&axis=1"
    "&two=maybe&treatments=%F0%9F%92%A5&dataset=..&network=%2e%2e"
)


def test_nonsense_in_the_link_leaves_the_page_whole(visit: Callable[..., Watched]) -> None:
    page = visit().open(f"/frontier{NONSENSE}")
    expect(answer(page).or_(page.get_by_test_id("stAlert")).first).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0
