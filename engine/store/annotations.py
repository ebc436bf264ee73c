"""What people found when they looked at examples: one small file per marked example, kept with the study.

A file of its own for each example means that several people can mark at once and nobody's mark is lost; where two mark
the same example, the later one stands.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from engine.errors import PruneScopeError
from engine.run_spec import SCHEMA
from engine.store.files import write_file
from engine.store.study import Study

FOLDER = "marks"
MARKS: Mapping[str, str] = {
    "mislabelled": "The label is wrong.",
    "ambiguous": "People would disagree about the label.",
    "hard": "The label is right, and the example is truly hard.",
}
COLUMNS = ("example", "mark", "note", "time")
LONGEST_NOTE = 1000
_MOST = 2**31
"""Examples that a table may have."""


def write_mark(study: Study, examples: str, example: int, mark: str | None, note: str = "") -> None:
    """Keep a mark on an example of the table named `examples`; None takes it back."""
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
    }
    write_file(_folder(study, examples) / f"{int(example)}.json", json.dumps(values).encode())


def read_marks(study: Study, examples: str) -> pd.DataFrame:
    """The marks that stand, by example: the columns of COLUMNS; a file that cannot be read is left out."""
    folder = _folder(study, examples)
    rows = [_read(path) for path in folder.glob("*.json")] if folder.is_dir() else []
    kept = sorted((row for row in rows if row and row["mark"]), key=lambda row: row["example"])
    return pd.DataFrame(kept, columns=list(COLUMNS)).astype({"example": "int64"})


def broken_marks(study: Study) -> list[str]:
    """Files of marks that are not what was written, by their path in the study."""
    files = sorted((study.path / FOLDER).glob("*/[!.]*"))
    return [path.relative_to(study.path).as_posix() for path in files if path.suffix != ".json" or _read(path) is None]


def marks_stamp(study: Study, examples: str) -> int:
    """A number that changes with the marks."""
    folder = _folder(study, examples)
    return folder.stat().st_mtime_ns if folder.is_dir() else 0


def _folder(study: Study, examples: str) -> Path:
    return study.path / FOLDER / examples


def _read(path: Path) -> dict[str, Any] | None:
    try:
        values = json.loads(path.read_bytes())
        if values["schema"] != SCHEMA or values["mark"] not in (None, *MARKS):
            return None
        example = int(values["example"])
        if not 0 <= example < _MOST or path.stem != str(example) or not isinstance(values["note"], str):
            return None
        return {"example": example, "mark": values["mark"], "note": values["note"], "time": str(values["time"])}
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None
