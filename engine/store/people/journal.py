"""Who did what in a study and when: a file of lines that is only ever added to."""

import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import PruneScopeError
from engine.store.files import make_folder, sealed_json, unsealed_json

FILE = "journal.jsonl"
SET_ASIDE = "set aside"
"""What is done to a damaged file."""
LONGEST = 2000
"""Characters of a line that are kept, so that one write is one line."""
_FIELDS = ("time", "who", "act", "what")


@dataclass(frozen=True)
class Deed:
    """One line: when, who, what was done, and to what."""

    time: str
    who: str
    act: str
    what: str = ""


def note_deed(study: Path, who: str, act: str, what: str = "") -> None:
    """Add a line to the study's journal; several processes may at once, and none writes over another."""
    deed = Deed(now(), who[:200], act, what[: LONGEST - 500])
    line = sealed_json(asdict(deed)) + b"\n"
    try:
        make_folder(study)
        handle = os.open(study / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, _begun_anew(study) + line)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise PruneScopeError(f"Cannot write {study / FILE}: {error.strerror or error}.") from error


def deeds(study: Path) -> list[Deed]:
    """What the journal says, oldest first; a line that cannot be read is left out."""
    try:
        lines = (study / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [deed for line in lines if (deed := _deed(line)) is not None]


def broken_lines(study: Path) -> list[int]:
    """Numbers of the lines, from 1, that are not what was written."""
    try:
        lines = (study / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise PruneScopeError(f"{FILE} cannot be read: {error.strerror}.") from error
    return [number for number, line in enumerate(lines, 1) if line and _deed(line) is None]


def now() -> str:
    """This moment, as records of people's doings say it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _begun_anew(study: Path) -> bytes:
    """The end of a line that a power cut left open, so that the next one stands by itself."""
    with open(study / FILE, "rb") as file:
        if file.seek(0, 2) == 0:
            return b""
        file.seek(-1, 2)
        return b"" if file.read() == b"\n" else b"\n"


def _deed(line: str) -> Deed | None:
    try:
        values = unsealed_json(line.encode(), [_FIELDS])
        return Deed(*(str(values[name]) for name in _FIELDS))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
