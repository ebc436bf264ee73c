"""From the command that starts the dashboard to a drawn Overview of the study that ships, in a browser that is open.

Beside it `streamlit run app.py`, which reads nothing ahead, and an app of one sentence: Streamlit and browser alone,
which take turns with it. The number at the end is the median start over the median of that app; it may be 2.5.
"""

import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from tests.support.server import ARGUMENTS, CHROMIUM, QUIET, TOP, serve

N_STARTS = 3
MOST_RATIO = 2.5
ONE_SENTENCE = 'import streamlit as st\n\nst.write("All experiments in this study")\n'
LAST = "All experiments in this study"
"""What stands lowest on the page."""


def seconds_to_drawn(browser: Browser, folder: Path, script: str) -> float:
    """One start of this script, until nothing is left to draw."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    begun = time.perf_counter()
    with serve(TOP / "data", folder / "log", script) as served:
        page.goto(served.address)
        expect(page.get_by_text(LAST)).to_be_visible(timeout=60_000)
        expect(page.locator(QUIET)).to_be_visible(timeout=60_000)
        expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=60_000)
        taken = time.perf_counter() - begun
    page.context.close()
    return taken


def run() -> float:
    """How many times as long as an app of one sentence the dashboard takes to start."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "one.py").write_text(ONE_SENTENCE, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        scripts = {"serve.py": "serve.py", "app.py": "app.py", "one sentence": str(folder / "one.py")}
        taken: dict[str, list[float]] = {label: [] for label in scripts}
        for _ in range(N_STARTS):
            for label, script in scripts.items():
                taken[label].append(seconds_to_drawn(browser, folder, script))
        browser.close()
    for label, found in taken.items():
        print(f"{label}: median {statistics.median(found):.2f} s, {min(found):.2f} to {max(found):.2f} s")
    ratio = statistics.median(taken["serve.py"]) / statistics.median(taken["one sentence"])
    assert ratio <= MOST_RATIO, f"{ratio:.2f} times as long as one sentence; allowed is {MOST_RATIO}"
    return ratio
