"""What one level of a run came to, and the tables of a run made from its levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa


@dataclass(frozen=True)
class Outcome:
    """One model: how sparse it is and what it says of every test example, in the examples' order.

    `lessons` are the rows of `Dual` where its training was mitigated, `groups` those of `diagnostics` where asked for,
    `sizes` what `quantization` measured where the technique is one of its.
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
    lessons: Sequence[dict[str, Any]] = ()
    groups: Sequence[dict[str, Any]] = ()
    sizes: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class RunTables:
    """The tables that a finished run leaves."""

    levels: pd.DataFrame
    classes: pd.DataFrame
    predictions: pa.Table


def run_tables(outcomes: Sequence[Outcome], labels: np.ndarray, n_classes: int, keep_scores: bool) -> RunTables:
    """The tables of a run from its outcomes, level by level."""
    return RunTables(
        pd.DataFrame([_level_row(outcome, labels) for outcome in outcomes]),
        pd.concat([_class_rows(outcome, labels, n_classes) for outcome in outcomes], ignore_index=True),
        _prediction_rows(outcomes, labels, n_classes, keep_scores),
    )


def row_tables(outcomes: Sequence[Outcome]) -> dict[str, pd.DataFrame]:
    """What mitigation, diagnostics and quantization left, by the table's name; only those with rows."""
    kinds = {"multipliers": "lessons", "groups": "groups", "sizes": "sizes"}
    rows = {
        kind: [{"level": outcome.level, **row} for outcome in outcomes for row in getattr(outcome, name)]
        for kind, name in kinds.items()
    }
    return {kind: pd.DataFrame(found) for kind, found in rows.items() if found}


def _level_row(outcome: Outcome, labels: np.ndarray) -> dict[str, object]:
    return {
        "level": outcome.level,
        "sparsity_asked": outcome.sparsity_asked,
        "sparsity": 1 - outcome.n_kept / outcome.n_weights,
        "accuracy": float((outcome.prediction == labels).mean()),
        "loss": float(outcome.loss.mean(dtype=np.float64)),
        "validation_accuracy": outcome.validation_accuracy,
        "n_weights": outcome.n_weights,
        "n_kept": outcome.n_kept,
    }


def _class_rows(outcome: Outcome, labels: np.ndarray, n_classes: int) -> pd.DataFrame:
    n = np.bincount(labels, minlength=n_classes)
    total_loss = np.bincount(labels, weights=outcome.loss, minlength=n_classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_loss = total_loss / n
    return pd.DataFrame(
        {
            "level": outcome.level,
            "class": np.arange(n_classes),
            "n": n,
            "correct": np.bincount(labels[outcome.prediction == labels], minlength=n_classes),
            "predicted": np.bincount(outcome.prediction, minlength=n_classes),
            "loss": mean_loss,
        }
    )


def _prediction_rows(outcomes: Sequence[Outcome], labels: np.ndarray, n_classes: int, keep_scores: bool) -> pa.Table:
    columns: dict[str, pa.Array] = {
        "level": pa.array([outcome.level for outcome in outcomes], pa.int64()),
        "offset": pa.array([encode(o.prediction, labels, n_classes).tobytes() for o in outcomes], pa.binary()),
    }
    if keep_scores:
        for name in ("probability", "margin"):
            columns[name] = pa.array(
                [getattr(outcome, name).astype(np.float16).tobytes() for outcome in outcomes], pa.binary()
            )
    return pa.table(columns)


def encode(prediction: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """How far each prediction is from its label, modulo the number of classes: 0 where right, so it packs well."""
    return ((prediction.astype(np.int64) - labels) % n_classes).astype(offset_type(n_classes))


def decode(offset: bytes, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """The predictions that `encode` packed."""
    kind = offset_type(n_classes)
    return ((np.frombuffer(offset, kind).astype(np.int64) + labels) % n_classes).astype(kind)


def is_right(offset: bytes, n_classes: int) -> np.ndarray:
    """Which of the predictions that `encode` packed are their labels."""
    return np.frombuffer(offset, offset_type(n_classes)) == 0


def offset_type(n_classes: int) -> np.dtype:
    """Smallest integer type that holds every class, in the byte order of files."""
    return np.min_scalar_type(max(n_classes - 1, 0)).newbyteorder("<")
