"""The way out: a study as one long table, one row per model and example, with a sidecar that says what rows cannot."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from engine.errors import PruneScopeError
from engine.exchange.cells import FORMULA
from engine.exchange.mapping import ClassFacts, class_facts_of
from engine.run_spec import IDENTITY, settings
from engine.store.files import temporary_beside, write_file
from engine.store.run_files import RunRecord
from engine.store.study import Study, examples_name

MODEL = ("level", "sparsity", "sparsity_asked", "validation_accuracy", "n_weights", "n_kept")


class Sidecar(msgspec.Struct, frozen=True, kw_only=True):
    """The file beside an export, in the order in which it is written; `sidecar.mapping_from_json` reads it."""

    prunescope: int = 1
    title: str
    groups: tuple[str, ...]
    attributes: tuple[str, ...]
    classes: tuple[ClassFacts, ...]
    runs: dict[str, dict[str, Any]]
    """Settings that differ from their defaults."""


def export_study(study: Study, path: Path) -> tuple[int, Path]:
    """Number of rows written to the file, CSV or Parquet by its ending, and the sidecar beside it."""
    if path.suffix not in (".csv", ".parquet"):
        raise PruneScopeError(f"{path.name} should end in .csv or .parquet.")
    keys = study.runs()
    if not keys:
        raise PruneScopeError(f"No finished run in {study.path}; there is nothing to export.")
    records = {key: study.run_record(key) for key in keys}
    sets = list(dict.fromkeys(examples_name(record.spec) for record in records.values()))
    columns = list(dict.fromkeys(c for name in sets for c in _extra_columns(study, name)))
    scored = any("probability" in study.run_rows(key, "predictions").column_names for key in keys)
    tables = (_run_table(study, key, record, columns, scored) for key, record in records.items())
    n_rows = _write_tables(tables, path)
    sidecar = path.with_name(f"{path.name}.json")
    content = msgspec.to_builtins(_sidecar(study, records, sets, columns))
    write_file(sidecar, json.dumps(content, indent=1).encode())
    return n_rows, sidecar


def _write_tables(tables: Iterator[pa.Table], path: Path) -> int:
    """Number of rows; the file is written aside and renamed, so that it is whole or not there."""
    temporary, n_rows = temporary_beside(path), 0
    make = pacsv.CSVWriter if path.suffix == ".csv" else pq.ParquetWriter
    try:
        temporary.parent.mkdir(parents=True, exist_ok=True)
        writer: Any = None
        for table in tables:
            table = neutralised(table) if path.suffix == ".csv" else table
            writer = make(temporary, table.schema) if writer is None else writer
            writer.write_table(table)
            n_rows += table.num_rows
        writer.close()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return n_rows


def _extra_columns(study: Study, name: str) -> list[str]:
    """Columns of the examples that are groups or attributes."""
    return [c for c in study.examples(name) if c not in ("example", "label", "example_id")]


def _run_table(study: Study, key: str, record: RunRecord, columns: list[str], scored: bool) -> pa.Table:
    """One row per model and example of a run."""
    name = examples_name(record.spec)
    examples, classes = study.examples(name), study.class_facts(name)
    predictions, levels = study.predictions(key), study.run_table(key, "levels", record)
    loss = study.run_table(key, "classes", record).set_index(["level", "class"])["loss"]
    names = classes["name"].astype(str).to_numpy()
    label = np.tile(examples["label"].to_numpy(), len(levels))
    n_rows = len(predictions)
    cells: dict[str, Any] = {"run": key}
    cells |= {item: getattr(record.spec, item) for item in IDENTITY if item != "schedule"}
    by_level = levels.set_index("level").reindex(predictions["level"])
    cells["level"] = predictions["level"].to_numpy()
    cells |= {item: pa.array(by_level[item].to_numpy(), from_pandas=True) for item in MODEL[1:4]}
    for item in MODEL[4:]:
        counts = by_level[item].astype("Float64").astype("Int64")
        cells[item] = pa.array(counts, pa.int64(), from_pandas=True)
    ids = examples.get("example_id", examples["example"]).astype(str).to_numpy()
    cells["example"] = np.tile(ids, len(levels))
    cells["label"], cells["prediction"] = names[label], names[predictions["prediction"].to_numpy()]
    if scored:
        blank = pd.Series(np.full(n_rows, np.nan, np.float32))
        for item in ("probability", "margin"):
            cells[item] = pa.array(predictions.get(item, blank).to_numpy(np.float32), from_pandas=True)
    level_and_class = list(zip(predictions["level"], label, strict=True))
    cells["loss"] = pa.array(loss.reindex(level_and_class).to_numpy(), from_pandas=True)
    for column in columns:
        values = examples[column] if column in examples else pd.Series([None] * len(examples))
        cells[column] = pa.array(np.tile(values.to_numpy(), len(levels)), from_pandas=True)
    return pa.table({k: pa.array([v] * n_rows) if np.isscalar(v) else v for k, v in cells.items()})


def neutralised(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before text that a spreadsheet would read as a formula."""
    for number, column in enumerate(table.schema):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            coded = table[column.name].combine_chunks().dictionary_encode()
            texts = [_safe(text) for text in coded.dictionary.to_pylist()]
            safe = pa.DictionaryArray.from_arrays(coded.indices, pa.array(texts, pa.string())).cast(pa.string())
            table = table.set_column(number, column.name, safe)
    return table


def _safe(text: str | None) -> str | None:
    return f"'{text}" if text and text[0] in (*FORMULA, "\t", "\r") and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sidecar(study: Study, records: Mapping[str, RunRecord], sets: list[str], columns: list[str]) -> Sidecar:
    """What rows cannot say; classes only where all examples are of one set, since an import reads one list."""
    kinds = pd.concat([study.examples(name)[_extra_columns(study, name)].iloc[:1] for name in sets])
    attributes = tuple(c for c in columns if pd.api.types.is_float_dtype(kinds[c]))
    return Sidecar(
        title=str(study.info.get("title", "")),
        groups=tuple(c for c in columns if c not in attributes),
        attributes=attributes,
        classes=class_facts_of(study.class_facts(sets[0])) if len(sets) == 1 else (),
        runs={key: settings(record.spec) for key, record in records.items()},
    )
