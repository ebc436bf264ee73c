"""Is a run what was written? Its files against their checksums, its tables against each other and the examples."""

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.store.catalog_tables import Part, run_part
from engine.store.group_losses import LOSSES, check_losses
from engine.store.run_files import SPEC, RunRecord
from engine.store.run_tables import decode, is_right, offset_type
from engine.store.study import Study, examples_name
from engine.store.validation import VALIDATION, check_validation, split_rows

TABLES = ("levels", "classes", "predictions")
FEW = 200
"""So many runs are checked before other processes would have started."""


@dataclass(frozen=True)
class Tested:
    """What runs were tested on: the label of every example, and how many classes there are."""

    labels: np.ndarray
    n_classes: int
    examples: pd.DataFrame
    """Their table, with the name of each one's class."""
    n_training: int | None = None
    """Examples of the training side; None where it is not there or damaged."""
    data: str = ""
    """Digest of the data set; empty where none was kept."""


@dataclass(frozen=True)
class CheckedRun:
    """What came of a run: its part of the catalog where it is whole, else why not; examples that it lacks."""

    key: str
    part: Part | None
    reason: str = ""
    missing: frozenset[str] = frozenset()


def check_runs(study: Study, keys: Sequence[str], tested: Mapping[str, Tested], workers: int) -> Iterator[CheckedRun]:
    """What comes of each of these runs, in their order; by several processes where they are many."""
    check = partial(check_run, study.path, tested)
    if workers < 2 or len(keys) < FEW:
        yield from map(check, keys)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _take_over, (study.path, tested)) as pool:
        yield from pool.map(_check_in_child, keys, chunksize=16)


def check_run(path: Path, tested: Mapping[str, Tested], key: str) -> CheckedRun:
    """What comes of one run of the study at this path; `tested` has the example tables that are whole."""
    study, missing = Study(path), frozenset[str]()
    try:
        record = study.run_record(key)
        missing = frozenset(_missing_examples(study, record))
        tables = _run_tables(study, key, record)
        _check_run(record, tables, tested.get(examples_name(record.spec)))
        _check_losses(tables, tested.get(examples_name(record.spec)))
        _check_validation(record, tables, tested.get(examples_name(record.spec)))
        return CheckedRun(key, run_part(key, record, tables["levels"], tables["classes"]), missing=missing)
    except (PruneScopeError, ValueError, KeyError, TypeError, IndexError, OSError, pa.ArrowException) as error:
        return CheckedRun(key, None, in_words(error), missing)


def in_words(error: Exception) -> str:
    """What is wrong, as a sentence."""
    return str(error) if isinstance(error, PruneScopeError) else f"It is damaged: {error}."


_given: dict[str, object] = {}


def _take_over(path: Path, tested: Mapping[str, Tested]) -> None:
    """What a child of the pool is given once."""
    _given["check"] = partial(check_run, path, tested)


def _check_in_child(key: str) -> CheckedRun:
    check = _given["check"]
    assert isinstance(check, partial)
    return check(key)  # type: ignore[no-any-return]


def _missing_examples(study: Study, record: RunRecord) -> set[str]:
    """Tables of examples that a run needs and the study does not have."""
    name = examples_name(record.spec)
    is_validated = f"{VALIDATION}.parquet" in record.files
    side = {f"{name}-train"} if is_validated and name not in study.training_sets() else set()
    return side | ({name} - set(study.example_sets()))


def _run_tables(study: Study, key: str, record: RunRecord) -> dict[str, pa.Table]:
    """The tables of a run, once all of its files are there, are what was written, and are all there is."""
    folder = study.path / "runs" / key
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {SPEC}
    wanted = {*record.files, *(f"{name}.parquet" for name in TABLES)}
    for name in sorted(wanted - there):
        raise ValueError(f"{name} is missing")
    for name in sorted(there - wanted):
        raise ValueError(f"{name} does not belong to the run")
    for name in sorted(record.files):
        study.run_file(key, name, record)
    names = [name for name in (*TABLES, VALIDATION, LOSSES) if f"{name}.parquet" in record.files]
    return {name: study.run_rows(key, name, record) for name in names}


def _check_run(record: RunRecord, tables: Mapping[str, pa.Table], tested: Tested | None) -> None:
    """Raise ValueError where the tables of a run do not fit its spec, each other, or the examples."""
    levels, classes = tables["levels"].to_pandas(), tables["classes"].to_pandas()
    said, numbers = tables["predictions"].to_pydict(), levels["level"].to_numpy()
    planned, computed_here = len(planned_levels(record.spec)) + 1, "stopped" in record.provenance
    if computed_here and len(numbers) != planned and not (record.provenance["stopped"] and len(numbers) < planned):
        raise ValueError(f"it has {len(numbers)} levels, its spec asks for {planned}")
    if not len(numbers) or (np.diff(numbers) <= 0).any():
        raise ValueError("the numbers of its levels do not grow")
    _require_equal("levels of its predictions", said["level"], numbers)
    if tested is None:
        return
    data = record.provenance.get("data_sha256", "")
    if data and tested.data and data != tested.data:
        raise ValueError("it was computed on other data than those that the study keeps the examples of")
    n_levels, n_classes, labels = len(numbers), tested.n_classes, tested.labels
    _require_equal("levels of its classes", classes["level"], np.repeat(numbers, n_classes))
    _require_equal("numbers of its classes", classes["class"], np.tile(np.arange(n_classes), n_levels))
    sizes = {"offset": offset_type(n_classes).itemsize, "probability": 2, "margin": 2}
    for name in sizes if computed_here and record.spec.keep_scores else sizes.keys() & said.keys():
        _require_equal(f"examples in {name}", [len(row) for row in said[name]], [sizes[name] * len(labels)] * n_levels)
    matrix = np.stack([decode(row, labels, n_classes) for row in said["offset"]])
    right = matrix == labels
    _require_equal("accuracy", levels["accuracy"], right.mean(1))
    counted = {
        "n": [np.bincount(labels, minlength=n_classes)] * n_levels,
        "correct": [np.bincount(labels[row], minlength=n_classes) for row in right],
        "predicted": [np.bincount(row, minlength=n_classes) for row in matrix],
    }
    for name, counts in counted.items():
        _require_equal(f"classes' {name}", classes[name], np.concatenate(counts))


def _check_losses(tables: Mapping[str, pa.Table], tested: Tested | None) -> None:
    """Raise ValueError where the losses of a run's groups do not fit its levels, predictions or examples."""
    if LOSSES not in tables or tested is None:
        return
    offsets = tables["predictions"]["offset"].to_pylist()
    right = np.stack([is_right(offset, tested.n_classes) for offset in offsets])
    check_losses(tables[LOSSES], tables["levels"].to_pandas(), tested.examples, right)


def _check_validation(record: RunRecord, tables: Mapping[str, pa.Table], tested: Tested | None) -> None:
    """Raise ValueError where what a run says of its validation split does not fit its levels or the training side."""
    if VALIDATION not in tables or tested is None:
        return
    levels = tables["levels"].to_pandas()
    check_validation(
        tables[VALIDATION], levels["level"].to_numpy(), levels["validation_accuracy"].to_numpy(), tested.n_classes
    )
    rows, n_training = split_rows(tables[VALIDATION]), tested.n_training
    if n_training is not None and (rows[-1] >= n_training or len(rows) != round(record.spec.validation * n_training)):
        raise ValueError("its validation split is none of the training side's")


def _require_equal(what: str, kept: object, counted: object) -> None:
    if not np.array_equal(np.asarray(kept), np.asarray(counted)):
        raise ValueError(f"the {what} differ from what the other tables say")
