"""What the child does with a user's file: preview it, or stage it as a study."""

import math
from pathlib import Path

import pyarrow as pa

from engine import __version__
from engine.errors import PruneScopeError
from engine.exchange.assemble import stage_runs
from engine.exchange.cells import WHOLE, encoded
from engine.exchange.collect import Part, collect_examples
from engine.exchange.guess import fill_in_defaults
from engine.exchange.mapping import ColumnMapping, merge_mappings, validate_mapping
from engine.exchange.messages import Cell, FileToRead, Preview, PreviewRequest, Request, Staged, StageRequest
from engine.exchange.sidecar import read_sidecar
from engine.exchange.table_file import Table, open_table
from engine.store.files import synced_at_the_end
from engine.store.study import Study

N_SHOWN = 8
N_LOOKED = 5000
SIDECAR_BYTES = 50_000_000


def perform(request: Request) -> Preview | Staged:
    """The answer to a request."""
    return preview(request) if isinstance(request, PreviewRequest) else stage_file(request)


def preview(request: PreviewRequest) -> Preview:
    """Columns, the guessed mapping and the first rows of a file."""
    table, mapping, fractions = _open(request.file)
    _, columns = next(iter(table.batches()))
    n_rows = min(N_SHOWN, len(next(iter(columns.values()))))
    rows = ({name: _cell(values[row].as_py()) for name, values in columns.items()} for row in range(n_rows))
    return Preview(table.names, tuple(fractions), mapping, tuple(rows))


def stage_file(request: StageRequest) -> Staged:
    """Write the file's runs as a study into the folder of the request."""
    table, mapping, _ = _open(request.file)
    validate_mapping(mapping)
    source = {"engine": __version__, "imported": request.file.name, "sha256": request.sha256}
    parts = [Part(request.file.name, table, mapping)]
    with synced_at_the_end():
        return Staged(tuple(stage_runs(collect_examples(parts), mapping, Study(request.folder), source)))


def _open(file: FileToRead) -> tuple[Table, ColumnMapping, list[str]]:
    """The table, its mapping (what is given, completed by what names say), and its columns of fractions."""
    table, mapping = open_table(Path(file.path)), file.mapping
    if file.sidecar:
        mapping = merge_mappings(_read_sidecar(Path(file.sidecar)), mapping)
    fractions = fraction_columns(table)
    return table, fill_in_defaults(mapping, table.names, fractions), fractions


def _read_sidecar(path: Path) -> ColumnMapping:
    if path.stat().st_size > SIDECAR_BYTES:
        raise PruneScopeError(f"The sidecar is larger than {SIDECAR_BYTES // 1_000_000} MB.")
    return read_sidecar(path.read_bytes())


def fraction_columns(table: Table) -> list[str]:
    """Columns of numbers of which one, among the first rows, is not whole."""
    _, columns = next(iter(table.batches()))
    return [
        name for name, values in columns.items() if _holds_fractions(name, values.slice(0, N_LOOKED), table.decimal)
    ]


def _holds_fractions(name: str, values: pa.Array, decimal: str) -> bool:
    if not pa.types.is_string(values.type):
        return bool(pa.types.is_floating(values.type))
    try:
        _, texts = encoded(values, name, 1)
        plain = [text.replace(decimal, ".") for text in texts]
        return bool([float(text) for text in plain]) and not all(WHOLE.match(text) for text in plain)
    except (PruneScopeError, ValueError):
        return False


def _cell(value: object) -> Cell:
    """A cell as JSON can say it, which knows no infinite numbers."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and not math.isinf(value):
        return None if math.isnan(value) else value
    return str(value)[:200]
