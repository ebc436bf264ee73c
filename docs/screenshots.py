"""Takes the pictures of README.md from the study that ships: `make screenshots`."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

TOP = Path(__file__).resolve().parents[1]
PICTURES = TOP / "docs" / "images"
PAGES = {"class-curves": "class_curves", "writers": "writers", "frontier": "frontier"}
READY = '[data-testid="stApp"][data-test-script-state="notRunning"]'
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def main() -> int:
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        print("No Chromium here; install it with your system's package manager.", file=sys.stderr)
        return 1
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    server = subprocess.Popen(command, cwd=TOP, stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://localhost:{port}/_stcore/health")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=list(QUIET))
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            PICTURES.mkdir(exist_ok=True)
            for name, path in PAGES.items():
                page.goto(f"http://localhost:{port}/{path}")
                page.wait_for_selector(READY, timeout=60_000)
                page.wait_for_timeout(2000)
                page.screenshot(path=PICTURES / f"{name}.png")
                print(f"took docs/images/{name}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()
    return 0


def wait_for(address: str) -> None:
    """Return once the server answers."""
    for _ in range(120):
        try:
            urllib.request.urlopen(address, timeout=1).close()
            return
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(f"no answer from {address}")


if __name__ == "__main__":
    sys.exit(main())
