"""Where results live: the only code that reads or writes a study's runs, examples and work in progress."""

import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.errors import PruneScopeError
from engine.run_spec import DEFAULTS, RunSpec
from engine.store import catalog
from engine.store.files import remove_folder, write_file
from engine.store.parquet import data_of, from_parquet, seal_of, to_parquet
from engine.store.run_files import RunFiles, RunRecord
from engine.store.run_tables import decode, offset_type
from engine.store.validation import VALIDATION, split_rows

_CLASSES, _TRAINING = ".classes", "-train"


class Study(RunFiles):
    """A folder of finished runs, the examples they were tested on, and work in progress."""

    # -- what is there ------------------------------------------------------------------------------------------

    @cached_property
    def info(self) -> dict[str, Any]:
        """What study.toml says: title, description, provenance, the pages' defaults; empty without one."""
        file = self.path / "study.toml"
        try:
            return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
            raise PruneScopeError(f"{file} cannot be read: {error}.") from error

    def levels(self) -> pd.DataFrame:
        """One row per model of every finished run, controls aside: its identity, sparsity, accuracy, loss."""
        return catalog.refresh(self).levels

    def classes(self) -> pd.DataFrame:
        """One row per model and class of every finished run, controls aside: n, correct, predicted, loss."""
        return catalog.refresh(self).classes

    # -- examples -----------------------------------------------------------------------------------------------

    def example_sets(self) -> list[str]:
        """Names of the example tables, such as `qmnist-writers`."""
        names = self._example_files()
        return sorted(name for name in names - _training_sides(names) if not name.endswith(_CLASSES))

    def training_sets(self) -> list[str]:
        """Names of the example tables whose data set's training side is there too."""
        return sorted(name.removesuffix(_TRAINING) for name in _training_sides(self._example_files()))

    def examples(self, name: str) -> pd.DataFrame:
        """One row per test example of a set: label, groups, attributes. `examples_name` says a run's set."""
        return self._example_table(name, name)

    def training_examples(self, name: str) -> pd.DataFrame:
        """One row per example of the training side of a set's data: label, groups. Runs hold some out to validate."""
        return self._training_table(name, None)

    def data_digest(self, name: str) -> str:
        """Digest of the data set that a set of examples is of: labels, groups and pixels; empty where none was kept."""
        return data_of(self.read_bytes(f"examples/{name}.parquet"))

    def lacks_examples(self, spec: RunSpec) -> bool:
        """Whether examples of a finished run are gone: those that it was tested on, or that it was validated on."""
        name = examples_name(spec)
        is_validated = self.has_validation(spec.key)
        return name not in self.example_sets() or (is_validated and name not in self.training_sets())

    def class_facts(self, name: str) -> pd.DataFrame:
        """One row per class of a set: name, training and test counts, mean entropy of its training images."""
        return self._example_table(name, f"{name}{_CLASSES}")

    def write_examples(self, name: str, examples: pd.DataFrame, classes: pd.DataFrame, data: str = "") -> None:
        """Keep the test examples and class facts of a data set; those that are there stay. `data` is its digest."""
        self.check_example_name(name)
        self._write_examples(f"{name}{_CLASSES}", classes)
        self._write_examples(name, examples, data)

    def check_example_name(self, name: str) -> None:
        """Refuse a name for test examples that the training side of others has."""
        if name in _training_sides(self._example_files()):
            raise PruneScopeError(f"{name!r} is the training side of another set of examples; choose another name.")

    def write_training_examples(self, name: str, examples: pd.DataFrame) -> None:
        """Keep labels and groups of the training side of a data set, in its order; what is there stays."""
        if (taken := f"{name}{_TRAINING}") in self.example_sets():
            raise PruneScopeError(f"The training side of {name!r} needs the name {taken!r}, which other examples have.")
        self._write_examples(taken, examples)

    def seal_examples(self) -> list[str]:
        """Files of examples that had no checksum, as the first engines wrote them, and have one now."""
        unsealed = [p for p in sorted((self.path / "examples").glob("*.parquet")) if not seal_of(p.read_bytes())]
        for path in unsealed:
            write_file(path, to_parquet(from_parquet(path.read_bytes(), path.name), "examples", seal=True))
        return [path.name for path in unsealed]

    def _example_table(self, name: str, table: str) -> pd.DataFrame:
        if name not in (names := self.example_sets()):
            raise PruneScopeError(f"No example table {name!r}; there is {', '.join(names) or 'none'}.")
        return self._read_examples(table)

    def _training_table(self, name: str, columns: list[str] | None) -> pd.DataFrame:
        if name not in (names := self.training_sets()):
            raise PruneScopeError(f"No training side of {name!r}; there is {', '.join(names) or 'none'}.")
        return self._read_examples(f"{name}{_TRAINING}", columns)

    def _read_examples(self, table: str, columns: list[str] | None = None) -> pd.DataFrame:
        file = f"examples/{table}.parquet"
        return from_parquet(self.read_bytes(file), file, columns, kind=f"examples {table}").to_pandas()

    def _write_examples(self, table: str, rows: pd.DataFrame, data: str = "") -> None:
        path = self.path / "examples" / f"{table}.parquet"
        if not path.exists():
            write_file(path, to_parquet(rows, f"examples {table}", seal=True, data=data))

    def _example_files(self) -> set[str]:
        return {path.name.removesuffix(".parquet") for path in (self.path / "examples").glob("*.parquet")}

    # -- predictions --------------------------------------------------------------------------------------------

    def prediction_matrix(self, key: str) -> tuple[np.ndarray, np.ndarray]:
        """Levels (L) and predictions (L x examples) of one run."""
        record = self.run_record(key)
        rows, labels, n_classes = self._packed(key, record, ["level", "offset"])
        matrix = np.stack([decode(offset, labels, n_classes) for offset in rows["offset"]])
        return np.asarray(rows["level"]), matrix

    def predictions(self, key: str) -> pd.DataFrame:
        """One row per level and example of one run: prediction, and probability and margin where they were kept."""
        record = self.run_record(key)
        rows, labels, n_classes = self._packed(key, record, None)
        n = len(labels)
        table = {
            "level": np.repeat(np.asarray(rows["level"]), n),
            "example": np.tile(np.arange(n), len(rows["level"])),
            "prediction": np.concatenate([decode(offset, labels, n_classes) for offset in rows["offset"]]),
        }
        for name in ("probability", "margin"):
            if name in rows:
                table[name] = np.concatenate([np.frombuffer(part, "<f2") for part in rows[name]])
        return pd.DataFrame(table)

    def dense_margins(self, key: str) -> np.ndarray | None:
        """Top-1 minus top-2 probability of a run's dense network on every example; None where it was not kept."""
        file = "predictions.parquet"
        table = from_parquet(self.run_file(key, file), f"runs/{key}/{file}")
        if "margin" not in table.column_names or 0 not in table["level"].to_pylist():
            return None
        at = table["level"].to_pylist().index(0)
        margins: np.ndarray = np.frombuffer(table["margin"][at].as_py(), "<f2").astype(np.float64)
        return margins

    # -- validation ---------------------------------------------------------------------------------------------

    def has_validation(self, key: str) -> bool:
        """Whether a run kept its predictions on its validation split; older and imported runs did not."""
        return bool(self.runs_with([key], VALIDATION))

    def validation(self, key: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Levels (L), predictions (L x n) on a run's own validation split, and which n training examples that is.

        The last are row numbers of `training_examples`, ascending.
        """
        record = self.run_record(key)
        if f"{VALIDATION}.parquet" not in record.files:
            raise PruneScopeError(
                f"Run {key} has no predictions on its validation split: it was imported, or computed before they were "
                "kept."
            )
        name, table = examples_name(record.spec), self.run_rows(key, VALIDATION, record)
        rows, n_classes = split_rows(table), len(self.class_facts(name))
        labels = self._training_table(name, ["label"])["label"].to_numpy()[rows]
        matrix = np.stack([decode(offset, labels, n_classes) for offset in table["offset"].to_pylist()])
        return table["level"].to_numpy(), matrix, rows

    def _packed(
        self, key: str, record: RunRecord, columns: list[str] | None
    ) -> tuple[dict[str, list[Any]], np.ndarray, int]:
        file = "predictions.parquet"
        rows = from_parquet(self.run_file(key, file, record), f"runs/{key}/{file}", columns).to_pydict()
        name = examples_name(record.spec)
        labels, n_classes = self.examples(name)["label"].to_numpy(), len(self.class_facts(name))
        if any(len(offset) != len(labels) * offset_type(n_classes).itemsize for offset in rows["offset"]):
            raise PruneScopeError(f"examples/{name} has {len(labels):,} examples, which run {key} was not tested on.")
        return rows, labels, n_classes

    # -- work in progress ---------------------------------------------------------------------------------------

    def work_folder(self, key: str) -> Path:
        """Where an unfinished run keeps its finished levels."""
        return self.path / "work" / key

    def clear_work(self, key: str) -> None:
        """Forget an unfinished run's levels, once they are committed."""
        remove_folder(self.work_folder(key))

    def dense_file(self, dense_key: str) -> Path:
        """Where a dense network lies that runs share."""
        return self.path / "dense" / f"{dense_key}.safetensors"


def examples_name(spec: RunSpec) -> str:
    """Name of the example table that a run was tested on."""
    size = f"{spec.image_size}px" if spec.image_size else ""
    dataset = spec.dataset.replace(":", ".")  # of an import path
    tail: tuple[str, ...] = ()
    if spec.imbalance != DEFAULTS["imbalance"]:  # class sizes follow from both
        tail = (f"imbalance{spec.imbalance}", f"validation{spec.validation:g}")
    return "-".join(part for part in (dataset, spec.split, spec.target, *spec.groups, size, *tail) if part)


def _training_sides(files: set[str]) -> set[str]:
    """Those of the files of examples that are a training side: a set that happens to be called so has class facts."""
    return {name for name in files if name.endswith(_TRAINING) and f"{name}{_CLASSES}" not in files}
