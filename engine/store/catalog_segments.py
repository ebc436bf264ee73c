"""The files of a catalog: segments of some runs each, which an index names.

A new run adds a segment and touches no other; once there are many, the small ones become one. Files are named by their
content and written before the index, so a reader sees the catalog before a change or after it, never between.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine import __version__
from engine.errors import PruneScopeError
from engine.store.catalog_tables import KINDS, Tables, empty_tables, merged_tables
from engine.store.files import PLACEHOLDER, checksum_ok, embed_checksum, file_digest, write_file
from engine.store.parquet import parquet_pieces, to_parquet

FOLDER, INDEX = "catalog", "index.json"
MOST_SEGMENTS = 16
"""How many segments there are before the small ones become one."""

UNUSED_SECONDS = 60.0
"""How long a file that the index no longer names stays, for those who are about to read it."""

Broken = Mapping[str, Mapping[str, str]]
"""Of each run that could not be read: its stamp and the reason."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Some runs of the catalog: the file of each kind of table, or the tables themselves where no file holds them."""

    folder: Path
    files: Mapping[str, str]
    tables: Tables | None = None

    @cached_property
    def keys(self) -> list[str]:
        """Keys of its runs in the order of its rows."""
        return [key for piece in self.pieces("runs", ["run"]) for key in piece["run"].to_pylist()]

    def pieces(self, kind: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """The table of a kind, some rows at a time; a PruneScopeError or OSError where its file is not what it was."""
        schema = KINDS[kind] if columns is None else pa.schema([KINDS[kind].field(name) for name in columns])
        if self.tables is not None:
            yield self.tables[kind].select(schema.names)
            return
        name = self.files[kind]
        content = (self.folder / name).read_bytes()
        if name != _file_name(kind, content):
            raise PruneScopeError(f"{name} is damaged: its checksum differs from its name.")
        for piece in parquet_pieces(content, name, columns):
            yield piece.select(schema.names).cast(schema)

    def table(self, kind: str) -> pa.Table:
        """The whole table of a kind."""
        return pa.concat_tables([KINDS[kind].empty_table(), *self.pieces(kind)])

    def loaded(self) -> Tables:
        """Its tables."""
        return self.tables or {kind: self.table(kind) for kind in KINDS}


@dataclass(frozen=True)
class Kept:
    """What an index names: its segments, the runs that it leaves out, and whether all segments could be read."""

    segments: tuple[Segment, ...]
    broken: dict[str, dict[str, str]]
    is_whole: bool = True


def read_segments(study: Path, is_checked: bool = False, is_listed: bool = False) -> Kept | None:
    """The catalog on disk; None where there is none that this engine reads. Segments that cannot be read are left out.

    Of each segment the runs are read now and the rest when it is asked for, unless all of it is to be checked, or they
    are only to be listed.
    """
    kept = None
    for _ in range(3):  # the index may change while the files that it named are read
        index = _index(study / FOLDER)
        if index is None:
            return None
        named = [Segment(study / FOLDER, files) for files in ({k: index[k] for k in KINDS}, *index.get("segments", ()))]
        good = tuple(segment for segment in named if is_listed or _is_readable(segment, is_checked))
        kept = Kept(good, dict(index["broken"]), len(good) == len(named))
        if kept.is_whole:
            break
    return kept


def has_catalog(study: Path) -> bool:
    """Whether there is an index, whatever it says."""
    return (study / FOLDER / INDEX).exists()


def new_segment(study: Path, tables: Tables) -> Segment:
    """A segment of these tables, which no file holds yet."""
    return Segment(study / FOLDER, {}, tables)


def merged_segments(segments: Sequence[Segment]) -> list[Segment]:
    """The same runs in fewer segments where there are many; those at the front, which are large, stay as they are."""
    if len(segments) <= MOST_SEGMENTS:
        return list(segments)
    start = first_to_merge([len(segment.keys) for segment in segments])
    tables = empty_tables()
    for segment in segments[start:]:
        older = set(tables["runs"]["run"].to_pylist()) - set(segment.keys)
        tables = merged_tables(tables, older, segment.loaded())
    return [*segments[:start], Segment(segments[0].folder, {}, tables)]


def first_to_merge(sizes: Sequence[int]) -> int:
    """Number of the first of the segments that become one, of two or more.

    A segment joins those behind it unless it is more than twice as large as they are together: so each row is written
    again only as often as its segment grows by half, and the largest segment hardly ever.
    """
    start = len(sizes) - 2
    while start and sizes[start - 1] <= 2 * sum(sizes[start:]):
        start -= 1
    return start


def save_segments(study: Path, segments: Sequence[Segment], broken: Broken) -> tuple[Segment, ...]:
    """Make these segments the study's catalog; they come back with the files that hold them now."""
    folder = study / FOLDER
    saved = tuple(map(_written, segments or [new_segment(study, empty_tables())]))
    index: dict[str, Any] = {"engine": __version__, "broken": broken, "sha256": PLACEHOLDER.decode(), **saved[0].files}
    if len(saved) > 1:
        index["segments"] = [segment.files for segment in saved[1:]]
    before = _named(_index(folder))
    write_file(folder / INDEX, embed_checksum(json.dumps(index).encode()))
    _remove_unused(folder, _named(index), before)
    return saved


def _written(segment: Segment) -> Segment:
    if segment.tables is None:
        return segment
    files = {}
    for kind, table in segment.tables.items():
        content = to_parquet(table, kind)
        files[kind] = _file_name(kind, content)
        write_file(segment.folder / files[kind], content)
    return Segment(segment.folder, files)


def _index(folder: Path) -> dict[str, Any] | None:
    try:
        content = (folder / INDEX).read_bytes()
        index: dict[str, Any] = json.loads(content)
        is_ours = index["engine"] == __version__ and checksum_ok(content, index["sha256"].encode())
        is_index = index.keys() >= {"broken", *KINDS}  # and not another sealed file in its place
        return index if is_ours and is_index else None  # another engine's or damaged: it is made anew from the runs
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _named(index: Mapping[str, Any] | None) -> set[str]:
    """The files that an index names."""
    each = [index, *index.get("segments", ())] if index else []
    return {files[kind] for files in each for kind in KINDS}


def _is_readable(segment: Segment, all_of_it: bool) -> bool:
    """Whether the runs of a segment can be read, or all of it; the keys of its runs are kept."""
    try:
        segment.keys  # noqa: B018
        if all_of_it:
            segment.loaded()
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException, PruneScopeError):
        return False
    return True


def _remove_unused(folder: Path, named: set[str], before: set[str]) -> None:
    """Remove the files that no index has named for a while; those of the last one begin to wait now."""
    for path in folder.glob("*.parquet"):
        try:
            if path.name in before - named:
                os.utime(path)
            if path.name not in named and time.time() - path.stat().st_mtime > UNUSED_SECONDS:
                path.unlink(missing_ok=True)
        except OSError:
            pass  # somebody else was first


def _file_name(kind: str, content: bytes) -> str:
    return f"{kind}-{file_digest(content)[:12]}.parquet"
