"""What shipped models took, measured: one row per model, batch and device in the study's `measures.parquet`."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from engine.access import check_may_write
from engine.errors import PruneScopeError
from engine.store.files import one_at_a_time, write_file
from engine.store.parquet import from_parquet, to_parquet
from engine.store.study import Study

FILE = "measures.parquet"
COLUMNS = ("run", "level", "batch", "device", "milliseconds", "low", "high", "dense_milliseconds", "measured")
SAME = ["run", "level", "batch", "device"]
"""A later measurement of the same takes the place of the earlier one."""


def write_measures(study: Study, rows: Sequence[dict[str, Any]]) -> None:
    """Keep these rows, which have the columns of COLUMNS, beside those that are there."""
    check_may_write("what was measured")
    with one_at_a_time(study.path):
        table = pd.concat([read_measures(study), pd.DataFrame(rows, columns=list(COLUMNS))], ignore_index=True)
        table = table.drop_duplicates(SAME, keep="last").sort_values(SAME, ignore_index=True)
        write_file(study.path / FILE, to_parquet(table, "measures", seal=True))


def read_measures(study: Study) -> pd.DataFrame:
    """Everything that was measured; empty where nothing was."""
    try:
        content = (study.path / FILE).read_bytes()
    except FileNotFoundError:
        return pd.DataFrame(columns=list(COLUMNS))
    except OSError as error:
        raise PruneScopeError(f"{FILE} cannot be read: {error}.") from error
    return from_parquet(content, FILE).to_pandas()


def measured_models(study: Study, models: pd.DataFrame) -> pd.DataFrame:
    """The rows of `models` whose milliseconds were measured, once for each batch and device."""
    return models.astype({"run": str}).merge(read_measures(study), on=["run", "level"])


def broken_measures(study: Study) -> str:
    """What is wrong with the table; empty where it is whole or not there."""
    try:
        table = read_measures(study)
    except PruneScopeError as error:
        return str(error)
    return "" if set(table) == set(COLUMNS) else f"{FILE} has other columns than it should."
