"""Tables as experiment trackers keep them, in the format of MLflow 3.17 and Weights & Biases 0.31."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.exchange.sources import json_lines
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.engine.exchange.test_several_files import bring_all, said
from tests.support.uploads import long_table


def mlflow_table(rows: pd.DataFrame) -> str:
    """What `mlflow.log_table` writes: the frame split into columns and data."""
    return rows.to_json(orient="split", index=False)


def wandb_table(rows: pd.DataFrame) -> str:
    """What an artifact holds of a `wandb.Table`, as NAME.table.json."""
    kinds = {name: "string" if rows[name].dtype == "str" else "number" for name in rows}
    types = {
        name: {"params": {"allowed_types": [{"wb_type": "none"}, {"wb_type": kind}]}, "wb_type": "union"}
        for name, kind in kinds.items()
    }
    table = {
        "_type": "table",
        "column_types": {"params": {"type_map": types}, "wb_type": "typedDict"},
        "columns": list(rows),
        "data": json.loads(mlflow_table(rows))["data"],
        "log_mode": "IMMUTABLE",
        "ncols": rows.shape[1],
        "nrows": len(rows),
    }
    return json.dumps(table)


WRITERS = {"predictions.json": mlflow_table, "predictions.table.json": wandb_table}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The study that a CSV of the same rows gives."""
    folder = tmp_path_factory.mktemp("whole")
    long_table(n=30, seeds=2).to_csv(folder / "all.csv", index=False)
    bring_all([folder / "all.csv"], study := Study(folder / "study"))
    return study


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_a_tracked_table_gives_the_study_of_its_rows(name: str, packed: bool, whole: Study, tmp_path: Path) -> None:
    content = WRITERS[name](long_table(n=30, seeds=2)).encode()
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    bring_all([path], study := Study(tmp_path / "study"))
    assert said(study) == said(whole) and verify_study(study) == []


BROKEN: dict[str, tuple[Callable[[dict[str, list[object]]], object], str]] = {
    "a row too short": (lambda table: table["data"][3].pop(), r"Row 4 has 8 cells; the table names 9 columns"),
    "rows that are none": (lambda table: table.update(data=["abc"]), "columns and data cannot be read: .*array"),
    "no rows": (lambda table: table.pop("data"), "columns and data cannot be read: .*missing .*data"),
    "a column twice": (
        lambda table: table["columns"].append("label"),
        "Column 'label': the name stands twice in the header",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_tracked_table_that_is_broken_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    table, (spoil, words) = json.loads(mlflow_table(long_table(n=12, seeds=1))), BROKEN[name]
    spoil(table)
    (tmp_path / "predictions.json").write_text(json.dumps(table))
    with pytest.raises(PruneScopeError, match=words):
        bring_all([tmp_path / "predictions.json"], Study(tmp_path / "study"))
    assert not (tmp_path / "study").exists()


def test_one_that_is_too_large_is_asked_for_as_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "WHOLE_BYTES", 1000)
    (tmp_path / "predictions.json").write_text(mlflow_table(long_table(n=12, seeds=1)))
    with pytest.raises(PruneScopeError, match="more than 1,000 bytes; bring it as CSV or Parquet"):
        bring_all([tmp_path / "predictions.json"], Study(tmp_path / "study"))
    assert not (tmp_path / "study").exists()
