"""A person brings predictions and audits examples, in a real browser: upload, map, preview, import, frontier, marks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, TimeoutError, expect, sync_playwright

from engine.store import Study
from tests.bring import long_table
from tests.served import Served, serve

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SECONDS = 60_000


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def served(studies: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(studies, tmp_path_factory.mktemp("log") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


def settled(page: Page) -> None:
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=SECONDS)


def choose(page: Page, box: str, option: str) -> None:
    """Pick an option of a select box; again where a rerun closes the list in between."""
    expect(page.locator(box)).to_be_visible()
    for _ in range(10):
        settled(page)
        page.locator(f"{box} input").click()
        try:
            page.get_by_role("option", name=option, exact=True).click(timeout=5000)
            break
        except TimeoutError:
            page.keyboard.press("Escape")
    expect(page.locator(f"{box} input")).to_have_value(option)
    settled(page)


@pytest.mark.xdist_group("browser")
def test_upload_map_preview_import_frontier(browser: Browser, served: Served, studies: Path, tmp_path: Path) -> None:
    table = long_table(n=90, seeds=3).rename(columns={"prediction": "answer", "sparsity": "cut"})
    table.to_csv(tmp_path / "animals.csv", index=False)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(SECONDS)
    expect.set_options(timeout=SECONDS)
    page.goto(f"{served.address}/bring")
    page.locator('input[type="file"]').first.set_input_files(tmp_path / "animals.csv")
    expect(page.get_by_text("The first rows")).to_be_visible()
    settled(page)
    page.get_by_text("a row per model and example", exact=True).click()
    settled(page)
    for role, column in (("prediction", "answer"), ("sparsity", "cut")):
        choose(page, f".st-key-role-{role}", column)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("6 runs with 15 models on 90 examples of 3 classes")).to_be_visible()
    assert len(Study(studies / "animals").runs()) == 6
    page.get_by_role("link", name="Open the frontier").click()
    expect(page.get_by_text("Ship").first).to_be_visible()
    assert "study=animals" in page.url or page.url.endswith("/frontier")
    assert "Traceback" not in served.said()
    page.close()
