"""Of a binary target, how unequal are the rates that matter between groups: errors, selection, equalised odds.

Counts come from `groupings.group_rows`; the second class is the positive one. The definitions are fairlearn's.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.class_matrices import Block, as_matrices
from engine.analysis.unfairness import UNFAIRNESS, UnfairnessRow

Floats = NDArray[np.float64]

POSITIVES, FOUND = "positives", "found"
"""Columns beside n and correct: examples of the positive class in a group, and those that the model says are."""
NOT_BINARY = "the target has more than two classes"
GAP = "difference between the groups with the highest and the lowest"


def rates(block: Block) -> dict[str, Floats]:
    """Each rate of each group as (n_models, n_groups); NaN where a group has no example that it is a share of."""
    n, correct, positives, found = block.sizes(), *(block.matrix(name) for name in ("correct", POSITIVES, FOUND))
    negatives, kept_negative = n - positives, correct - found
    with np.errstate(invalid="ignore", divide="ignore"):
        false_positive = (negatives - kept_negative) / np.where(negatives > 0, negatives, np.nan)
        false_negative = (positives - found) / np.where(positives > 0, positives, np.nan)
        selection = (found + negatives - kept_negative) / n
    return {"error": 1 - correct / n, "fpr": false_positive, "fnr": false_negative, "selection": selection}


def gap(rate: Floats) -> Floats:
    """max - min over the groups that have the rate; NaN with fewer than two."""
    spread = np.fmax.reduce(rate, axis=1) - np.fmin.reduce(rate, axis=1)
    return np.where((~np.isnan(rate)).sum(axis=1) > 1, spread, np.nan)


def equalized_odds_gap(fpr: Floats, fnr: Floats) -> Floats:
    """The larger of the gaps in false-positive and in true-positive rate; NaN where either cannot be had."""
    return np.maximum(gap(fpr), gap(fnr))


def _row(key: str, label: str, words: str, needs: tuple[str, ...], compute: Callable[..., Floats]) -> UnfairnessRow:
    formula = "max(gap of FPR, gap of TPR)" if len(needs) > 1 else f"max {needs[0]}_g - min {needs[0]}_g"
    return UnfairnessRow(key, label, words, formula, "Fairlearn; Hardt 2016", needs, compute)


BINARY_RATES: dict[str, UnfairnessRow] = {
    "error_gap": _row("error_gap", "Error gap", f"The {GAP} error rate.", ("error",), gap),
    "fpr_gap": _row("fpr_gap", "False-positive gap", f"The {GAP} false-positive rate.", ("fpr",), gap),
    "fnr_gap": _row("fnr_gap", "False-negative gap", f"The {GAP} false-negative rate.", ("fnr",), gap),
    "selection_gap": _row(
        "selection_gap", "Selection gap", f"The {GAP} share of positive answers.", ("selection",), gap
    ),
    "equalized_odds": _row(
        "equalized_odds",
        "Equalised odds gap",
        "The larger of the gaps between groups in false-positive and in true-positive rate.",
        ("fpr", "fnr"),
        equalized_odds_gap,
    ),
}
"""Measures between groups of a binary target, beside those of `unfairness`."""

MEASURES = UNFAIRNESS | BINARY_RATES
"""Every measure that there is."""


def binary_measures(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per run and level: run, level, and every measure of BINARY_RATES.

    `rows` are `group_rows` with `positives` and `found`; NaN stands for a target of more than two classes.
    """
    models = as_matrices(rows.rename(columns={"place": "class"}).assign(loss=np.nan))
    values = {key: np.full(len(models.first), np.nan) for key in BINARY_RATES}
    for block in models.blocks():
        inputs = rates(block)
        for key, row in BINARY_RATES.items():
            values[key][block.models] = row.compute(*(inputs[name] for name in row.needs))
    return rows.iloc[models.first][["run", "level"]].reset_index(drop=True).assign(**values)
