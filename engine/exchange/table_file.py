"""What lies in a user's file: its columns and, batch by batch, its rows. CSV and JSON lines, packed by gzip or not, and
Parquet; all else is refused."""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from engine.errors import PruneScopeError
from engine.exchange.cells import refused, shown
from engine.exchange.limits import LIMITS
from engine.exchange.mapping import ROLES
from engine.exchange.sources.every_eval_ever import instance_batches
from engine.exchange.sources.json_lines import json_batches, json_columns, open_binary
from engine.exchange.sources.lm_eval import sample_batches

MAGIC = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"PK\x05\x06": "an empty zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"ARROW1": "an Arrow file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"\x93NUMPY": "a numpy array",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"%PDF": "a PDF",
    b"SQLite format": "an SQLite database",
    b"RDX": "R's own format",
    b"\x7fELF": "a program",
    b"ORC": "an ORC file",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"<": "HTML or XML",
    b"[": "one JSON list; bring JSON lines, one object a line",
}
GZIP = b"\x1f\x8b"
PICKLES = tuple(bytes([128, version]) for version in range(1, 6))
DELIMITERS = ",;\t"
BATCH = 65_536


@dataclass(frozen=True)
class Table:
    """A user's table before it is understood: its kind, its columns, and how numbers are written in it."""

    path: Path
    kind: str
    names: tuple[str, ...]
    delimiter: str = ","
    decimal: str = "."
    n_lead: int = 0
    """Cells before the first named one in each row: R writes its row names under no header."""

    def batches(self, columns: list[str] | None = None) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Number of the first row, and the columns asked for, a few thousand rows at a time."""
        read = READERS[self.kind]
        first = 1
        for batch in read(self, list(self.names) if columns is None else columns):
            if first + batch.num_rows - 1 > LIMITS.rows:
                raise PruneScopeError(f"The file has more than {LIMITS.rows:,} rows; that is the most that is read.")
            if batch.num_rows:
                yield first, dict(zip(batch.schema.names, batch.columns, strict=True))
            first += batch.num_rows
        if first == 1:
            raise PruneScopeError("The file has a header but no rows.")


def open_table(path: Path) -> Table:
    """The table in a file, by what it holds, whatever it is called."""
    try:
        with open(path, "rb") as file:
            head = file.read(16)
            file.seek(0, io.SEEK_END)
            file.seek(max(0, file.tell() - 4))
            tail = file.read(4)
    except OSError as error:
        raise PruneScopeError(f"The file cannot be read: {error.strerror}.") from error
    if not head.strip():
        raise PruneScopeError("The file is empty.")
    if head.startswith(b"PAR1"):
        if tail != b"PAR1":
            raise PruneScopeError("The Parquet file is cut off: its end is missing.")
        return _open_parquet(path)
    if head.startswith(GZIP):
        head = _unpacked_head(path)
    if head.startswith(PICKLES):
        raise PruneScopeError("The file is a pickle, which may run programs; bring CSV or Parquet.")
    for magic, kind in MAGIC.items():
        if head.lstrip(b"\xef\xbb\xbf").startswith(magic):
            raise PruneScopeError(f"The file is {kind}, whatever its name says; bring CSV in UTF-8 or Parquet.")
    if head.lstrip(b"\xef\xbb\xbf").startswith(b"{"):
        return Table(path, "json", _checked(json_columns(path)))
    try:
        return _open_csv(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PruneScopeError(f"The file cannot be unpacked: {_first_line(error)}.") from error


def _unpacked_head(path: Path) -> bytes:
    try:
        with open_binary(path) as file:
            head = file.read(16)
    except (OSError, EOFError, zlib.error) as error:
        raise PruneScopeError(f"The file cannot be unpacked: {_first_line(error)}.") from error
    if not head.strip() or head.startswith((GZIP, b"PAR1")):
        raise PruneScopeError("The file unpacks to nothing that is a table; bring CSV or JSON lines.")
    return head


def _json_batches(table: Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    return json_batches(table.path, columns)


def _checked(names: list[str]) -> tuple[str, ...]:
    if len(names) > LIMITS.columns:
        raise PruneScopeError(f"The file has {len(names):,} columns; allowed are {LIMITS.columns:,}.")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise refused(name, None, "the name stands twice in the header.")
        if len(name) > LIMITS.letters or not name.isprintable():
            raise refused(name, None, f"the name is longer than {LIMITS.letters} letters or cannot be printed.")
        seen.add(name)
    return tuple(names)


# -- Parquet ----------------------------------------------------------------------------------------------------


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(
            path,
            thrift_string_size_limit=50_000_000,
            thrift_container_size_limit=5_000_000,
            page_checksum_verification=True,
        )
    except (pa.ArrowException, OSError, ValueError) as error:
        raise PruneScopeError(f"The Parquet file is damaged: {_first_line(error)}.") from error


def _open_parquet(path: Path) -> Table:
    with _parquet(path) as file:
        if file.metadata.num_rows > LIMITS.rows:
            raise PruneScopeError(f"The file says it has {file.metadata.num_rows:,} rows; allowed are {LIMITS.rows:,}.")
        if file.metadata.num_columns > LIMITS.columns:
            raise PruneScopeError(
                f"The file has {file.metadata.num_columns:,} columns; allowed are {LIMITS.columns:,}."
            )
        nested = {column.name: column.type for column in file.schema_arrow if pa.types.is_nested(column.type)}
        for name in ROLES.keys() & nested.keys():
            raise refused(name, None, f"it holds {nested[name]}, not one value a row.")
        left_out = {name for name in file.schema_arrow.names if name in nested or name.startswith("__index_level_")}
        names = [name for name in file.schema_arrow.names if name not in left_out]
        return Table(path, "parquet", _checked(names))


def _parquet_batches(table: Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    with _parquet(table.path) as file:
        try:
            yield from file.iter_batches(BATCH, columns=columns, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, MemoryError):
                raise
            raise PruneScopeError(f"The Parquet file is damaged: {_first_line(error)}.") from error


# -- CSV --------------------------------------------------------------------------------------------------------


def _open_csv(path: Path) -> Table:
    with open_binary(path) as file:
        raw = file.readline(LIMITS.row_bytes)
        second = file.readline(LIMITS.row_bytes)
    if len(raw) >= LIMITS.row_bytes:
        raise PruneScopeError(f"The header is longer than {LIMITS.row_bytes:,} bytes, more than any table needs.")
    _check_encoding(path)
    text = raw.decode("utf-8-sig")
    delimiter = max(DELIMITERS, key=text.count)
    names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
    if len(names) < 2:
        raise PruneScopeError(f"The header is {shown(text.strip())}; it should name columns, set apart by commas.")
    n_cells = len(next(csv.reader([second.decode("utf-8", "replace")], delimiter=delimiter), []))
    n_lead = 1 if n_cells == len(names) + 1 else 0
    decimal = "," if delimiter == ";" else "."
    return Table(path, "csv", _checked(names), delimiter, decimal, n_lead)


def _check_encoding(path: Path) -> None:
    """Refuse what is not UTF-8, with the row where it first is not."""
    decoder, row = codecs.getincrementaldecoder("utf-8")(), 0
    with open_binary(path) as file:
        while part := file.read(1 << 22):
            if b"\0" in part:
                where = row + part[: part.index(b"\0")].count(b"\n")
                raise PruneScopeError(f"Row {where:,} holds a zero byte: this is no CSV in UTF-8.")
            try:
                decoder.decode(part)
            except UnicodeDecodeError as error:
                where = row + part[: error.start].count(b"\n")
                raise PruneScopeError(
                    f"Row {where:,} is not UTF-8 (byte {error.object[error.start]:#04x}); save the file as CSV UTF-8."
                ) from None
            row += part.count(b"\n")
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise PruneScopeError(f"Row {row:,} is cut off in the middle of a letter.") from None


def _bytes_of(path: Path) -> pa.NativeFile:
    file = pa.OSFile(str(path))
    is_packed = file.read(2) == GZIP
    file.seek(0)
    return pa.CompressedInputStream(file, "gzip") if is_packed else file


def _csv_batches(table: Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    invalid_rows: list[tuple[int, int, int]] = []

    def keep_invalid(row: pacsv.InvalidRow) -> str:
        invalid_rows.append((row.number or 0, row.expected_columns, row.actual_columns))
        return "error"

    names = [*(f"__lead{number}" for number in range(table.n_lead)), *table.names]
    try:
        with pacsv.open_csv(
            _bytes_of(table.path),
            pacsv.ReadOptions(use_threads=False, block_size=LIMITS.row_bytes, column_names=names, skip_rows=1),
            pacsv.ParseOptions(delimiter=table.delimiter, invalid_row_handler=keep_invalid),
            pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), include_columns=columns, strings_can_be_null=False
            ),
        ) as reader:
            yield from reader
    except (pa.ArrowException, OSError, ValueError) as error:
        if invalid_rows:
            row, n_columns, n_cells = invalid_rows[0]
            raise PruneScopeError(
                f"Row {max(row - 1, 1):,} has {n_cells} cells; the header names {n_columns} columns."
            ) from error
        if "Empty CSV" in str(error):
            raise PruneScopeError("The file has a header but no rows.") from error
        if "straddling" in str(error):
            raise PruneScopeError(
                f"A row is longer than {LIMITS.row_bytes:,} bytes, or a quote is not closed."
            ) from error
        raise PruneScopeError(f"The CSV cannot be read: {_first_line(error)}.") from error


def _first_line(error: BaseException) -> str:
    return shown(str(error).splitlines()[0] if str(error) else type(error).__name__, 160)


READERS: dict[str, Callable[[Table, list[str]], Iterator[pa.RecordBatch]]] = {
    "csv": _csv_batches,
    "json": _json_batches,
    "parquet": _parquet_batches,
    "lm-eval": lambda table, columns: sample_batches(table.path, columns),
    "every-eval-ever": lambda table, columns: instance_batches(table.path, columns),
}
