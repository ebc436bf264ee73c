"""All runs in a few tables, of runs, levels and classes: brought up to date by what is new, read when asked for.

`catalog_tables` has the rows, `catalog_segments` the files.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import PruneScopeError
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import IDENTITY, IMPORTED, digest
from engine.store.catalog_segments import (
    Broken,
    Segment,
    has_catalog,
    merged_segments,
    new_segment,
    read_segments,
    save_segments,
)
from engine.store.catalog_tables import KINDS, WORDS, Part, Tables, repeated_runs
from engine.store.catalog_tables import empty_tables as empty_tables
from engine.store.catalog_tables import joined_tables as joined_tables
from engine.store.catalog_tables import merged_tables as merged_tables
from engine.store.catalog_tables import run_part as run_part
from engine.store.run_files import RunFiles

_damaged: dict[Path, dict[str, dict[str, str]]] = {}
"""Of each study, the runs that the catalog knew and that turned out to be damaged when they were read."""


@dataclass(frozen=True, eq=False)
class Catalog:
    """The tables of all finished runs; `broken` says of each run left out why it could not be read."""

    study: RunFiles
    segments: Sequence[Segment]
    broken: dict[str, str]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run: its identity, protocol, how it was made."""
        return self.table("runs").to_pandas().astype(dict.fromkeys(("run", *WORDS), "category"))

    @cached_property
    def is_control(self) -> NDArray[np.bool_]:
        """Which rows of `runs` are controls."""
        controls = [key for key, row in TECHNIQUES.items() if row.is_control]
        is_control: NDArray[np.bool_] = (
            self.runs["technique"].isin(controls) & (self.runs["schedule"] != IMPORTED)
        ).to_numpy()
        return is_control

    @cached_property
    def is_repeat(self) -> NDArray[np.bool_]:
        """Which rows of `runs` are a training that another row has, with more of it kept."""
        return repeated_runs(self.runs, self.study.run_record)

    @cached_property
    def n_levels(self) -> NDArray[np.int64]:
        """How many models each row of `runs` has."""
        return np.bincount(self.table("levels", ["row"])["row"].to_numpy(), minlength=len(self.runs))

    @cached_property
    def n_predictions(self) -> int:
        """How many test examples all models have answered together."""
        return int(self.table("classes", ["row", "n"])["n"].to_numpy().sum())

    @cached_property
    def levels(self) -> pd.DataFrame:
        """One row per model, those of controls aside."""
        return self.rows("levels")

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row per model and class, those of controls aside."""
        return self.rows("classes")

    @cached_property
    def control_levels(self) -> pd.DataFrame:
        """One row per model of a control."""
        return self.rows("levels", controls=True)

    @cached_property
    def control_classes(self) -> pd.DataFrame:
        """One row per model of a control and class."""
        return self.rows("classes", controls=True)

    def rows(self, kind: str, controls: bool = False, wanted: NDArray[np.bool_] | None = None) -> pd.DataFrame:
        """The `levels` or `classes` of pruned runs, or of controls, with what identifies the run beside.

        `wanted` says which rows of `runs` are asked for; of the others nothing stays in memory.
        """
        ours, identity = self._identities[controls]
        ours = ours if wanted is None else ours & wanted
        table = self.table(kind, wanted=None if ours.all() else ours)
        rows = identity.take(table["row"].to_numpy()).reset_index(drop=True)
        return pd.concat([rows, table.drop_columns("row").to_pandas()], axis=1)

    def table(self, kind: str, columns: list[str] | None = None, wanted: NDArray[np.bool_] | None = None) -> pa.Table:
        """The table of a kind, in the order of run keys; `columns` other than those of `runs` begin with `row`."""
        try:
            return self._read(kind, columns, wanted)
        except (OSError, ValueError, pa.ArrowException, PruneScopeError):
            return self._read_again(kind, columns, wanted)

    def _read(self, kind: str, columns: list[str] | None, wanted: NDArray[np.bool_] | None) -> pa.Table:
        pieces = []
        for segment, places in zip(self.segments, self._places, strict=True):
            n_before = 0
            for piece in segment.pieces(kind, columns):
                of = np.arange(n_before, n_before + len(piece)) if kind == "runs" else piece["row"].to_numpy()
                n_before, rows = n_before + len(piece), places[of]
                keep = (rows >= 0) if wanted is None else (rows >= 0) & wanted[rows]
                kept, rows = (piece, rows) if keep.all() else (piece.filter(keep), rows[keep])
                pieces.append((kept if kind == "runs" else kept.set_column(0, "row", pa.array(rows)), rows))
        schema = KINDS[kind] if columns is None else pa.schema([KINDS[kind].field(name) for name in columns])
        table = pa.concat_tables([schema.empty_table(), *(piece for piece, _ in pieces)])
        order = np.concatenate([np.empty(0, "int32"), *(rows for _, rows in pieces)])
        return table if (np.diff(order) >= 0).all() else table.take(np.argsort(order, kind="stable"))

    def _read_again(self, kind: str, columns: list[str] | None, wanted: NDArray[np.bool_] | None) -> pa.Table:
        """The same from the catalog as it is now, all of it checked: files had gone, or were damaged."""
        now = refresh(self.study, is_checked=True)
        keys = self._keys if wanted is None else self._keys[wanted]
        table = now._read(kind, columns, np.isin(now._keys, keys))
        if kind == "runs":
            return table
        place = np.searchsorted(self._keys, now._keys).astype("int32")
        return table.set_column(0, "row", pa.array(place[table["row"].to_numpy()]))

    @cached_property
    def _keys(self) -> NDArray[np.str_]:
        """Keys of the runs, in order."""
        return np.unique(np.array([key for segment in self.segments for key in segment.keys], str))

    @cached_property
    def _places(self) -> list[NDArray[np.int32]]:
        """Of each segment, which rows of `runs` its runs are; -1 where a newer segment has the run again."""
        places = [np.searchsorted(self._keys, np.array(segment.keys, str)).astype("int32") for segment in self.segments]
        if sum(map(len, places)) > len(self._keys):
            seen = np.zeros(len(self._keys), bool)
            for rows in reversed(places):
                newer, seen[rows] = seen[rows], True
                rows[newer] = -1
        return places

    @cached_property
    def _identities(self) -> dict[bool, tuple[NDArray[np.bool_], pd.DataFrame]]:
        """For pruned runs (False) and controls (True): which rows of `runs` they are, and what identifies them."""
        runs = self.runs[["run", *IDENTITY[:-1], "protocol", "seed"]]
        once = ~self.is_repeat
        if once.all() and not self.is_control.any():
            return {False: (once, runs), True: (~once, runs)}
        named = [name for name in runs if name != "seed"]
        return {
            controls: (
                wanted,
                runs.assign(**{name: runs[name].where(wanted).cat.remove_unused_categories() for name in named}),
            )
            for controls, wanted in ((False, ~self.is_control & once), (True, self.is_control & once))
        }


def refresh(study: RunFiles, is_checked: bool = False) -> Catalog:
    """The catalog of all finished runs; read are only those that it does not know, or that were broken and changed.

    What is new is added to the files of the catalog, the rest of which stays as it is. Where all of it is to be
    checked, rows that cannot be read are made anew from their runs.
    """
    with suppress(PruneScopeError, OSError):  # a study that cannot be written to; or somebody else was first
        study.take_incoming()
    kept = read_segments(study.path, is_checked)
    segments, broken = (list(kept.segments), kept.broken) if kept else ([], {})
    known = {key for segment in segments for key in segment.keys}
    damaged = _damaged.get(study.path.resolve(), {})
    broken = {key: found for key, found in sorted((broken | damaged).items()) if _is_as_found(study, key, found)}
    present = study.run_names() - (damaged.keys() & broken.keys())
    new = sorted(key for key in present - known - broken.keys() if (study.path / "runs" / key).is_dir())
    if not new and known <= present and (kept is None or kept.is_whole):
        return _catalog(study, segments, broken)
    added, failed = _read_segment(study, new)
    try:
        stay = [segment for old in segments if (segment := _without_gone(old, present)).keys]
        segments = merged_segments([*stay, *added])
    except (OSError, ValueError, pa.ArrowException, PruneScopeError):
        if is_checked:
            raise
        return refresh(study, is_checked=True)  # what was to be merged cannot be read
    try:
        segments = list(save_segments(study.path, segments, broken | failed))
    except PruneScopeError:
        pass  # a study that cannot be written to is read all the same
    return _catalog(study, segments, broken | failed)


def leave_out(study: RunFiles, key: str, reason: str) -> None:
    """Have `refresh` in this process leave out a run that turned out to be damaged, until its files change."""
    _damaged.setdefault(study.path.resolve(), {})[key] = {"stamp": _stamp(study, key), "reason": reason}


def n_left_out(path: Path) -> int:
    """How many runs of the study at this path turned out to be damaged since this process began."""
    return len(_damaged.get(path.resolve(), {}))


def take_in(study: RunFiles, keys: Sequence[str]) -> None:
    """Add these new runs to the catalog on disk without a look at the others, however many there are.

    One that it has already is replaced. Where two do so at once, one addition may be lost: `refresh` makes up for it.
    """
    kept = read_segments(study.path, is_listed=True)
    if kept is None:
        refresh(study)
        return
    added, failed = _read_segment(study, keys)
    broken = {key: kept.broken[key] for key in kept.broken if key not in keys} | failed
    try:
        save_segments(study.path, merged_segments([*kept.segments, *added]), broken)
    except (OSError, ValueError, pa.ArrowException, PruneScopeError):
        pass  # no room, or a segment is damaged: who reads the catalog makes it anew


def save_tables(study: RunFiles, tables: Tables, broken: Broken) -> None:
    """Make these tables the study's catalog; `broken` says of each run left out its stamp and the reason."""
    save_segments(study.path, [new_segment(study.path, tables)], broken)


