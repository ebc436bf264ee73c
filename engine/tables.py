"""Tables as Parquet bytes and back: with the schema's version inside, refused when it is another one."""

import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from engine.records import SCHEMA, PruneScopeError

_VERSION = b"prunescope-schema"


def to_parquet(table: pd.DataFrame | pa.Table, kind: str) -> bytes:
    """The table as a Parquet file that says which kind of table it is and in which version."""
    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({_VERSION: str(SCHEMA), b"prunescope-kind": kind})
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer, compression="zstd", compression_level=9, write_statistics=False, store_schema=True)
    return buffer.getvalue()


def from_parquet(content: bytes, name: str, columns: list[str] | None = None) -> pa.Table:
    """The table in these bytes; `name` is what an error calls them."""
    try:
        table = pq.read_table(io.BytesIO(content), columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise PruneScopeError(f"{name} is damaged: {error}.") from error
    version = (table.schema.metadata or {}).get(_VERSION, b"").decode()
    if version != str(SCHEMA):
        raise PruneScopeError(f"{name} has schema version {version or 'none'}; this engine reads version {SCHEMA}.")
    return table
