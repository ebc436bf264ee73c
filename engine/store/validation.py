"""What a run's networks say of its own validation split, packed: a row per level, and which training rows it is."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from engine.store.run_tables import LevelResult, encode, is_right, offset_type

VALIDATION = "validation"
"""Name of the table; runs that were imported or computed before it was kept have none."""


def validation_table(results: Sequence[LevelResult], rows: np.ndarray, labels: np.ndarray, n_classes: int) -> pa.Table:
    """One row per level: the predictions as `encode` packs them, in ascending order of the split's training rows.

    `rows` are positions in the data set's training side, in the order of the results' validation predictions; `labels`
    are that side's. Which rows they are is kept once, with the first level: one bit for each row up to the last.
    """
    order = np.argsort(rows)
    offsets = [encode(_predictions(result)[order], labels[rows[order]], n_classes).tobytes() for result in results]
    split = [_packed(rows), *[None] * (len(results) - 1)]
    return pa.table(
        {
            "level": pa.array([result.level for result in results], pa.int64()),
            "offset": pa.array(offsets, pa.binary()),
            "rows": pa.array(split, pa.binary()),
        }
    )


def split_rows(table: pa.Table) -> np.ndarray:
    """Positions in the training side of the predictions of such a table, in their order: ascending, int32."""
    bits = np.frombuffer(table["rows"][0].as_py(), np.uint8)
    return np.flatnonzero(np.unpackbits(bits)).astype(np.int32)


def check_validation(table: pa.Table, levels: np.ndarray, accuracy: np.ndarray, n_classes: int) -> None:
    """Raise ValueError where such a table does not fit the run's levels and their accuracy on validation."""
    if table["level"].to_pylist() != levels.tolist():
        raise ValueError("the levels of its validation differ from those of its levels")
    kept = [row is not None for row in table["rows"].to_pylist()]
    if kept != [True] + [False] * (len(levels) - 1):
        raise ValueError("its validation does not say once which training rows it is")
    offsets = table["offset"].to_pylist()
    right = [is_right(offset, n_classes) for offset in offsets]
    if any(len(row) != len(split_rows(table)) for row in right):
        raise ValueError("its validation has more or fewer predictions than training rows")
    if any(np.frombuffer(offset, offset_type(n_classes)).max() >= n_classes for offset in offsets):
        raise ValueError("its validation has predictions that are none of the classes")
    if not np.array_equal([row.mean() for row in right], accuracy):
        raise ValueError("its validation differs from the validation accuracy of its levels")


def _predictions(result: LevelResult) -> np.ndarray:
    assert result.validation_prediction is not None  # every network that is tested here is asked
    return result.validation_prediction


def _packed(rows: np.ndarray) -> bytes:
    held_out = np.zeros(rows.max() + 1, bool)
    held_out[rows] = True
    return np.packbits(held_out).tobytes()
