"""All runs in a few files: one table each of runs, levels and classes, brought up to date by what is new.

The files are named by their content and an index names the current ones, so a reader never sees half of a rebuild.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from engine.files import write_file
from engine.protocols import protocol
from engine.records import IDENTITY, SCHEMA, PruneScopeError
from engine.tables import from_parquet, to_parquet

if TYPE_CHECKING:
    from engine.store import Study

KINDS = ("runs", "levels", "classes")
INDEX = "index.json"


@dataclass(frozen=True)
class Catalog:
    """The tables of all finished runs; `broken` says of each run left out why it could not be read."""

    tables: dict[str, pa.Table]
    broken: dict[str, str]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run: its identity, protocol, how it was made."""
        runs = self.tables["runs"].to_pandas()
        words = [*IDENTITY[:-1], "protocol", "run", "device", "engine", "stopped"]
        return runs.astype(dict.fromkeys(words, "category"))

    @cached_property
    def levels(self) -> pd.DataFrame:
        """One row per model."""
        return self._with_identity("levels")

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row per model and class."""
        return self._with_identity("classes")

    def _with_identity(self, kind: str) -> pd.DataFrame:
        table = self.tables[kind].to_pandas()
        rows = table.pop("row").to_numpy()
        identity = self.runs[["run", *IDENTITY[:-1], "protocol", "seed"]].take(rows).reset_index(drop=True)
        return pd.concat([identity, table], axis=1)


def refresh(study: Study) -> Catalog:
    """The catalog of all finished runs; only runs that it does not know yet are read."""
    known = _load(study)
    there = study.runs()
    have = known.tables["runs"]["run"].to_pylist() if known else []
    if known and have == there:
        return known
    kept = set(have) & set(there)
    parts, broken = _read_runs(study, [key for key in there if key not in kept])
    catalog = Catalog(_merged(known.tables if known else None, kept, parts), broken)
    try:
        _save(study, catalog)
    except PruneScopeError:
        pass  # a study that cannot be written to is read all the same
    return catalog


def _read_runs(study: Study, keys: list[str]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    parts, broken = {}, {}
    for key in keys:
        try:
            record = study.record(key)
            if record.spec.key != key:
                raise PruneScopeError(f"runs/{key} holds the settings of run {record.spec.key}.")
            levels, classes = (study.run_table(key, kind, record) for kind in ("levels", "classes"))
            parts[key] = {"runs": _run_row(key, record), "levels": levels, "classes": _slim(classes, levels)}
        except PruneScopeError as error:
            broken[key] = str(error)
    return parts, broken


def _run_row(key: str, record: Any) -> dict[str, Any]:
    made = record.provenance
    return {
        "run": key,
        **{name: getattr(record.spec, name) for name in IDENTITY},
        "protocol": protocol(record.spec),
        "epochs": record.spec.epochs,
        "device": str(made.get("device", "")),
        "engine": str(made.get("engine", "")),
        "seconds": float(made.get("seconds", float("nan"))),
        "stopped": str(made.get("stopped", "")),
    }


def _slim(classes: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    sparsity = classes["level"].map(levels.set_index("level")["sparsity"])
    return classes.assign(sparsity=sparsity).astype(
        {"level": "int16", "class": "int16", "n": "int32", "correct": "int32", "predicted": "int32"}
    )


def _merged(old: dict[str, pa.Table] | None, kept: set[str], parts: dict[str, dict[str, Any]]) -> dict[str, pa.Table]:
    """Old rows of the runs that stay and the new ones, in the order of run keys."""
    order = {key: row for row, key in enumerate(sorted(kept | set(parts)))}
    frames: dict[str, list[pd.DataFrame]] = {kind: [] for kind in KINDS}
    if old is not None:
        runs = old["runs"].to_pandas()
        frames["runs"].append(runs[runs["run"].isin(kept)])
        for kind in ("levels", "classes"):
            table = old[kind].to_pandas()
            new_row = runs["run"].map(order).fillna(-1).astype("int32").to_numpy()[table["row"].to_numpy()]
            frames[kind].append(table.assign(row=new_row)[new_row >= 0])
    if parts:
        frames["runs"].append(pd.DataFrame([part["runs"] for part in parts.values()]))
        for kind in ("levels", "classes"):
            frames[kind].extend(
                part[kind].assign(row=order[key]).astype({"row": "int32"}) for key, part in parts.items()
            )
    tables = {}
    for kind, by in (("runs", "run"), ("levels", "row"), ("classes", "row")):
        frame = pd.concat(frames[kind], ignore_index=True) if frames[kind] else _empty(kind)
        frame = frame.sort_values(by, kind="stable", ignore_index=True)
        tables[kind] = pa.Table.from_pandas(frame, preserve_index=False)
    return tables


def _empty(kind: str) -> pd.DataFrame:
    words = [*IDENTITY[:-1], "protocol", "device", "engine", "stopped"]
    columns = {
        "runs": {"run": "str", **dict.fromkeys(words, "str"), "seed": "int64", "epochs": "int64", "seconds": "float64"},
        "levels": {
            "row": "int32",
            "level": "int64",
            **dict.fromkeys(("sparsity_asked", "sparsity", "accuracy", "loss", "validation_accuracy"), "float64"),
            **dict.fromkeys(("n_weights", "n_kept"), "int64"),
        },
        "classes": {
            "row": "int32",
            **dict.fromkeys(("level", "class"), "int16"),
            **dict.fromkeys(("n", "correct", "predicted"), "int32"),
            **dict.fromkeys(("loss", "sparsity"), "float64"),
        },
    }[kind]
    return pd.DataFrame({name: pd.Series(dtype=kind_) for name, kind_ in columns.items()})


def _load(study: Study) -> Catalog | None:
    folder = study.path / "catalog"
    try:
        index = json.loads((folder / INDEX).read_text())
        if index["schema"] != SCHEMA:
            return None
        tables = {kind: from_parquet((folder / index[kind]).read_bytes(), index[kind]) for kind in KINDS}
    except (OSError, ValueError, KeyError, TypeError, PruneScopeError):
        return None  # absent, older or damaged: it is made anew from the runs
    return Catalog(tables, {})


def _save(study: Study, catalog: Catalog) -> None:
    from engine.files import file_digest

    folder = study.path / "catalog"
    index: dict[str, Any] = {"schema": SCHEMA}
    for kind, table in catalog.tables.items():
        content = to_parquet(table, kind)
        index[kind] = f"{kind}-{file_digest(content)[:12]}.parquet"
        if not (folder / index[kind]).exists():
            write_file(folder / index[kind], content)
    write_file(folder / INDEX, json.dumps(index).encode())
    for path in folder.glob("*.parquet"):
        if path.name not in index.values():
            path.unlink(missing_ok=True)
