"""Who is working on what: a claim is a small file that its owner keeps fresh.

A claim counts as dead once its process is gone (on the same machine), or once somebody has watched it for `EXPIRY`
seconds in which its owner did not touch it. Clocks of machines differ, so what the file's time says of its age only
decides whether it is worth watching; how long it was watched is counted by the watcher, whose clock nobody sets.
Claims only save work: two owners of one run would still leave one result, because the first to commit wins.

A claim's file is called after its thing and a number. Whoever takes over a dead one writes the next number, which only
one process can, and looks back: unless it has the highest number and the dead claim still is the one that it judged,
it lets go. So no two processes hold the same claim, unless one of them was frozen and has lost it.
"""

import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from engine.store.files import TEMPORARY, write_file
from engine.store.process_identity import ProcessIdentity, is_alive, this_process

EXPIRY = 30.0
HEARTBEAT = 5.0

_watched: dict[Path, tuple[int | None, float]] = {}
"""Of each claim that seemed old: the beat that this process saw last, and since when, by a clock that nobody sets."""


def living_claims(folder: Path, at_a_glance: bool = False) -> set[str]:
    """Names of the things that a living owner works on now, or may: what seems old is watched from call to call.

    At a glance, to be shown and not to be acted on, age by this machine's clock has to do.
    """
    is_alive = _seems_alive if at_a_glance else _is_alive
    return {name for name, path in _claims(folder) if is_alive(path)}


def remove_dead_claims(folder: Path) -> None:
    """Remove the claims whose owners are gone."""
    for _, path in _claims(folder):
        if not _is_alive(path):
            path.unlink(missing_ok=True)


@contextmanager
def claim(folder: Path, name: str) -> Iterator[bool]:
    """Whether the claim is ours, kept fresh until the block ends; a dead owner's claim is taken over."""
    token = uuid.uuid4().hex
    path = _take(folder, name, token)
    if path is None:
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


def _take(folder: Path, name: str, token: str) -> Path | None:
    """The file that makes the claim ours; None where somebody else has it."""
    before = _latest(folder, name)
    stale = _token(before) if before else ""
    if before and (_seems_alive(before) or _beats_when_watched(before)):
        return None
    ours = folder / f"{name}.{_number(before) + 1 if before else 1}"
    try:
        write_file(ours, json.dumps({"token": token, **asdict(this_process())}).encode(), replace=False)
    except FileExistsError:
        return None
    if _latest(folder, name) != ours or (before and _token(before) != stale):
        ours.unlink(missing_ok=True)
        return None
    if before:
        before.unlink(missing_ok=True)
    return ours


def _claims(folder: Path) -> list[tuple[str, Path]]:
    """The claims that lie in the folder, each with the name of its thing."""
    try:
        names = [name for name in os.listdir(folder) if not name.endswith(TEMPORARY)]
    except FileNotFoundError:
        return []
    return [(name.partition(".")[0], folder / name) for name in names]


def _latest(folder: Path, name: str) -> Path | None:
    return max((path for claimed, path in _claims(folder) if claimed == name), key=_number, default=None)


def _number(path: Path) -> int:
    number = path.name.partition(".")[2]
    return int(number) if number.isdigit() else 0


def _seems_alive(path: Path) -> bool:
    """Whether the claim is young by this machine's clock, and its process, where that can be told, is there."""
    owner, beat = _owner(path), _beat(path)
    if owner is None or beat is None or is_alive(owner) is False:
        return False
    return abs(time.time() - beat / 1e9) <= EXPIRY


def _is_alive(path: Path) -> bool:
    """Whether the claim seems alive, or has not been watched by this process for long enough to tell."""
    return _seems_alive(path) or (_may_be_alive(path) and not _was_still_for(path, EXPIRY))


def _may_be_alive(path: Path) -> bool:
    """Whether there is an owner whose process is there, or is on another machine."""
    owner = _owner(path)
    return owner is not None and is_alive(owner) is not False


def _was_still_for(path: Path, seconds: float) -> bool:
    """Whether this process has seen the same beat of a claim for so long."""
    beat, now = _beat(path), time.monotonic()
    seen, since = _watched.get(path, (None, now))
    if beat is None or seen != beat:
        _watched[path] = (beat, now)
        return beat is None
    return now - since > seconds


def _beats_when_watched(path: Path) -> bool:
    """Whether the owner of a claim that seems old touches it while this process waits for that."""
    while _may_be_alive(path):
        beat = _beat(path)
        if _was_still_for(path, EXPIRY):
            return False
        time.sleep(min(0.2, EXPIRY / 10))
        if _beat(path) not in (beat, None):
            return True
    return False


def _beat(path: Path) -> int | None:
    """When the owner touched its claim last, by its own clock in nanoseconds; None where the claim is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _keep_fresh(path: Path, token: str, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT):
        try:
            if _token(path) not in (token, ""):
                return  # taken over while this process was frozen
            os.utime(path)
        except OSError:
            pass  # a disk that is away for a moment


def _read(path: Path) -> dict[str, object]:
    try:
        values = json.loads(path.read_text())
        return values if isinstance(values, dict) else {}
    except (OSError, ValueError):
        return {}


def _token(path: Path) -> str:
    return str(_read(path).get("token", ""))


def _owner(path: Path) -> ProcessIdentity | None:
    values = _read(path)
    try:
        return ProcessIdentity(str(values["host"]), int(str(values["process"])), str(values["began"]))
    except (KeyError, ValueError):
        return None
