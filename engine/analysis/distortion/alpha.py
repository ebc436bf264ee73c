"""Does pruning widen the gaps between classes that were there before?

Good et al. 2022, Recall Distortion in Neural Network Pruning and the Undecayed Pruning Algorithm: balances and alpha,
model by model. Single classes are left to `balances`, seeds to `verdicts` and `ttests`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.class_matrices import Block, as_matrices
from engine.analysis.columns import MODEL

Floats = NDArray[np.float64]

EVEN = 1e-9
"""Root mean square of the balances before pruning up to which they count as zero: far above the error of floating
point, below any gap between shares of a few thousand test examples."""

NO_DENSE = "the dense level of the run is missing"
NO_BALANCE = "no class has a balance before and after pruning: no test examples, or nothing right"
EVEN_BEFORE = "every class equals the accuracy before pruning, so that there is no gap to widen"


@dataclass(frozen=True)
class BaseRow:
    """What a balance compares with the accuracy, from counts per class: correct, n, predicted."""

    key: str
    label: str
    help: str
    compute: Callable[[Floats, Floats, Floats], Floats]


BASES: dict[str, BaseRow] = {
    "recall": BaseRow(
        key="recall",
        label="Recall",
        help="Share of a class's test examples that the model gets right.",
        compute=lambda correct, n, predicted: correct / n,
    ),
    "precision": BaseRow(
        key="precision",
        label="Precision",
        help="Share of the examples put into a class that belong there; none for a class that is never predicted.",
        compute=lambda correct, n, predicted: correct / np.where(predicted > 0, predicted, np.nan),
    ),
    "f_score": BaseRow(
        key="f_score",
        label="F-score",
        help="Harmonic mean of recall and precision.",
        compute=lambda correct, n, predicted: 2 * correct / (n + predicted),
    ),
}
"""NaN, not 0, for a class without test examples."""


def balance(recall: ArrayLike, accuracy: ArrayLike) -> Floats:
    """B_c = recall_c - accuracy, with classes along the last axis; > 0 where the model overperforms."""
    balance: Floats = np.asarray(recall, float) - np.asarray(accuracy, float)[..., None]
    return balance


def normalised_balance(recall: ArrayLike, accuracy: ArrayLike) -> Floats:
    """B_c / accuracy; NaN where the accuracy is 0."""
    accuracy = np.asarray(accuracy, float)
    return balance(recall, accuracy) / np.where(accuracy > 0, accuracy, np.nan)[..., None]


def class_ratio(before: ArrayLike, after: ArrayLike) -> Floats:
    """I_c = after / before, class by class, of normalised balances; > 1 where the class's gap widens.

    NaN where there is no gap before. Wild where it is nearly none: alpha weighs such classes next to nothing.
    """
    before, after = _paired(before, after)
    return after / np.where(np.abs(before) > EVEN, before, np.nan)


def intensification(before: ArrayLike, after: ArrayLike) -> Floats:
    """alpha = sum(b0 * bt) / sum(b0^2), the slope through the origin; > 1 intensifies, < 1 evens out, dense is 1.

    `before` and `after` are normalised balances, (n_classes,) or (n_models, n_classes); a class that is NaN in either
    is left out. NaN for the reason that `intensification_reason` gives.
    """
    before, after = _paired(before, after)
    count = np.isfinite(before).sum(axis=-1)
    squares = np.nansum(before * before, axis=-1)
    defined = squares > count * EVEN**2
    slopes: Floats = np.nansum(before * after, axis=-1) / np.where(defined, squares, np.nan)
    return slopes


def spread_ratio(before: ArrayLike, after: ArrayLike) -> Floats:
    """sqrt(sum(bt^2) / sum(b0^2)): how wide all gaps are against before, whichever classes they fall on.

    alpha is this times the correlation of the balances: below 1 beside a spread of 1 or more, the gaps moved to other
    classes rather than closed. NaN where alpha is.
    """
    before, after = _paired(before, after)
    defined = np.isfinite(intensification(before, after))
    squares = np.where(defined, np.nansum(before * before, axis=-1), np.nan)
    ratios: Floats = np.sqrt(np.nansum(after * after, axis=-1) / squares)
    return ratios


def intensification_reason(before: ArrayLike, after: ArrayLike) -> NDArray[np.str_]:
    """Why alpha is NaN, per model; empty text where it is not."""
    no_balance = np.isnan(_paired(before, after)[0]).all(axis=-1)
    undefined = np.isnan(intensification(before, after))
    return np.where(no_balance, NO_BALANCE, np.where(undefined, EVEN_BEFORE, ""))


def model_accuracy(correct: Floats, n: Floats) -> Floats:
    """Share of all test examples that each model gets right, from counts (n_models, n_classes); NaN without any."""
    total = np.nansum(n, axis=1)
    accuracies: Floats = np.nansum(correct, axis=1) / np.where(total > 0, total, np.nan)
    return accuracies


def alphas(classes: pd.DataFrame, measure: str = "recall") -> pd.DataFrame:
    """One row per run and level: run, identity, seed, level, sparsity, accuracy, dense_accuracy, collapsed, alpha,
    spread, reason (empty unless NaN).

    `measure` is a key of BASES. A collapsed model puts every example into one class.
    """
    models = as_matrices(classes)
    table = classes.iloc[models.first][["run", *MODEL, "seed", "level", "sparsity"]].reset_index(drop=True)
    accuracy, dense_accuracy, alpha, spread = (np.full(len(table), np.nan) for _ in range(4))
    collapsed, reason = np.zeros(len(table), bool), np.full(len(table), "", object)
    for block in models.blocks():
        accuracy[block.models], after = model_balances(block, measure)
        before = block.at_dense(after)
        dense_accuracy[block.models] = block.at_dense(accuracy[block.models][:, None])[:, 0]
        collapsed[block.models] = (block.matrix("predicted") > 0).sum(axis=1) == 1
        alpha[block.models] = intensification(before, after)
        spread[block.models] = spread_ratio(before, after)
        reason[block.models] = np.where(block.dense < 0, NO_DENSE, intensification_reason(before, after))
    values = {"alpha": alpha, "spread": spread, "reason": reason}
    return table.assign(accuracy=accuracy, dense_accuracy=dense_accuracy, collapsed=collapsed, **values)


def model_balances(block: Block, measure: str) -> tuple[Floats, Floats]:
    """Accuracy and normalised balances of a block's models."""
    n = block.sizes()
    correct = np.where(np.isnan(n), np.nan, block.matrix("correct"))
    accuracy = model_accuracy(correct, n)
    return accuracy, normalised_balance(BASES[measure].compute(correct, n, block.matrix("predicted")), accuracy)


def _paired(before: ArrayLike, after: ArrayLike) -> tuple[Floats, Floats]:
    """Both balances with NaN wherever either is NaN."""
    before, after = np.asarray(before, float), np.asarray(after, float)
    both = np.isfinite(before) & np.isfinite(after)
    return np.where(both, before, np.nan), np.where(both, after, np.nan)
