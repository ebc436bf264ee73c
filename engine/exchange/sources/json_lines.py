"""Rows of JSON, one object a line, as batches of text columns; numbers keep their spelling.

A table that is one object with `columns` and `data`, as MLflow and Weights & Biases keep theirs, is read as its rows.
"""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.exchange.cells import refused, shown
from engine.exchange.limits import LIMITS

N_LOOKED = 1000
BATCH = 65_536
WHOLE_BYTES = 1 << 28
"""Most that is read of a table that is one object: it is in memory as a whole."""
_decoder = msgspec.json.Decoder(dict[str, object])
_WHOLE = re.compile(rb'\s*\{\s*"(columns"\s*:\s*\[|_type"\s*:\s*"table")')


class WholeTable(msgspec.Struct):
    """A table that is one object: names of columns, and rows as lists of cells."""

    columns: list[str | int]
    data: list[list[object]]


def open_binary(path: Path) -> BinaryIO:
    """The file's bytes, unpacked where they are packed by gzip."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path, "rb") if is_packed else open(path, "rb"))


def _rows_of_whole(content: bytes) -> Iterator[dict[str, object]]:
    if len(content) > WHOLE_BYTES:
        raise PruneScopeError(
            f"The table is one JSON object of more than {WHOLE_BYTES:,} bytes; bring it as CSV or Parquet."
        )
    table = msgspec.json.decode(content, type=WholeTable)
    names = [str(name) for name in table.columns]
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), ""):
        raise refused(twice, None, "the name stands twice in the header.")
    for row, cells in enumerate(table.data, 1):
        if len(cells) != len(names):
            raise PruneScopeError(f"Row {row:,} has {len(cells)} cells; the table names {len(names)} columns.")
        yield dict(zip(names, cells, strict=True))


def json_objects(path: Path) -> Iterator[dict[str, object]]:
    """Every object of the file, in order; a line that holds none is refused by its number."""
    row = 0
    with open_binary(path) as file:
        try:
            if _WHOLE.match(cast(io.BufferedReader, file).peek(200)[:200]):
                yield from _rows_of_whole(file.read(WHOLE_BYTES + 1))
                return
            while line := file.readline(LIMITS.row_bytes + 1):
                row += 1
                if len(line) > LIMITS.row_bytes:
                    raise PruneScopeError(f"Row {row:,} is longer than {LIMITS.row_bytes:,} bytes.")
                if line.strip():
                    yield _decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if not row:
                raise PruneScopeError(f"The table of columns and data cannot be read: {shown(error, 120)}.") from None
            raise PruneScopeError(f"Row {row:,} is no JSON object in UTF-8: {shown(error, 120)}.") from None
        except (EOFError, OSError, zlib.error) as error:
            raise PruneScopeError(f"Row {row + 1:,} cannot be read: {shown(error, 120)}.") from None


def json_columns(path: Path) -> list[str]:
    """Names of the plain fields of the first rows, in the order in which they come."""
    names: dict[str, None] = {}
    for number, values in enumerate(json_objects(path)):
        names |= dict.fromkeys(name for name, value in values.items() if not isinstance(value, dict | list))
        if number >= N_LOOKED:
            break
    return list(names)


def json_batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The fields asked for, a few thousand rows at a time; a field that a row lacks is an empty cell."""
    rows: list[dict[str, object]] = []
    for values in json_objects(path):
        rows.append(values)
        if len(rows) == BATCH:
            yield _batch(rows, columns)
            rows = []
    if rows:
        yield _batch(rows, columns)


def _batch(rows: list[dict[str, object]], columns: list[str]) -> pa.RecordBatch:
    cells = {name: pa.array([_text(row.get(name)) for row in rows], pa.string()) for name in columns}
    return pa.RecordBatch.from_pydict(cells)


def _text(value: object) -> str | None:
    """A value as a cell of text; what holds several is no cell."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()[: LIMITS.letters + 1]
    return repr(value)
