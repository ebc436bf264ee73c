"""Who is working on what: a claim is a small file that its owner keeps fresh.

A claim counts as dead once its process is gone (on the same machine) or nobody has touched it for `EXPIRY` seconds.
Claims only save work: two owners of one run would still leave one result, because the first to commit wins.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.files import TEMPORARY, write_file

EXPIRY = 30.0
HEARTBEAT = 5.0


@dataclass(frozen=True)
class Owner:
    """A process: where it runs, its number, and when it began, because numbers are used again."""

    host: str
    process: int
    began: str


def this_owner() -> Owner:
    """The process that asks."""
    return Owner(socket.gethostname(), os.getpid(), _began(os.getpid()))


def is_claimed(folder: Path, name: str) -> bool:
    """Whether a living owner works on this now."""
    return _alive(folder / name)


@contextmanager
def claim(folder: Path, name: str) -> Iterator[bool]:
    """Whether the claim is ours, kept fresh until the block ends; a dead owner's claim is taken over."""
    path, token = folder / name, uuid.uuid4().hex
    if not _take(path, token):
        yield False
        return
    stop = threading.Event()
    beat = threading.Thread(target=_keep_fresh, args=(path, token, stop), daemon=True)
    beat.start()
    try:
        yield True
    finally:
        stop.set()
        beat.join()
        if _token(path) == token:
            path.unlink(missing_ok=True)


def release_claims_of(folder: Path, processes: set[int]) -> None:
    """Remove the claims of processes of this machine that are known to be gone."""
    for path in folder.glob("*") if folder.is_dir() else ():
        owner = _owner(path)
        if owner and owner.host == socket.gethostname() and owner.process in processes:
            path.unlink(missing_ok=True)


def _take(path: Path, token: str) -> bool:
    if path.exists() and not _alive(path):
        stale, aside = _token(path), path.with_name(f".{path.name}.{token[:8]}{TEMPORARY}")
        try:
            os.rename(path, aside)  # one of several takers wins
        except FileNotFoundError:
            return False
        if _token(aside) != stale:
            try:
                os.link(aside, path)  # it was a fresh claim after all: give it back
            except FileExistsError:
                pass
            aside.unlink(missing_ok=True)
            return False
        aside.unlink(missing_ok=True)
    owner = this_owner()
    content = json.dumps({"token": token, "host": owner.host, "process": owner.process, "began": owner.began})
    ours = path.with_name(f".{path.name}.{token}{TEMPORARY}")
    write_file(ours, content.encode())
    try:
        os.link(ours, path)
        return True
    except FileExistsError:
        return False
    finally:
        ours.unlink(missing_ok=True)


def _alive(path: Path) -> bool:
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return False
    owner = _owner(path)
    if age > EXPIRY or owner is None:
        return False
    return owner.host != socket.gethostname() or _began(owner.process) == owner.began != ""


def _keep_fresh(path: Path, token: str, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT):
        if _token(path) != token:
            return
        try:
            os.utime(path)
        except FileNotFoundError:
            return


def _read(path: Path) -> dict[str, object]:
    try:
        values = json.loads(path.read_text())
        return values if isinstance(values, dict) else {}
    except (OSError, ValueError):
        return {}


def _token(path: Path) -> str:
    return str(_read(path).get("token", ""))


def _owner(path: Path) -> Owner | None:
    values = _read(path)
    try:
        return Owner(str(values["host"]), int(str(values["process"])), str(values["began"]))
    except (KeyError, ValueError):
        return None


def _began(process: int) -> str:
    """When a process of this machine began; empty where there is none (or it only waits to be buried)."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
        state, *rest = text.rpartition(")")[2].split()
        return "" if state in "ZX" else rest[18]
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
    except OSError:
        pass
    try:
        os.kill(process, 0)
        return "unknown"
    except OSError:
        return ""
