"""A person brings predictions and audits examples, in a real browser: upload, map, preview, import, frontier, marks."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from engine.store.annotations import read_marks
from engine.store.study import Study
from tests.browser.conftest import Watched
from tests.support.uploads import long_table


def choose(watched: Watched, box: str, option: str) -> None:
    """Pick an option of a select box."""
    page = watched.page
    expect(page.locator(box)).to_be_visible()
    page.locator(f"{box} input").scroll_into_view_if_needed()  # a list that is open closes when the page scrolls
    page.locator(f"{box} input").click()
    watched.rerun_by(page.get_by_role("option", name=option, exact=True).click)
    expect(page.locator(f"{box} input")).to_have_value(option)


def test_upload_map_preview_import_frontier_and_mark(
    visit: Callable[..., Watched], studies: Path, tmp_path: Path
) -> None:
    table = long_table(n=90, seeds=3).rename(columns={"prediction": "answer", "sparsity": "cut"})
    table.to_csv(tmp_path / "animals.csv", index=False)
    watched = visit()
    page = watched.open("/bring")
    page.locator('input[type="file"]').first.set_input_files(tmp_path / "animals.csv")
    expect(page.get_by_text("The first rows")).to_be_visible()
    watched.settle()
    watched.rerun_by(page.get_by_text("a row per model and example", exact=True).click)
    for role, column in (("prediction", "answer"), ("sparsity", "cut")):
        choose(watched, f".st-key-role-{role}", column)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("6 runs with 15 models on 90 examples of 3 classes")).to_be_visible()
    assert len(Study(studies / "animals").runs()) == 6
    page.get_by_role("link", name="Open the frontier").click()
    expect(page.get_by_text("Ship").first).to_be_visible()
    assert "study=animals" in page.url or page.url.endswith("/frontier")

    watched.open("/harmed?study=animals&show=All")
    expect(page.get_by_text("give another answer")).to_be_visible()
    page.get_by_role("radio", name="mislabelled").or_(page.get_by_role("button", name="mislabelled")).first.click()
    expect(page.get_by_text("1 mislabelled")).to_be_visible()
    assert read_marks(Study(studies / "animals"), "animals")["mark"].tolist() == ["mislabelled"]
