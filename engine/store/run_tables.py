"""What one level of a run came to, and the tables of a run made from its levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa


@dataclass(frozen=True)
class LevelResult:
    """One model: how sparse it is and what it says of every test example, in the examples' order.

    `multipliers` are the rows of `Lagrangian` where its training was mitigated, `groups` those of `diagnostics` where
    asked for, `sizes` what `quantization` measured where the technique is one of its. `validation_prediction` is what
    it says of the run's validation split, in the split's order; None where the model comes from elsewhere. `losses` are
    the rows of `group_losses`.
    """

    level: int
    sparsity_asked: float
    n_weights: int
    n_kept: int
    validation_accuracy: float
    prediction: np.ndarray
    probability: np.ndarray
    margin: np.ndarray
    loss: np.ndarray
    multipliers: Sequence[dict[str, Any]] = ()
    groups: Sequence[dict[str, Any]] = ()
    sizes: Sequence[dict[str, Any]] = ()
    validation_prediction: np.ndarray | None = None
    losses: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class RunTables:
    """The tables that a finished run leaves."""

    levels: pd.DataFrame
    classes: pd.DataFrame
    predictions: pa.Table

    @property
    def tables(self) -> dict[str, pd.DataFrame | pa.Table]:
        """The tables by name."""
        return {"levels": self.levels, "classes": self.classes, "predictions": self.predictions}


@dataclass(frozen=True)
class RunColumns:
    """The same as columns: for many small runs, of which each would cost more as data frames than all else."""

    levels: dict[str, np.ndarray | pa.Array]
    classes: dict[str, np.ndarray | pa.Array]
    predictions: pa.Table

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by name, as `to_parquet` would make them of data frames: what is NaN is missing."""
        kinds = {"levels": self.levels, "classes": self.classes}
        return {kind: _arrow_table(columns) for kind, columns in kinds.items()} | {"predictions": self.predictions}


def run_tables(results: Sequence[LevelResult], labels: np.ndarray, n_classes: int, keep_scores: bool) -> RunTables:
    """The tables of a run from its outcomes, level by level."""
    columns = run_columns(results, labels, n_classes, keep_scores)
    return RunTables(pd.DataFrame(columns.levels), pd.DataFrame(columns.classes), columns.predictions)


def run_columns(results: Sequence[LevelResult], labels: np.ndarray, n_classes: int, keep_scores: bool) -> RunColumns:
    """The columns of a run's tables from its outcomes, level by level."""
    rows = [_level_row(result, labels) for result in results]
    return RunColumns(
        {name: np.array([row[name] for row in rows]) for name in rows[0]},
        _class_columns(results, labels, n_classes),
        _prediction_rows(results, labels, n_classes, keep_scores),
    )


def _arrow_table(columns: dict[str, np.ndarray | pa.Array]) -> pa.Table:
    arrays = [c if isinstance(c, pa.Array) else pa.array(c, from_pandas=True) for c in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def row_tables(results: Sequence[LevelResult]) -> dict[str, pd.DataFrame]:
    """What only some runs have or older ones lack, by the table's name; only those with rows."""
    tables = {
        name: [{"level": result.level, **row} for result in results for row in getattr(result, name)]
        for name in ("multipliers", "groups", "sizes", "losses")
    }
    return {name: pd.DataFrame(rows) for name, rows in tables.items() if rows}


def _level_row(result: LevelResult, labels: np.ndarray) -> dict[str, object]:
    return {
        "level": result.level,
        "sparsity_asked": result.sparsity_asked,
        "sparsity": 1 - result.n_kept / result.n_weights,
        "accuracy": float((result.prediction == labels).mean()),
        "loss": float(result.loss.mean(dtype=np.float64)),
        "validation_accuracy": result.validation_accuracy,
        "n_weights": result.n_weights,
        "n_kept": result.n_kept,
    }


def _class_columns(
    results: Sequence[LevelResult], labels: np.ndarray, n_classes: int
) -> dict[str, np.ndarray | pa.Array]:
    n = np.bincount(labels, minlength=n_classes)
    right = [np.bincount(labels[result.prediction == labels], minlength=n_classes) for result in results]
    total_loss = [np.bincount(labels, weights=result.loss, minlength=n_classes) for result in results]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_loss = np.stack(total_loss) / n
    return {
        "level": np.repeat([result.level for result in results], n_classes),
        "class": np.tile(np.arange(n_classes), len(results)),
        "n": np.tile(n, len(results)),
        "correct": np.concatenate(right),
        "predicted": np.concatenate([np.bincount(result.prediction, minlength=n_classes) for result in results]),
        "loss": mean_loss.ravel(),
    }


def _prediction_rows(results: Sequence[LevelResult], labels: np.ndarray, n_classes: int, keep_scores: bool) -> pa.Table:
    columns: dict[str, pa.Array] = {
        "level": pa.array([result.level for result in results], pa.int64()),
        "offset": pa.array([encode(o.prediction, labels, n_classes).tobytes() for o in results], pa.binary()),
    }
    if keep_scores:
        for name in ("probability", "margin"):
            columns[name] = pa.array(
                [getattr(result, name).astype(np.float16).tobytes() for result in results], pa.binary()
            )
    return pa.table(columns)


def encode(prediction: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """How far each prediction is from its label, modulo the number of classes: 0 where right, so it packs well."""
    offsets: np.ndarray = ((prediction.astype(np.int64) - labels) % n_classes).astype(offset_type(n_classes))
    return offsets


def decode(offset: bytes, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """The predictions that `encode` packed."""
    kind = offset_type(n_classes)
    predictions: np.ndarray = ((np.frombuffer(offset, kind).astype(np.int64) + labels) % n_classes).astype(kind)
    return predictions


def is_right(offset: bytes, n_classes: int) -> np.ndarray:
    """Which of the predictions that `encode` packed are their labels."""
    right: np.ndarray = np.frombuffer(offset, offset_type(n_classes)) == 0
    return right


def offset_type(n_classes: int) -> np.dtype:
    """Smallest integer type that holds every class, in the byte order of files."""
    return np.min_scalar_type(max(n_classes - 1, 0)).newbyteorder("<")
