"""Processes that a test forks: they act and end, or act and answer; needs no torch, so that forks are cheap."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any


def in_child(act: Callable[[], object]) -> int:
    """Number of a new process that acts and ends."""
    if child := os.fork():
        return child
    code = 1
    try:
        act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def exit_code(child: int) -> int:
    """What a child ends with, once it does."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def has_ended(child: int) -> bool:
    """Whether a child is through; `exit_code` can still be asked."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def answering(act: Callable[[], Any]) -> tuple[int, Callable[[], Any]]:
    """A new process that acts, and how to wait for what it says; a pipe, because its disk may be full."""
    out, into = os.pipe()
    child = in_child(lambda: os.write(into, json.dumps(act()).encode()))
    os.close(into)

    def answer() -> Any:
        with os.fdopen(out) as pipe:
            text = pipe.read()
        assert exit_code(child) == 0
        return json.loads(text)

    return child, answer


def wait_until(holds: Callable[[], object], seconds: float = 120.0) -> None:
    """Return as soon as it holds; fail where it does not within the time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited {seconds:.0f} s in vain"
        time.sleep(0.01)
