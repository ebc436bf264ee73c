"""The way out: a study as one long table, one row per model and example, with a sidecar that says what rows cannot."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from engine.errors import PruneScopeError
from engine.exchange.cells import FORMULA
from engine.run_spec import IDENTITY, settings
from engine.store.files import temporary_beside, write_file
from engine.store.study import Study, examples_name

MODEL = ("level", "sparsity", "sparsity_asked", "validation_accuracy", "n_weights", "n_kept")


def export_study(study: Study, path: Path) -> tuple[int, Path]:
    """Number of rows written to the file, CSV or Parquet by its ending, and the sidecar beside it."""
    if path.suffix not in (".csv", ".parquet"):
        raise PruneScopeError(f"{path.name} should end in .csv or .parquet.")
    keys = study.runs()
    if not keys:
        raise PruneScopeError(f"No finished run in {study.path}; there is nothing to export.")
    records = {key: study.run_record(key) for key in keys}
    sets = list(dict.fromkeys(examples_name(record.spec) for record in records.values()))
    columns = list(dict.fromkeys(c for name in sets for c in _others(study, name)))
    scored = any("probability" in study.run_rows(key, "predictions").column_names for key in keys)
    temporary, n_rows = temporary_beside(path), 0
    try:
        temporary.parent.mkdir(parents=True, exist_ok=True)
        writer: Any = None
        for table in _tables(study, records, columns, scored):
            table = neutralised(table) if path.suffix == ".csv" else table
            if writer is None:
                make = pacsv.CSVWriter if path.suffix == ".csv" else pq.ParquetWriter
                writer = make(temporary, table.schema)
            writer.write_table(table)
            n_rows += table.num_rows
        writer.close()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    beside = path.with_name(f"{path.name}.json")
    write_file(beside, json.dumps(_sidecar(study, records, sets, columns), indent=1).encode())
    return n_rows, beside


def _others(study: Study, name: str) -> list[str]:
    return [c for c in study.examples(name) if c not in ("example", "label", "example_id")]


def _tables(study: Study, records: dict[str, Any], columns: list[str], scored: bool) -> Iterator[pa.Table]:
    for key, record in records.items():
        name = examples_name(record.spec)
        examples, classes = study.examples(name), study.class_facts(name)
        said, levels = study.predictions(key), study.run_table(key, "levels", record)
        loss = study.run_table(key, "classes", record).set_index(["level", "class"])["loss"]
        names = classes["name"].astype(str).to_numpy()
        label = np.tile(examples["label"].to_numpy(), len(levels))
        table: dict[str, Any] = {"run": key}
        table |= {item: getattr(record.spec, item) for item in IDENTITY if item != "schedule"}
        by_level = levels.set_index("level").reindex(said["level"])
        table["level"] = said["level"].to_numpy()
        table |= {item: pa.array(by_level[item].to_numpy(), from_pandas=True) for item in MODEL[1:4]}
        for item in MODEL[4:]:
            counts = by_level[item].astype("Float64").astype("Int64")
            table[item] = pa.array(counts, pa.int64(), from_pandas=True)
        ids = examples.get("example_id", examples["example"]).astype(str).to_numpy()
        table["example"] = np.tile(ids, len(levels))
        table["label"], table["prediction"] = names[label], names[said["prediction"].to_numpy()]
        if scored:
            for item in ("probability", "margin"):
                values = said[item].to_numpy(np.float32) if item in said else np.full(len(said), np.nan, np.float32)
                table[item] = pa.array(values, from_pandas=True)
        table["loss"] = pa.array(
            loss.reindex(list(zip(said["level"], label, strict=True))).to_numpy(), from_pandas=True
        )
        for column in columns:
            own = examples[column] if column in examples else pd.Series([None] * len(examples))
            table[column] = pa.array(np.tile(own.to_numpy(), len(levels)), from_pandas=True)
        n = len(said)
        yield pa.table({k: pa.array([v] * n) if np.isscalar(v) else v for k, v in table.items()})


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


def _sidecar(study: Study, records: dict[str, Any], sets: list[str], columns: list[str]) -> dict[str, Any]:
    facts = [study.class_facts(name) for name in sets]
    same = all(table["name"].tolist() == facts[0]["name"].tolist() for table in facts)
    kinds = pd.concat([study.examples(name)[_others(study, name)].iloc[:1] for name in sets])
    attributes = [c for c in columns if pd.api.types.is_float_dtype(kinds[c]) and c in kinds]
    return {
        "prunescope": 1,
        "title": str(study.info.get("title", "")),
        "groups": [c for c in columns if c not in attributes],
        "attributes": attributes,
        "classes": [
            {
                "name": str(row["name"]),
                "n_train": int(row["n_train"]),
                "entropy": None if pd.isna(row["entropy"]) else float(row["entropy"]),
            }
            for row in facts[0].to_dict("records")
        ]
        if same and len(facts) == 1
        else [],
        "runs": {key: settings(record.spec) for key, record in records.items()},
    }
