"""Takes the pictures of README.md from the study that ships: `make screenshots`."""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from tests.support.server import ARGUMENTS, BROWSERS, CHROMIUM, QUIET, serve  # noqa: E402

PICTURES = TOP / "docs" / "images"
PAGES = {"class-curves": "class_curves", "writers": "writers", "frontier": "frontier"}
SIZE = {"width": 1440, "height": 1000}
FRAMES, FRAME_MS, REST_MS, COLOURS, WIDTH = 16, 160, 3000, 24, 760
"""The moving picture: its frames, how long each and the last one stand, its colours and its width in pixels."""


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
        take_moving_picture(browser, address)
        browser.close()


def take_moving_picture(browser: Browser, address: str) -> None:
    """The picture "Who pays?" as the Overview plays it, from no cut to where it rests."""
    page = browser.new_context(viewport={"width": 1240, "height": 1000}, reduced_motion="reduce").new_page()
    page.goto(f"{address}/?study=demo")
    slide = page.locator(".who-pays .slide")
    expect(slide).to_be_visible()
    expect(page.locator(QUIET)).to_be_visible()
    page.wait_for_timeout(1000)
    end, frames = float(slide.input_value()), []
    for number in range(FRAMES):
        move = "(slide, at) => { slide.value = at; slide.dispatchEvent(new Event('input')); }"
        slide.evaluate(move, end * number / (FRAMES - 1))
        shot = Image.open(io.BytesIO(page.locator(".who-pays .beside").screenshot())).convert("RGB")
        shot = shot.resize((WIDTH, round(shot.height * WIDTH / shot.width)), Image.Resampling.LANCZOS)
        frames.append(shot.quantize(COLOURS, Image.Quantize.FASTOCTREE))
    page.context.close()
    times = [REST_MS // 2, *[FRAME_MS] * (FRAMES - 2), REST_MS]
    frames[0].save(PICTURES / "who-pays.gif", save_all=True, append_images=frames[1:], duration=times, loop=0)
    print("took docs/images/who-pays.gif")


if __name__ == "__main__":
    sys.exit(main())
