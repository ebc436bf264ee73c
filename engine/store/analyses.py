"""Analyses that take too long for a page: computed once, kept in the study with what they were asked, read when shown.

An analysis is two files, the table and then a sealed record that names the table's digest, so that half of one is none.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.errors import PruneScopeError
from engine.run_spec import SCHEMA, digest
from engine.store.files import PLACEHOLDER, checksum_ok, embed_checksum, file_digest, write_file
from engine.store.parquet import from_parquet, to_parquet
from engine.store.run_files import RunFiles

FOLDER = "analyses"


@dataclass(frozen=True, eq=False)
class KeptAnalysis:
    """What was asked, what came out as a table and as facts, and notes for people."""

    spec: dict[str, Any]
    table: pd.DataFrame
    facts: dict[str, Any]
    notes: dict[str, Any]


def analysis_key(spec: Mapping[str, Any]) -> str:
    """Name of the analysis that answers this; equal questions have equal names."""
    return digest(dict(spec))


def predictions_digest(before: NDArray[np.integer], after: NDArray[np.integer]) -> str:
    """Stands for the pairs of networks that were compared, whatever their order and wherever they came from."""
    pairs = zip(np.atleast_2d(before), np.atleast_2d(after), strict=False)
    each = (file_digest(was.astype("<i2").tobytes() + now.astype("<i2").tobytes()) for was, now in pairs)
    return file_digest(" ".join(sorted(each)).encode())


def mixed_logit_spec(
    examples: str,
    columns: tuple[str, str | None, str | None],
    before: NDArray[np.integer],
    after: NDArray[np.integer],
) -> dict[str, Any]:
    """The question that a mixed logit answers; `columns` are the member's, the attribute's and the groups'."""
    member, attribute, by = columns
    return {
        "kind": "mixed-logit",
        "examples": examples,
        "member": member,
        "attribute": attribute or "",
        "by": by or "",
        "predictions": predictions_digest(before, after),
    }


def write_analysis(study: RunFiles, analysis: KeptAnalysis) -> str:
    """Key under which it is kept; one that is there is replaced."""
    key = analysis_key(analysis.spec)
    folder = study.path / FOLDER
    values = {
        "schema": SCHEMA,
        "spec": analysis.spec,
        "facts": analysis.facts,
        "notes": analysis.notes,
        "table": write_file(folder / f"{key}.parquet", to_parquet(analysis.table, "analysis", seal=True)),
        "sha256": PLACEHOLDER.decode(),
    }
    write_file(folder / f"{key}.json", embed_checksum(json.dumps(values, indent=1).encode()))
    return key


def read_analysis(study: RunFiles, spec: Mapping[str, Any]) -> KeptAnalysis | None:
    """What was kept for this question; None where it was not asked, a refusal where it is not what was written."""
    key = analysis_key(spec)
    return _checked(study, key) if (study.path / FOLDER / f"{key}.json").exists() else None


def broken_analyses(study: RunFiles) -> Iterator[tuple[str, str]]:
    """Name and reason of every analysis that is not what was written, or of which only half is there."""
    folder = study.path / FOLDER
    files = [path for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []
    for key in sorted({path.stem for path in files}):
        try:
            _checked(study, key)
        except PruneScopeError as error:
            yield f"{FOLDER}/{key}", str(error)


def _checked(study: RunFiles, key: str) -> KeptAnalysis:
    """The analysis of this name, refused where it is not what was written."""
    name, file = f"{FOLDER}/{key}.json", f"{FOLDER}/{key}.parquet"
    content = study.read_bytes(name)
    try:
        values = json.loads(content)
        if not checksum_ok(content, str(values["sha256"]).encode()) or values["schema"] != SCHEMA:
            raise PruneScopeError(f"{name} is damaged: its checksum differs from its content.")
        table = study.read_bytes(file)
        if file_digest(table) != values["table"] or analysis_key(values["spec"]) != key:
            raise PruneScopeError(f"{file} is damaged: it is not the table that {name} names.")
        return KeptAnalysis(values["spec"], from_parquet(table, file).to_pandas(), values["facts"], values["notes"])
    except (ValueError, KeyError, TypeError) as error:
        raise PruneScopeError(f"{name} is damaged: {error!r}.") from error
