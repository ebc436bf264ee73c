"""Takes the pictures of README.md from the study that ships: `make screenshots`."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from tests.support.server import ARGUMENTS, BROWSERS, CHROMIUM, QUIET, serve  # noqa: E402

PICTURES = TOP / "docs" / "images"
PAGES = {"class-curves": "class_curves", "writers": "writers", "frontier": "frontier"}
SIZE = {"width": 1440, "height": 1000}


def main() -> int:
    if CHROMIUM is None:
        print(f"None of {', '.join(BROWSERS)} is here; install one with your system's packages.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, serve(TOP / "data", Path(folder) / "log") as served:
        take_pictures(served.address)
    return 0


def take_pictures(address: str) -> None:
    """The first screen of each page, drawn in full."""
    PICTURES.mkdir(exist_ok=True)
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name, path in PAGES.items():
            page = browser.new_page(viewport=SIZE)
            page.goto(f"{address}/{path}?study=demo")
            expect(page.locator(QUIET)).to_be_visible()
            expect(page.get_by_test_id("stHeading").first).to_be_visible()
            expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
            page.wait_for_timeout(1000)
            page.screenshot(path=PICTURES / f"{name}.png")
            page.close()
            print(f"took docs/images/{name}.png")
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
