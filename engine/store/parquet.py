"""Tables as Parquet bytes and back: with the schema's version inside, refused when it is another one."""

import re
from collections.abc import Iterator, Mapping

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import PruneScopeError
from engine.run_spec import SCHEMA
from engine.store.files import PLACEHOLDER, checksum_ok, embed_checksum

_VERSION, _KIND, _SEAL = b"prunescope-schema", b"prunescope-kind", b"prunescope-sha256"
_DATA = b"prunescope-data"
"""Of a table of examples: the digest of the data set that they are of."""
_SMALL = 1_000_000
_TINY = 4_096
"""Bytes of a table below which packing saves next to nothing and takes three times as long as all else."""
PACKED = {"compression": "zstd", "compression_level": 9, "write_statistics": False}
PLAIN = {"compression": "none", "use_dictionary": False, "write_statistics": False}
_SEALED = re.compile(_SEAL + rb"..?([0-9a-f]{64})", re.DOTALL)


def to_parquet(table: pd.DataFrame | pa.Table, kind: str, seal: bool = False, data: str = "") -> bytes:
    """The table as a Parquet file that says its kind and version and, if it is to have a seal, its own digest.

    `data` is the digest of the data set that it is of, where that is known.
    """
    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({_VERSION: str(SCHEMA), _KIND: kind} | ({_DATA: data} if data else {}))
    sink = pa.BufferOutputStream()
    options = PLAIN if arrow.nbytes < _TINY and not seal else PACKED
    with pq.ParquetWriter(sink, arrow.schema, **options) as writer:
        writer.write_table(arrow)
        if seal:
            writer.add_key_value_metadata({_SEAL: PLACEHOLDER})
    content: bytes = sink.getvalue().to_pybytes()
    return embed_checksum(content) if seal else content


def from_parquet(content: bytes, name: str, columns: list[str] | None = None, kind: str = "") -> pa.Table:
    """The table in these bytes; `name` is what an error calls them. A file with a seal must be what was sealed.

    `kind` is what it should say of itself; the first engines wrote only the first word of that.
    """
    seal = seal_of(content)
    if seal and not checksum_ok(content, seal):
        raise PruneScopeError(f"{name} is damaged: its checksum differs from its content.")
    if kind and (said := _facts_of(content, name).get(_KIND, b"").decode(errors="replace")) not in (
        kind,
        kind.split()[0],
    ):
        raise PruneScopeError(f"{name} is damaged: it was written as {said}, not as {kind}.")
    pieces = list(parquet_pieces(content, name, columns, is_sealed=seal is not None))
    return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)


def parquet_pieces(
    content: bytes, name: str, columns: list[str] | None = None, is_sealed: bool = False
) -> Iterator[pa.Table]:
    """The table in these bytes, some rows at a time, so that a large one need never be there as a whole."""
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            _check_facts(file.metadata.metadata or {}, name, is_sealed)
            for number in range(file.num_row_groups):
                yield file.read_row_group(number, columns=columns, use_threads=len(content) > _SMALL)
            if not file.num_row_groups:
                yield file.read(columns=columns)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise PruneScopeError(f"{name} is damaged: {error}.") from error


def _check_facts(facts: Mapping[bytes, bytes], name: str, is_sealed: bool) -> None:
    version = facts.get(_VERSION, b"").decode(errors="replace")
    if version != str(SCHEMA):
        raise PruneScopeError(f"{name} has schema version {version or 'none'}; this engine reads version {SCHEMA}.")
    unknown = set(facts) - {_VERSION, _KIND, _DATA, b"ARROW:schema", *((_SEAL,) if is_sealed else ())}
    if unknown:
        raise PruneScopeError(f"{name} is damaged: it says {sorted(unknown)[0]!r} of itself, which no engine writes.")


def _facts_of(content: bytes, name: str) -> dict[bytes, bytes]:
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            return dict(file.metadata.metadata or {})
    except (pa.ArrowException, OSError, ValueError) as error:
        raise PruneScopeError(f"{name} is damaged: {error}.") from error


def data_of(content: bytes) -> str:
    """The digest of the data set that a table of examples is of; empty where an older engine wrote it."""
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        return str((file.metadata.metadata or {}).get(_DATA, b""), "ascii")


def seal_of(content: bytes) -> bytes | None:
    """The digest that a Parquet file bears; None where it was written without."""
    found = _SEALED.search(content)
    return found[1] if found else None
