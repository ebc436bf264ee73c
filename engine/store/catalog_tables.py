"""The rows of a catalog: what a run adds to the tables of runs, levels and classes, and how such tables become one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.run_spec import IDENTITY, IMPORTED
from engine.specs.mitigation import mitigation_words
from engine.specs.protocol import protocol
from engine.store.run_files import RunRecord

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

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class Part:
    """What one run adds: its row of `runs`, and its rows of the others without the column `row`."""

    run: dict[str, Any]
    levels: pa.Table
    classes: pa.Table


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


def repeated_runs(runs: pd.DataFrame, record: Callable[[str], RunRecord]) -> np.ndarray:
    """Which rows of `runs` are the same training as another, which keeps more of it or comes first by its key.

    Runs may differ in what they keep beside the predictions and in nothing else; the same seed must not count twice.
    """
    same = [*IDENTITY, "protocol"]
    repeats = np.zeros(len(runs), bool)
    several = runs.duplicated(same, keep=False).to_numpy() & (runs["schedule"] != IMPORTED).to_numpy()
    for _, rows in runs[several].groupby(same, observed=True, sort=False):
        places = runs.index.get_indexer(rows.index)
        kept = max(range(len(rows)), key=lambda place: (_richness(rows["run"].iloc[place], record), -place))
        repeats[np.delete(places, kept)] = True
    return repeats


def _richness(run: str, record: Callable[[str], RunRecord]) -> tuple[int, bool, bool]:
    """How much a run keeps beside its predictions; nothing where it cannot be read."""
    try:
        spec = record(str(run)).spec
    except PruneScopeError:
        return -1, False, False
    return len(spec.diagnose), spec.keep_scores, spec.keep_checkpoints


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
