"""All runs in a few files: one table each of runs, levels and classes, brought up to date by what is new.

The files are named by their content and an index names the current ones, so a reader never sees half of a rebuild.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from engine import __version__
from engine.errors import PruneScopeError
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import IDENTITY, IMPORTED, digest
from engine.specs.mitigation import mitigation_words
from engine.specs.protocol import protocol
from engine.store.files import PLACEHOLDER, checksum_ok, embed_checksum, file_digest, write_file
from engine.store.parquet import from_parquet, to_parquet
from engine.store.run_files import RunFiles, RunRecord

INDEX = "index.json"
WORDS = (*IDENTITY[:-1], "protocol", "device", "engine", "stopped")
KINDS: Mapping[str, pa.Schema] = {
    "runs": pa.schema(
        [
            *((name, pa.string()) for name in ("run", *WORDS)),
            *((name, pa.int64()) for name in ("seed", "epochs")),
            ("seconds", pa.float64()),
        ]
    ),
    "levels": pa.schema(
        [
            ("row", pa.int32()),
            ("level", pa.int64()),
            *((name, pa.float64()) for name in ("sparsity_asked", "sparsity", "accuracy", "loss")),
            ("validation_accuracy", pa.float64()),
            *((name, pa.int64()) for name in ("n_weights", "n_kept")),
        ]
    ),
    "classes": pa.schema(
        [
            ("row", pa.int32()),
            *((name, pa.int16()) for name in ("level", "class")),
            *((name, pa.int32()) for name in ("n", "correct", "predicted")),
            *((name, pa.float64()) for name in ("loss", "sparsity")),
        ]
    ),
}
"""Columns of each table; `row` says which row of `runs` a level or class belongs to."""

UNUSED_SECONDS = 60.0
"""How long a file that the index no longer names stays, for those who are about to read it."""

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class Part:
    """What one run adds: its row of `runs`, and its rows of the others without the column `row`."""

    run: dict[str, Any]
    levels: pa.Table
    classes: pa.Table


@dataclass(frozen=True)
class Catalog:
    """The tables of all finished runs; `broken` says of each run left out why it could not be read."""

    tables: Tables
    broken: dict[str, str]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run: its identity, protocol, how it was made."""
        return self.tables["runs"].to_pandas().astype(dict.fromkeys(("run", *WORDS), "category"))

    @cached_property
    def levels(self) -> pd.DataFrame:
        """One row per model, those of controls aside."""
        return self._with_identity("levels", controls=False)

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row per model and class, those of controls aside."""
        return self._with_identity("classes", controls=False)

    @cached_property
    def control_levels(self) -> pd.DataFrame:
        """One row per model of a control."""
        return self._with_identity("levels", controls=True)

    @cached_property
    def control_classes(self) -> pd.DataFrame:
        """One row per model of a control and class."""
        return self._with_identity("classes", controls=True)

    def _with_identity(self, kind: str, controls: bool) -> pd.DataFrame:
        wanted, identity = self._identities[controls]
        table = self.tables[kind]
        if not wanted.all():
            table = table.filter(wanted[table["row"].to_numpy()])
        rows = identity.take(table["row"].to_numpy()).reset_index(drop=True)
        return pd.concat([rows, table.drop_columns("row").to_pandas()], axis=1)

    @cached_property
    def _identities(self) -> dict[bool, tuple[NDArray[np.bool_], pd.DataFrame]]:
        """For pruned runs (False) and controls (True): which rows of `runs` they are, and what identifies them."""
        runs = self.runs[["run", *IDENTITY[:-1], "protocol", "seed"]]
        controls = [key for key, row in TECHNIQUES.items() if row.is_control]
        is_control = (runs["technique"].isin(controls) & (runs["schedule"] != IMPORTED)).to_numpy()
        if not is_control.any():
            return {False: (~is_control, runs), True: (is_control, runs)}
        named = [name for name in runs if name != "seed"]
        return {
            controls: (
                wanted,
                runs.assign(**{name: runs[name].where(wanted).cat.remove_unused_categories() for name in named}),
            )
            for controls, wanted in ((False, ~is_control), (True, is_control))
        }


def refresh(study: RunFiles, *kinds: str) -> Catalog:
    """The catalog of all finished runs; read are only those that it does not know, or that were broken and changed.

    Where only some kinds of tables are asked for, the others may be left out.
    """
    there = study.runs()
    tables, broken = _load(study, ("runs", *kinds) if kinds else tuple(KINDS)) or (empty_tables(), {})
    kept = set(tables["runs"]["run"].to_pylist()) & set(there)
    broken = {key: broken[key] for key in there if key in broken and broken[key]["stamp"] == _stamp(study, key)}
    new = [key for key in there if key not in kept and key not in broken]
    if not new and len(kept) == tables["runs"].num_rows:
        return _catalog(tables, broken)
    if len(tables) < len(KINDS):
        return refresh(study)
    parts, failed = _read_runs(study, new)
    tables, broken = merged_tables(tables, kept, joined_tables(parts)), broken | failed
    try:
        save_tables(study, tables, broken)
    except PruneScopeError:
        pass  # a study that cannot be written to is read all the same
    return _catalog(tables, broken)


def describe_mismatch(study: RunFiles, parts: Sequence[Part]) -> str:
    """How the catalog on disk differs from these whole runs, in words; empty where it does not or there is none."""
    if not (study.path / "catalog" / INDEX).exists():
        return ""
    loaded = _load(study, tuple(KINDS))
    if loaded is None:
        return "It is damaged."
    known, whole = set(loaded[0]["runs"]["run"].to_pylist()), {part.run["run"] for part in parts}
    kept = merged_tables(loaded[0], whole, empty_tables())
    fresh = merged_tables(empty_tables(), set(), joined_tables([part for part in parts if part.run["run"] in known]))
    unlike = [kind for kind in KINDS if not kept[kind].to_pandas().equals(fresh[kind].to_pandas())]
    return f"Its {' and '.join(unlike)} differ from those of the runs." if unlike else ""


def empty_tables() -> Tables:
    """The tables of no runs."""
    return {kind: schema.empty_table() for kind, schema in KINDS.items()}


def run_part(key: str, record: RunRecord, levels: pa.Table, classes: pa.Table) -> Part:
    """What one run adds to each table, `row` aside; ValueError where its tables do not fit each other."""
    at, of = levels["level"].to_numpy(), classes["level"].to_numpy()
    places = np.searchsorted(at, of).clip(max=len(at) - 1)
    if (at[places] != of).any():
        raise ValueError("its classes have levels that its levels lack")
    classes = classes.append_column("sparsity", pa.array(levels["sparsity"].to_numpy()[places]))
    tables = {"levels": levels, "classes": classes}
    own = {kind: schema.remove(0) for kind, schema in KINDS.items() if kind in tables}
    return Part(_run_row(key, record), *(tables[kind].select(own[kind].names).cast(own[kind]) for kind in own))


def joined_tables(parts: Sequence[Part]) -> Tables:
    """The tables of these runs."""
    if not parts:
        return empty_tables()
    runs = pa.Table.from_pylist([part.run for part in parts], KINDS["runs"])
    return {
        "runs": runs,
        "levels": _stacked([part.levels for part in parts]),
        "classes": _stacked([part.classes for part in parts]),
    }


def merged_tables(old: Tables, kept: set[str], new: Tables) -> Tables:
    """Old rows of the runs that stay and all new ones, in the order of run keys."""
    runs = pa.concat_tables([old["runs"], new["runs"]])
    names = np.array(runs["run"].to_pylist(), dtype=object)
    stays = np.array([number >= old["runs"].num_rows or name in kept for number, name in enumerate(names)], bool)
    order = np.flatnonzero(stays)[np.argsort(names[stays])]
    row_after = np.full(len(names), -1, "int32")
    row_after[order] = np.arange(len(order))
    tables = {"runs": runs.take(order)}
    for kind in ("levels", "classes"):
        table = pa.concat_tables([old[kind], new[kind]]).combine_chunks()
        shift = np.repeat([0, old["runs"].num_rows], [old[kind].num_rows, new[kind].num_rows])
        after = row_after[table["row"].to_numpy() + shift]
        rows = np.argsort(after, kind="stable")[np.count_nonzero(after < 0) :]
        tables[kind] = table.take(rows).set_column(0, "row", pa.array(after[rows]))
    return tables


def _catalog(tables: Tables, broken: Mapping[str, Mapping[str, str]]) -> Catalog:
    return Catalog(tables, {key: found["reason"] for key, found in broken.items()})


def _read_runs(study: RunFiles, keys: list[str]) -> tuple[list[Part], dict[str, dict[str, str]]]:
    parts, broken = [], {}
    for key in keys:
        stamp = _stamp(study, key)
        try:
            record = study.run_record(key)
            tables = (study.run_rows(key, kind, record) for kind in ("levels", "classes"))
            parts.append(run_part(key, record, *tables))
        except PruneScopeError as error:
            broken[key] = {"stamp": stamp, "reason": str(error)}
        except (ValueError, KeyError, TypeError, IndexError, pa.ArrowException) as error:
            broken[key] = {"stamp": stamp, "reason": f"runs/{key} is damaged: {error}."}
    return parts, broken


def _stamp(study: RunFiles, key: str) -> str:
    """Letters that change with the files of a run; a broken run is looked at again once they do."""
    try:
        with os.scandir(study.path / "runs" / key) as entries:
            return digest({e.name: [(s := e.stat()).st_size, s.st_mtime_ns, s.st_ctime_ns] for e in entries})
    except OSError:
        return ""


def _run_row(key: str, record: RunRecord) -> dict[str, Any]:
    made = record.provenance
    return {
        "run": key,
        **{name: getattr(record.spec, name) for name in IDENTITY},
        "mitigation": mitigation_words(record.spec),
        "protocol": protocol(record.spec),
        "epochs": record.spec.epochs,
        **{name: str(made.get(name, "")) for name in ("device", "engine", "stopped")},
        "seconds": float(made.get("seconds", float("nan"))),
    }


def _stacked(tables: list[pa.Table]) -> pa.Table:
    rows = np.repeat(np.arange(len(tables), dtype="int32"), [table.num_rows for table in tables])
    return pa.concat_tables(tables).combine_chunks().add_column(0, "row", pa.array(rows))


def _load(study: RunFiles, kinds: Sequence[str]) -> tuple[Tables, dict[str, dict[str, str]]] | None:
    folder = study.path / "catalog"
    for _ in range(3):  # the index may change while the files that it named are read
        try:
            content = (folder / INDEX).read_bytes()
            index = json.loads(content)
            if index["engine"] == __version__ and checksum_ok(content, index["sha256"].encode()):
                return {kind: _table(folder / index[kind], kind) for kind in kinds}, dict(index["broken"])
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError, PruneScopeError):
            break
    return None  # absent, another engine's or damaged: it is made anew from the runs


def _table(path: Path, kind: str) -> pa.Table:
    content = path.read_bytes()
    if path.name != _file_name(kind, content):
        raise PruneScopeError(f"{path.name} is damaged: its checksum differs from its name.")
    return from_parquet(content, path.name).cast(KINDS[kind])


def save_tables(study: RunFiles, tables: Tables, broken: Mapping[str, Mapping[str, str]]) -> None:
    """Make these tables the study's catalog; `broken` says of each run left out its stamp and the reason."""
    folder = study.path / "catalog"
    index: dict[str, Any] = {"engine": __version__, "broken": broken, "sha256": PLACEHOLDER.decode()}
    for kind, table in tables.items():
        content = to_parquet(table, kind)
        index[kind] = _file_name(kind, content)
        write_file(folder / index[kind], content)
    write_file(folder / INDEX, embed_checksum(json.dumps(index).encode()))
    for path in folder.glob("*.parquet"):
        if path.name not in index.values() and time.time() - path.stat().st_mtime > UNUSED_SECONDS:
            path.unlink(missing_ok=True)


def _file_name(kind: str, content: bytes) -> str:
    return f"{kind}-{file_digest(content)[:12]}.parquet"
