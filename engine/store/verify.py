"""Is a study what was written? Every file against its checksum, every table against the others.

What is broken is named and set aside, so that nobody reads it and a sweep makes it again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from engine.datasets.groups import CLASS
from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.store import catalog
from engine.store.analyses import broken_analyses
from engine.store.files import checked_tensors, publish, remove_folder, write_file
from engine.store.group_losses import LOSSES, check_losses
from engine.store.images import image_sets, read_images
from engine.store.run_files import SPEC, RunRecord
from engine.store.run_tables import decode, is_right, offset_type
from engine.store.study import Study, examples_name
from engine.store.validation import VALIDATION, check_validation, split_rows

TABLES = ("levels", "classes", "predictions")


@dataclass(frozen=True)
class Fault:
    """What is broken, as its path in the study, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class _Tested:
    """What runs were tested on: the label of every example, and how many classes there are."""

    labels: np.ndarray
    n_classes: int
    examples: pd.DataFrame
    """Their table, with the name of each one's class."""
    n_training: int | None = None
    """Examples of the training side; None where it is not there or damaged."""


def verify_study(study: Study) -> list[Fault]:
    """Everything that is broken in a study; empty where it is whole."""
    found: list[Fault] = []
    try:
        study.info  # noqa: B018
    except PruneScopeError as error:
        found.append(Fault("study.toml", str(error)))
    tested: dict[str, _Tested] = {}
    for name in study.example_sets():
        try:
            tested[name] = _examples(study, name)
        except (PruneScopeError, ValueError, KeyError) as error:
            found.append(Fault(f"examples/{name}", _words(error)))
    for name in study.training_sets():
        try:
            tested |= {name: _with_training(study, name, tested[name])} if name in tested else {}
        except (PruneScopeError, ValueError, KeyError, TypeError) as error:
            found.append(Fault(f"examples/{name}-train", _words(error)))
    for name in image_sets(study):
        try:
            _check_images(study, name, tested)
        except (PruneScopeError, ValueError) as error:
            found.append(Fault(f"images/{name}", _words(error)))
    parts, missing = [], set()
    for key in study.runs():
        try:
            record = study.run_record(key)
            missing |= _missing_examples(study, record)
            tables = _run_tables(study, key, record)
            _check_run(record, tables, tested.get(examples_name(record.spec)))
            _check_losses(tables, tested.get(examples_name(record.spec)))
            _check_validation(record, tables, tested.get(examples_name(record.spec)))
            parts.append(catalog.run_part(key, record, tables["levels"], tables["classes"]))
        except (PruneScopeError, ValueError, KeyError, TypeError, IndexError, pa.ArrowException) as error:
            found.append(Fault(f"runs/{key}", _words(error)))
    found += [Fault(f"examples/{name}", "It is missing, and runs need it.") for name in sorted(missing)]
    if reason := catalog.describe_mismatch(study, parts):
        found.append(Fault("catalog", reason))
    found += [Fault(*one) for one in broken_analyses(study)]
    return found + list(_broken_snapshots(study))


def set_aside(study: Study, fault: Fault) -> str:
    """What was done about it, in words: runs and examples go to `broken` with the reason; the rest can be made anew."""
    kind, _, name = fault.name.partition("/")
    if kind == "runs":
        target = _new_folder(study, name)
        publish(study.path / "runs" / name, target)
        return _note(study, target, fault)
    if kind == "images":
        (study.path / f"{fault.name}.parquet").unlink(missing_ok=True)
        return "removed; `python -m engine data images` lays it in again"
    if kind == "examples":
        files = [path for end in ("", ".classes") if (path := study.path / f"{fault.name}{end}.parquet").exists()]
        if not files:
            return "the next sweep makes it"
        target = _new_folder(study, name)
        for path in files:
            publish(path, target / path.name)
        return _note(study, target, fault)
    if kind in ("dense", "work"):
        (study.path / fault.name).unlink(missing_ok=True)
        return "removed; it is made again when it is needed"
    if kind == "analyses":
        for path in (study.path / kind).glob(f"{name}.*"):
            path.unlink(missing_ok=True)
        return "removed; `analyse` makes it again"
    if kind == "catalog":
        remove_folder(study.path / "catalog")
        return "made anew from the runs"
    return "left as it is; mend it by hand"


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, PruneScopeError) else f"It is damaged: {error}."


def _new_folder(study: Study, name: str) -> Path:
    n = 1
    while (target := study.path / "broken" / f"{name}-{n}").exists():
        n += 1
    return target


def _note(study: Study, target: Path, fault: Fault) -> str:
    write_file(target / "reason.txt", f"{fault.name}: {fault.reason}\n".encode())
    return f"set aside in {target.relative_to(study.path)}"


def _examples(study: Study, name: str) -> _Tested:
    examples, facts = study.examples(name), study.class_facts(name)
    labels, n_classes = examples["label"].to_numpy(), len(facts)
    if not np.array_equal(examples["example"], np.arange(len(labels))):
        raise ValueError("its examples are not numbered from 0")
    if not np.array_equal(np.bincount(labels, minlength=n_classes), facts["n_test"]):
        raise ValueError("its labels differ in number from what its classes say")
    return _Tested(labels, n_classes, examples.assign(**{CLASS: facts["name"].to_numpy()[labels]}))


def _with_training(study: Study, name: str, tested: _Tested) -> _Tested:
    labels, facts = study.training_examples(name)["label"].to_numpy(), study.class_facts(name)
    counted = np.bincount(labels, minlength=tested.n_classes)
    if not np.array_equal(counted, facts.get("n_available", facts["n_train"])) or (counted < facts["n_train"]).any():
        raise ValueError("its labels differ in number from what its classes say")
    return replace(tested, n_training=len(labels))


def _check_images(study: Study, name: str, tested: Mapping[str, _Tested]) -> None:
    """Raise where images are damaged, or are of no examples that the study has."""
    read = read_images(study, name)
    labels = [known.labels for other, known in tested.items() if other == name or other.startswith(f"{name}-")]
    if read is not None and not any(np.array_equal(read[1], known) for known in labels):
        raise ValueError("its labels are not those of any examples here")


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


def _check_run(record: RunRecord, tables: Mapping[str, pa.Table], tested: _Tested | None) -> None:
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


def _check_losses(tables: Mapping[str, pa.Table], tested: _Tested | None) -> None:
    """Raise ValueError where the losses of a run's groups do not fit its levels, predictions or examples."""
    if LOSSES not in tables or tested is None:
        return
    offsets = tables["predictions"]["offset"].to_pylist()
    right = np.stack([is_right(offset, tested.n_classes) for offset in offsets])
    check_losses(tables[LOSSES], tables["levels"].to_pandas(), tested.examples, right)


def _check_validation(record: RunRecord, tables: Mapping[str, pa.Table], tested: _Tested | None) -> None:
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


def _broken_snapshots(study: Study) -> Iterator[Fault]:
    """Dense networks and work in progress that are damaged; names with a dot in front are not finished."""
    for path in sorted([*study.path.glob("dense/[!.]*"), *study.path.glob("work/[!.]*/**/[!.]*.*")]):
        try:
            checked_tensors(path)
        except FileNotFoundError:
            pass  # its run has just been finished
        except (OSError, ValueError) as error:
            yield Fault(path.relative_to(study.path).as_posix(), f"It is damaged: {error}.")