def describe_mismatch(study: RunFiles, parts: Sequence[Part]) -> str:
    """How the catalog on disk differs from these whole runs, in words; empty where it does not or there is none."""
    if not has_catalog(study.path):
        return ""
    kept = read_segments(study.path, is_checked=True)
    if kept is None or not kept.is_whole:
        return "It is damaged."
    loaded = Catalog(study, kept.segments, {})
    known, whole = set(loaded._keys.tolist()), {part.run["run"] for part in parts}
    ours = merged_tables({kind: loaded.table(kind) for kind in KINDS}, whole, empty_tables())
    fresh = merged_tables(empty_tables(), set(), joined_tables([part for part in parts if part.run["run"] in known]))
    unlike = [kind for kind in KINDS if not ours[kind].to_pandas().equals(fresh[kind].to_pandas())]
    return f"Its {' and '.join(unlike)} differ from those of the runs." if unlike else ""


def _catalog(study: RunFiles, segments: Sequence[Segment], broken: Broken) -> Catalog:
    return Catalog(study, tuple(segments), {key: found["reason"] for key, found in broken.items()})


def _without_gone(segment: Segment, present: set[str]) -> Segment:
    """The segment without the runs that the study no longer has."""
    if present.issuperset(segment.keys):
        return segment
    return replace(segment, files={}, tables=merged_tables(segment.loaded(), present, empty_tables()))


def _read_segment(study: RunFiles, keys: Sequence[str]) -> tuple[list[Segment], dict[str, dict[str, str]]]:
    """The segment of these runs, none where none can be read, and those that cannot."""
    parts, broken = _read_runs(study, keys)
    tables = merged_tables(empty_tables(), set(), joined_tables(parts))
    return [new_segment(study.path, tables)] if parts else [], broken


def _read_runs(study: RunFiles, keys: Sequence[str]) -> tuple[list[Part], dict[str, dict[str, str]]]:
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


def _is_as_found(study: RunFiles, key: str, found: Mapping[str, str]) -> bool:
    """Whether a run that could not be read is still there and has not changed since."""
    return (study.path / "runs" / key).is_dir() and found["stamp"] == _stamp(study, key)


def _stamp(study: RunFiles, key: str) -> str:
    """Letters that change with the files of a run; a broken run is looked at again once they do."""
    try:
        with os.scandir(study.path / "runs" / key) as entries:
            return digest({e.name: [(s := e.stat()).st_size, s.st_mtime_ns, s.st_ctime_ns] for e in entries})
    except OSError:
        return ""
