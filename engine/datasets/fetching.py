"""A data set being fetched by a child process, watched from a page: how far it is, and how it ended."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from engine.access import check_may_write

TOP = Path(__file__).resolve().parents[2]
TAIL = 4000
"""Bytes at the end of what the child says that are kept."""
_PERCENT = re.compile(r"(\d{1,3})%\|")


class Fetching:
    """One download, begun when this is made; it goes on as long as the server does, whoever looks on."""

    def __init__(self, key: str, root: Path) -> None:
        check_may_write("a data set")
        self.key, self._said = key, b""
        self._child = subprocess.Popen(
            [sys.executable, "-m", "engine", "data", "get", key, "--data", str(root)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=TOP,
            env=os.environ | {"PYTHONPATH": str(TOP)},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def is_running(self) -> bool:
        """Whether the child is still at work."""
        return self._listener.is_alive()

    @property
    def percent(self) -> int | None:
        """How much of the file now being fetched is there; None while the child says nothing of it."""
        return last_percent(self._said.decode(errors="replace"))

    @property
    def failure(self) -> str:
        """Why it ended without the data set, as the child said it; empty while it runs and where all went well."""
        if self.is_running or self._child.returncode == 0:
            return ""
        lines = [line for line in re.split(r"[\r\n]+", self._said.decode(errors="replace")) if line.strip()]
        return lines[-1].strip() if lines else f"the process ended with code {self._child.returncode}"

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most so long; whether it has."""
        self._listener.join(seconds)
        return not self.is_running

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as heard:
            while part := os.read(heard.fileno(), TAIL):
                self._said = (self._said + part)[-TAIL:]
        self._child.wait()


def last_percent(said: str) -> int | None:
    """The last percentage of a progress bar in what was said; None where there is none."""
    found = _PERCENT.findall(said)
    return min(int(found[-1]), 100) if found else None
