"""Where results live: the only code that reads or writes a study's runs, examples and work in progress."""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from engine.run_spec import SCHEMA, PruneScopeError, RunSpec, settings, spec_from_settings
from engine.store import catalog
from engine.store.files import (
    PLACEHOLDER,
    checksum_ok,
    embed_checksum,
    file_digest,
    publish,
    remove_folder,
    temporary_beside,
    write_file,
)
from engine.store.parquet import from_parquet, seal_of, to_parquet
from engine.store.run_tables import RunTables, decode

SPEC = "spec.json"
_FACTS = {"schema", "key", "settings", "provenance", "files"}


@dataclass(frozen=True)
class RunRecord:
    """What spec.json says of a finished run: its spec, how it was made, and the digest of every file of it."""

    spec: RunSpec
    provenance: dict[str, Any]
    files: dict[str, str]


class Study:
    """A folder of finished runs, the examples they were tested on, and work in progress."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    # -- what is there ------------------------------------------------------------------------------------------

    @cached_property
    def info(self) -> dict[str, Any]:
        """What study.toml says: title, description, provenance, the pages' defaults; empty without one."""
        file = self.path / "study.toml"
        try:
            return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PruneScopeError(f"{file} cannot be read: {error}.") from error

    def runs(self) -> list[str]:
        """Keys of the finished runs, sorted."""
        folder = self.path / "runs"
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()) if folder.is_dir() else []

    def has_run(self, key: str) -> bool:
        """Whether the run is finished."""
        return (self.path / "runs" / key / SPEC).exists()

    def record(self, key: str) -> RunRecord:
        """What the run's spec.json says, refused where it is not what was written."""
        name = f"runs/{key}/{SPEC}"
        content = self._bytes(name)
        try:
            values = json.loads(content)
            if values["schema"] != SCHEMA:
                raise PruneScopeError(f"{name} has schema version {values['schema']}; this engine reads {SCHEMA}.")
            seal = values.pop("sha256", None)  # the first engines wrote none
            if set(values) != _FACTS or (seal is not None and not checksum_ok(content, seal.encode())):
                raise PruneScopeError(f"{name} is damaged: its checksum differs from its content.")
            spec = spec_from_settings(values["settings"])
            if not spec.key == values["key"] == key:
                raise PruneScopeError(f"{name} is damaged: it holds the settings of run {spec.key}.")
            return RunRecord(spec, dict(values["provenance"]), dict(values["files"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PruneScopeError(f"{name} is damaged: {error!r}.") from error

    def run_file(self, key: str, name: str, record: RunRecord | None = None) -> bytes:
        """Content of one file of a run, refused where it is not what was written."""
        record = record or self.record(key)
        content = self._bytes(f"runs/{key}/{name}")
        if file_digest(content) != record.files.get(name):
            raise PruneScopeError(f"runs/{key}/{name} is damaged: its checksum differs from the one in {SPEC}.")
        return content

    def run_table(self, key: str, name: str, record: RunRecord | None = None) -> pd.DataFrame:
        """The `levels` or `classes` of one run."""
        return self.run_rows(key, name, record).to_pandas()

    def run_rows(self, key: str, name: str, record: RunRecord | None = None) -> pa.Table:
        """The `levels`, `classes` or packed `predictions` of one run as they are kept."""
        file = f"{name}.parquet"
        return from_parquet(self.run_file(key, file, record), f"runs/{key}/{file}")

    def runs_with(self, runs: Iterable[str], name: str) -> list[str]:
        """Those of the runs that have a table of this name, which only some have."""
        return [run for run in runs if (self.path / "runs" / run / f"{name}.parquet").exists()]

    def run_tables(self, models: pd.DataFrame, name: str) -> pd.DataFrame:
        """The tables of this name of all runs of `models` that have one, with the model's row beside; may be empty."""
        models = models.astype({"run": str})
        parts = [self.run_table(run, name).assign(run=run) for run in self.runs_with(models["run"].unique(), name)]
        return models.merge(pd.concat(parts, ignore_index=True), on=["run", "level"]) if parts else pd.DataFrame()

    def levels(self) -> pd.DataFrame:
        """One row per model of every finished run, controls aside: its identity, sparsity, accuracy, loss."""
        return catalog.refresh(self, "levels").levels

    def classes(self) -> pd.DataFrame:
        """One row per model and class of every finished run, controls aside: n, correct, predicted, loss."""
        return catalog.refresh(self, "classes").classes

    # -- examples -----------------------------------------------------------------------------------------------

    def example_sets(self) -> list[str]:
        """Names of the example tables, such as `qmnist-writers`."""
        names = (path.name.removesuffix(".parquet") for path in (self.path / "examples").glob("*.parquet"))
        return sorted(name for name in names if not name.endswith(".classes"))

    def examples(self, name: str) -> pd.DataFrame:
        """One row per test example of a set: label, groups, attributes. `examples_name` says a run's set."""
        return self._example_table(name, name)

    def class_facts(self, name: str) -> pd.DataFrame:
        """One row per class of a set: name, training and test counts, mean entropy of its training images."""
        return self._example_table(name, f"{name}.classes")

    def write_examples(self, name: str, examples: pd.DataFrame, classes: pd.DataFrame) -> None:
        """Keep the test examples and class facts of a data set; those that are there stay."""
        for file, table in ((f"{name}.classes", classes), (name, examples)):
            path = self.path / "examples" / f"{file}.parquet"
            if not path.exists():
                write_file(path, to_parquet(table, "examples", seal=True))

    def seal_examples(self) -> list[str]:
        """Files of examples that had no checksum, as the first engines wrote them, and have one now."""
        unsealed = [p for p in sorted((self.path / "examples").glob("*.parquet")) if not seal_of(p.read_bytes())]
        for path in unsealed:
            write_file(path, to_parquet(from_parquet(path.read_bytes(), path.name), "examples", seal=True))
        return [path.name for path in unsealed]

    def _example_table(self, name: str, table: str) -> pd.DataFrame:
        if name not in (names := self.example_sets()):
            raise PruneScopeError(f"No example table {name!r}; there is {', '.join(names) or 'none'}.")
        file = f"examples/{table}.parquet"
        return from_parquet(self._bytes(file), file).to_pandas()

    # -- predictions --------------------------------------------------------------------------------------------

    def prediction_matrix(self, key: str) -> tuple[np.ndarray, np.ndarray]:
        """Levels (L) and predictions (L x examples) of one run."""
        record = self.record(key)
        rows, labels, n_classes = self._packed(key, record, ["level", "offset"])
        matrix = np.stack([decode(offset, labels, n_classes) for offset in rows["offset"]])
        return np.asarray(rows["level"]), matrix

    def predictions(self, key: str) -> pd.DataFrame:
        """One row per level and example of one run: prediction, and probability and margin where they were kept."""
        record = self.record(key)
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

    def _packed(
        self, key: str, record: RunRecord, columns: list[str] | None
    ) -> tuple[dict[str, list[Any]], np.ndarray, int]:
        file = "predictions.parquet"
        rows = from_parquet(self.run_file(key, file, record), f"runs/{key}/{file}", columns).to_pydict()
        name = examples_name(record.spec)
        labels = self.examples(name)["label"].to_numpy()
        return rows, labels, len(self.class_facts(name))

    # -- writing runs -------------------------------------------------------------------------------------------

    def write_run(
        self, spec: RunSpec, tables: RunTables, provenance: Mapping[str, Any], extra: Mapping[str, bytes] | None = None
    ) -> bool:
        """Whether this became the run's result; a result that is there already stays.

        The whole folder is written aside, spec.json last, and renamed into place.
        """
        key = spec.key
        aside = temporary_beside(self.path / "work" / key)
        contents: dict[str, bytes] = {
            "levels.parquet": to_parquet(tables.levels, "levels"),
            "classes.parquet": to_parquet(tables.classes, "classes"),
            "predictions.parquet": to_parquet(tables.predictions, "predictions"),
            **(extra or {}),
        }
        try:
            files = {name: write_file(aside / name, content) for name, content in contents.items()}
            values = {
                "schema": SCHEMA,
                "key": key,
                "settings": settings(spec),
                "provenance": dict(provenance),
                "files": files,
                "sha256": PLACEHOLDER.decode(),
            }
            write_file(aside / SPEC, embed_checksum(json.dumps(values, indent=1).encode()))
            return publish(aside, self.path / "runs" / key)
        except BaseException:
            remove_folder(aside)
            raise

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

    def _bytes(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise PruneScopeError(f"{name} is missing in {self.path}.") from error
        except OSError as error:
            raise PruneScopeError(f"{name} cannot be read in {self.path}: {error.strerror}.") from error


def examples_name(spec: RunSpec) -> str:
    """Name of the example table that a run was tested on."""
    size = f"{spec.image_size}px" if spec.image_size else ""
    return "-".join(part for part in (spec.dataset, spec.split, spec.target, *spec.groups, size) if part)
