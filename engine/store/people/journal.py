"""Who did what in a study and when: a file of lines that is only ever added to."""

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import PruneScopeError
from engine.store.files import make_folder

FILE = "journal.jsonl"
LONGEST = 2000
"""Characters of a line that are kept, so that one write is one line."""


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
    line = json.dumps(asdict(deed), ensure_ascii=False) + "\n"
    try:
        make_folder(study)
        handle = os.open(study / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, line.encode())
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


def now() -> str:
    """This moment, as records of people's doings say it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _deed(line: str) -> Deed | None:
    try:
        values = json.loads(line)
        return Deed(*(str(values[name]) for name in ("time", "who", "act", "what")))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
