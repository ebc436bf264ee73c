"""What the child does with a user's file: preview it, or stage it as a study."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from engine import __version__
from engine.errors import PruneScopeError
from engine.exchange.assemble import stage
from engine.exchange.cells import WHOLE, encoded
from engine.exchange.collect import gather
from engine.exchange.mapping import ColumnMapping, fill_in_defaults, mapping_from_json, read_sidecar, validate_mapping
from engine.exchange.table_file import Table, open_table
from engine.store.study import Study

N_SHOWN = 8
N_LOOKED = 5000
SIDECAR_BYTES = 50_000_000


def read_with_mapping(path: Path, mapping: object, sidecar: Path | None) -> tuple[Table, ColumnMapping]:
    """The table and the plan to read it by: what is given, completed by what names say."""
    table = open_table(path)
    plan = mapping_from_json(mapping or {})
    if sidecar is not None:
        if sidecar.stat().st_size > SIDECAR_BYTES:
            raise PruneScopeError(f"The sidecar is larger than {SIDECAR_BYTES // 1_000_000} MB.")
        beside = read_sidecar(sidecar.read_bytes()).to_json()
        given = {name: value for name, value in plan.to_json().items() if name in (mapping or {})}  # type: ignore[operator]
        merged = beside | given
        for name in ("columns", "constants"):
            merged[name] = beside[name] | given.get(name, {})
        plan = mapping_from_json(merged)
    return table, fill_in_defaults(plan, table.names, fractions(table))


def fractions(table: Table) -> list[str]:
    """Columns of numbers of which one, among the first rows, is not whole."""
    _, columns = next(iter(table.batches()))
    found = []
    for name, values in columns.items():
        head = values.slice(0, N_LOOKED)
        if pa.types.is_floating(head.type):
            found.append(name)
        elif pa.types.is_string(head.type):
            try:
                codes, texts = encoded(head, name, 1)
                plain = [text.replace(table.decimal, ".") for text in texts]
                if [float(text) for text in plain] and not all(WHOLE.match(text) for text in plain):
                    found.append(name)
            except (PruneScopeError, ValueError):
                continue
    return found


def preview(request: dict[str, Any]) -> dict[str, Any]:
    """Columns, the guessed plan and the first rows of a file."""
    sidecar = Path(request["sidecar"]) if request.get("sidecar") else None
    table, plan = read_with_mapping(Path(request["file"]), request.get("mapping"), sidecar)
    _, columns = next(iter(table.batches()))
    rows = [
        {name: _cell(values[row].as_py()) for name, values in columns.items()}
        for row in range(min(N_SHOWN, len(next(iter(columns.values())))))
    ]
    return {"names": list(table.names), "fractions": fractions(table), "plan": plan.to_json(), "rows": rows}


def stage_file(request: dict[str, Any]) -> dict[str, Any]:
    """Write the file's runs as a study into the folder of the request."""
    sidecar = Path(request["sidecar"]) if request.get("sidecar") else None
    table, plan = read_with_mapping(Path(request["file"]), request.get("mapping"), sidecar)
    plan = validate_mapping(plan)
    source = {"engine": __version__, "imported": request.get("name", ""), "sha256": request.get("sha256", "")}
    summaries = stage(gather(table, plan), plan, Study(request["folder"]), source)
    return {"sets": [asdict(summary) for summary in summaries]}


def _cell(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return None if np.isnan(value) else value
    return str(value)[:200]


TASKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"preview": preview, "stage": stage_file}
