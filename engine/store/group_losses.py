"""What the cut alone costs each group: mean losses on the test side, right after the cut and once the level is trained.

Excessive loss (Tran 2022, Eq. 2) is the difference of either to level 0, the dense network; a control's is in its run.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from engine.datasets.groups import CLASS, Grouping

LOSSES = "losses"
"""Name of the table; runs that were imported or computed before it was kept have none."""
MOST_GROUPS = 100
"""Group columns with more groups than that, such as writers, are not in it; classes always are."""

_COLUMNS = ["level", "grouping", "group", "n", "correct", "loss", "cut_correct", "cut_loss"]


class Tested(Protocol):
    """What a network says of every test example: the class, and its loss there."""

    @property
    def prediction(self) -> np.ndarray: ...
    @property
    def loss(self) -> np.ndarray: ...


def loss_rows(
    groupings: Sequence[Grouping], labels: np.ndarray, tested: Tested, cut: Tested | None
) -> list[dict[str, Any]]:
    """One row per grouping and group with a test example: n, correct, mean loss; `cut_` is right after the cut.

    `cut` is None, and its columns NaN, where weights were cut while training, or none were.
    """
    rows = []
    for groups in groupings:
        n = _totals(groups, np.ones(len(labels)))
        sums = {"correct": _totals(groups, tested.prediction == labels), "loss": _totals(groups, tested.loss)}
        nothing = np.full(len(n), np.nan)
        sums["cut_correct"] = nothing if cut is None else _totals(groups, cut.prediction == labels)
        sums["cut_loss"] = nothing if cut is None else _totals(groups, cut.loss)
        for code in np.flatnonzero(n):
            facts = {name: float(total[code]) for name, total in sums.items()}
            facts |= {name: facts[name] / float(n[code]) for name in ("loss", "cut_loss")}
            row = {"grouping": groups.name, "group": groups.names[code], "n": int(n[code]), **facts}
            rows.append(row | {"correct": int(facts["correct"])})
    return rows


def check_losses(table: pa.Table, levels: pd.DataFrame, examples: pd.DataFrame, right: np.ndarray) -> None:
    """Raise ValueError where such a table does not fit the run's levels, its predictions or itself.

    `examples` has a column for each grouping, the names of classes among them; `right` (levels x examples) says what is
    predicted right.
    """
    rows = table.to_pandas()
    if list(rows.columns) != _COLUMNS or rows["level"].unique().tolist() != levels["level"].tolist():
        raise ValueError("the levels of its losses differ from those of its levels")
    if CLASS not in set(rows["grouping"]) or not set(rows["grouping"]) <= set(examples):
        raise ValueError("the groupings of its losses are not those of its examples")
    for index, level in enumerate(levels.itertuples()):
        totals = {}
        for name, part in rows[rows["level"] == level.level].groupby("grouping", sort=False):
            _check_counts(part, examples[name], right[index])
            if examples[name].notna().all():
                totals[name] = [part["n"] @ part["loss"], part["n"] @ part["cut_loss"], part["cut_correct"].sum()]
        if not np.allclose(list(totals.values()), totals[CLASS], rtol=1e-6, equal_nan=True):
            raise ValueError("its losses differ between groupings in what they add to")
        if not np.isclose(totals[CLASS][0] / right.shape[1], level.loss, rtol=1e-6):
            raise ValueError("its losses differ from the loss of its levels")


def _check_counts(rows: pd.DataFrame, groups: pd.Series, right: np.ndarray) -> None:
    names = groups.dropna().astype(object).map(str)  # categories would be sorted in their own order
    counted = pd.Series(right).groupby(names).agg(["size", "sum"])
    kept = rows.set_index("group")[["n", "correct"]]
    if not np.array_equal(kept.sort_index(), counted.sort_index()):
        raise ValueError("its losses count examples otherwise than its predictions do")
    if not rows["cut_correct"].isna().all() and not rows["cut_correct"].between(0, rows["n"]).all():
        raise ValueError("its losses have wrong numbers of right answers after the cut")


def _totals(groups: Grouping, values: np.ndarray) -> np.ndarray:
    has = groups.test >= 0
    return np.bincount(groups.test[has], weights=values[has].astype(np.float64), minlength=len(groups.names))
