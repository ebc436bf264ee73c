"""The finished runs of a study: one folder each, written aside and renamed into place, checked whenever it is read."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.plain_names import PLAIN_NAME
from engine.run_spec import SCHEMA, RunSpec, settings, spec_from_settings
from engine.store.files import (
    PLACEHOLDER,
    checksum_ok,
    embed_checksum,
    file_digest,
    is_staging,
    publish,
    remove_folder,
    temporary_beside,
    write_file,
)
from engine.store.parquet import from_parquet, to_parquet
from engine.store.run_tables import RunColumns, RunTables

SPEC, INCOMING, REPLACED = "spec.json", "incoming", "replaced.json"
_FACTS = {"schema", "key", "settings", "provenance", "files"}


@dataclass(frozen=True)
class RunRecord:
    """What spec.json says of a finished run: its spec, how it was made, and the digest of every file of it."""

    spec: RunSpec
    provenance: dict[str, Any]
    files: dict[str, str]


class RunFiles:
    """The folder `runs` of a study."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def runs(self) -> list[str]:
        """Keys of the finished runs, sorted."""
        folder = self.path / "runs"
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()) if folder.is_dir() else []

    def run_names(self) -> set[str]:
        """Names of all that lies in the folder of runs; quicker than `runs` where there are many."""
        try:
            return set(os.listdir(self.path / "runs"))
        except (FileNotFoundError, NotADirectoryError):
            return set()

    def has_run(self, key: str) -> bool:
        """Whether the run is finished."""
        return (self.path / "runs" / key / SPEC).exists()

    def run_record(self, key: str) -> RunRecord:
        """What the run's spec.json says, refused where it is not what was written."""
        name = f"runs/{key}/{SPEC}"
        content = self.read_bytes(name)
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
        record = record or self.run_record(key)
        content = self.read_bytes(f"runs/{key}/{name}")
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

    def write_run(
        self,
        spec: RunSpec,
        tables: RunTables | RunColumns,
        provenance: Mapping[str, Any],
        extra: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Whether this became the run's result; a result that is there already stays.

        The whole folder is written aside, spec.json last, and renamed into place; what is `staged` lies aside already.
        """
        key = spec.key
        final = self.path / "runs" / key
        aside = final if is_staging() else temporary_beside(self.path / "work" / key)
        kinds = tables.tables
        contents = {f"{kind}.parquet": to_parquet(kinds[kind], kind) for kind in ("levels", "classes", "predictions")}
        contents |= extra or {}
        try:
            files = {name: write_file(aside / name, content) for name, content in contents.items()}
            write_file(aside / SPEC, spec_file(RunRecord(spec, dict(provenance), files)))
            return aside == final or publish(aside, final)
        except BaseException:
            remove_folder(aside)
            raise

    def take_incoming(self) -> None:
        """Put in place what was handed over as a whole, in a folder of `incoming`, and is not all in its place yet.

        Whoever handed it over does so at once; where that process was killed, the next who opens the study does.
        """
        waiting = self.path / INCOMING
        for folder in sorted(waiting.glob("[!.]*")) if waiting.is_dir() else ():
            tables = sorted((folder / "examples").glob("*.parquet"), key=lambda path: ".classes" not in path.name)
            for path in (*tables, folder / "study.toml"):  # a set of examples is there once its classes are
                final = self.path / path.relative_to(folder)
                if path.exists() and not final.exists():
                    publish(path, final)
            for key in self._replaced_by(folder):  # out of the way, by a rename, before the new one is put in place
                if (self.path / "runs" / key).is_dir() and not (folder / "old" / key).exists():
                    publish(self.path / "runs" / key, folder / "old" / key)
            for path in sorted((folder / "runs").glob("*")):
                publish(path, self.path / "runs" / path.name)
            remove_folder(folder)
        if waiting.is_dir():
            remove_folder(waiting)

    @staticmethod
    def _replaced_by(folder: Path) -> list[str]:
        """Runs that what was handed over takes the place of, each of them once."""
        try:
            return [str(key) for key in json.loads((folder / REPLACED).read_bytes()) if PLAIN_NAME.match(str(key))]
        except (OSError, ValueError):
            return []

    def read_bytes(self, name: str) -> bytes:
        """Content of a file of the study by its path in it, or a refusal that says what is wrong."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise PruneScopeError(f"{name} is missing in {self.path}.") from error
        except OSError as error:
            raise PruneScopeError(f"{name} cannot be read in {self.path}: {error.strerror}.") from error


def spec_file(record: RunRecord) -> bytes:
    """Content of a run's spec.json."""
    values = {
        "schema": SCHEMA,
        "key": record.spec.key,
        "settings": settings(record.spec),
        "provenance": record.provenance,
        "files": record.files,
        "sha256": PLACEHOLDER.decode(),
    }
    return embed_checksum(_indented(values))


def _indented(values: dict[str, Any]) -> bytes:
    """The values as JSON for readers, made much quicker than by `json` alone, of which it is every byte."""
    try:
        return msgspec.json.format(json.dumps(values, allow_nan=False).encode(), indent=1)
    except ValueError:  # a number that JSON has no word for
        return json.dumps(values, indent=1).encode()


def checkpoint_name(level: int) -> str:
    """File of the weights of a level, among those of its run."""
    return f"checkpoints/level-{level:03d}.safetensors"
