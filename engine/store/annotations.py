"""What people found when they looked at examples: one small file per example and person, kept with the study.

A file of its own for each means that several people can mark at once and nobody's mark is lost. Where two marked the
same example, both marks are kept, and the later one stands.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from engine.access import check_may_write
from engine.errors import PruneScopeError
from engine.run_spec import SCHEMA
from engine.store.files import sealed_json, unsealed_json, write_file
from engine.store.people.journal import note_deed
from engine.store.study import Study

FOLDER = "marks"
MARKS: Mapping[str, str] = {
    "mislabelled": "The label is wrong.",
    "ambiguous": "People would disagree about the label.",
    "hard": "The label is right, and the example is truly hard.",
}
COLUMNS = ("example", "mark", "note", "time", "who", "model")
LONGEST_NOTE = 1000
LONGEST_NAME = 200
_FIRST_FIELDS = {"schema", "example", "mark", "note", "time"}
_UNSEALED = (_FIRST_FIELDS, _FIRST_FIELDS | {"who", "model"})
"""Fields of marks that the first engines wrote, which had no checksum."""
_MOST = 2**31
"""Examples that a table may have."""


def write_mark(study: Study, examples: str, example: int, mark: str | None, note: str = "", model: str = "") -> None:
    """Keep a mark of whoever writes on an example of the table named `examples`; None takes theirs back.

    `model` says in words which networks they looked at.
    """
    who = check_may_write("marks")[:LONGEST_NAME]
    if mark is not None and mark not in MARKS:
        raise PruneScopeError(f"There is no mark {mark!r}; allowed are {', '.join(MARKS)}.")
    if examples not in study.example_sets():
        raise PruneScopeError(f"There is no example table {examples!r} in {study.path.name}.")
    if example < 0:
        raise PruneScopeError(f"The example is {example}; it should be 0 or more.")
    values = {
        "schema": SCHEMA,
        "example": int(example),
        "mark": mark,
        "note": note[:LONGEST_NOTE],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "who": who,
        "model": model[:LONGEST_NOTE],
    }
    write_file(study.path / mark_file(examples, int(example), who), sealed_json(values))
    note_deed(study.path, who, "marked" if mark else "took a mark back", f"{examples} {example}: {mark or 'none'}")


def read_marks(study: Study, examples: str) -> pd.DataFrame:
    """The marks that stand, one for each example: the columns of COLUMNS; the latest where several people marked it."""
    everyone = marks_by_person(study, examples)
    return everyone.drop_duplicates("example", keep="last", ignore_index=True)


def marks_by_person(study: Study, examples: str) -> pd.DataFrame:
    """The mark of every person on every example that they marked, oldest last word first within an example.

    A file that cannot be read is left out; marks of an older engine have an empty name.
    """
    folder = _folder(study, examples)
    rows = [_read(path) for path in folder.glob("*.json")] if folder.is_dir() else []
    kept = sorted((row for row in rows if row and row["mark"]), key=lambda row: (row["example"], row["written"]))
    return pd.DataFrame(kept, columns=list(COLUMNS)).astype({"example": "int64"})


def broken_marks(study: Study) -> list[str]:
    """Files of marks that are not what was written, by their path in the study."""
    files = sorted((study.path / FOLDER).glob("*/[!.]*"))
    return [path.relative_to(study.path).as_posix() for path in files if path.suffix != ".json" or _read(path) is None]


def mark_file(examples: str, example: int, who: str) -> str:
    """Where a person's mark of an example lies in the study."""
    return f"{FOLDER}/{examples}/{_stem(example, who)}.json"


def is_sealed(path: Path) -> bool:
    """Whether a mark is whole and of an engine that seals marks and keeps a journal."""
    return _read(path) is not None and b'"sha256"' in path.read_bytes()


def marks_stamp(study: Study, examples: str) -> int:
    """A number that changes with the marks."""
    folder = _folder(study, examples)
    return folder.stat().st_mtime_ns if folder.is_dir() else 0


def _folder(study: Study, examples: str) -> Path:
    return study.path / FOLDER / examples


def _stem(example: int, who: str) -> str:
    """Name of the file of a person's mark; that of nobody, as older engines wrote it, is the example's number."""
    return f"{example}-{hashlib.sha256(who.encode()).hexdigest()[:12]}" if who else str(example)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        values = unsealed_json(path.read_bytes(), _UNSEALED)
        if values["schema"] != SCHEMA or values["mark"] not in (None, *MARKS):
            return None
        example, texts = int(values["example"]), [values["note"], values.get("who", ""), values.get("model", "")]
        if not 0 <= example < _MOST or not all(isinstance(text, str) for text in texts):
            return None
        if path.stem != _stem(example, texts[1]):
            return None
        found = {"example": example, "mark": values["mark"], "note": texts[0], "time": str(values["time"])}
        return found | {"who": texts[1], "model": texts[2], "written": (found["time"], path.stat().st_mtime_ns)}
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None
