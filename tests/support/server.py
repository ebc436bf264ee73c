"""A dashboard that runs in a process of its own, for browser tests and benchmarks."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
QUIET = '[data-testid="stApp"][data-test-script-state="notRunning"]'
"""The page once its script has run."""
STARTS_WITHIN_SECONDS = 120.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Served:
    """A running dashboard: its address, its process, and the file that it writes its log to."""

    address: str
    process: int
    log: Path

    def said(self) -> str:
        """What the server has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")


@contextmanager
def serve(
    studies: Path, log: Path, script: str = "serve.py", top: Path = TOP, port: int = 0, **environment: str
) -> Iterator[Served]:
    """The dashboard over a folder of studies, with the settings that ship, on a free port; ends with the block."""
    port = port or free_port()
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    with open(log, "wb") as file:
        process = subprocess.Popen(
            command,
            cwd=top,
            env=os.environ | {"PRUNESCOPE_STUDIES": str(studies)} | environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        served = Served(f"http://localhost:{port}", process.pid, log)
        try:
            wait_until_well(port, process, served.said)
            yield served
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def wait_until_well(port: int, process: "subprocess.Popen[Any]", said: Callable[[], str]) -> None:
    """Come back once a dashboard answers; where it ended, or takes too long, raise with what it said."""
    end = time.monotonic() + STARTS_WITHIN_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the dashboard ended with {process.returncode}: {said()}")
        try:
            with DIRECT.open(f"http://localhost:{port}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the dashboard did not start in {STARTS_WITHIN_SECONDS:.0f} s: {said()}")
