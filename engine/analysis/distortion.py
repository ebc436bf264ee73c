"""Does pruning widen the gaps between classes that were there before?

Good et al. 2022, Recall Distortion in Neural Network Pruning and the Undecayed Pruning Algorithm: balances and alpha.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.identity import MODEL
from engine.analysis.matrices import Block, line_up

Floats = NDArray[np.float64]

EVEN = 1e-9
"""Root mean square of the balances before pruning up to which they count as zero: far above the error of floating
point, below any gap between shares of a few thousand test examples."""

NO_DENSE = "the dense level of the run is missing"
NO_BALANCE = "no class has a balance before and after pruning: no test examples, or nothing right"
EVEN_BEFORE = "every class equals the accuracy before pruning, so that there is no gap to widen"

BASES: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "recall": lambda correct, n, predicted: correct / n,
    "precision": lambda correct, n, predicted: correct / np.where(predicted > 0, predicted, np.nan),
    "f_score": lambda correct, n, predicted: 2 * correct / (n + predicted),
}
"""What a balance compares with the accuracy, from counts per class (NaN, not 0, for a class without test examples)."""


def balance(recall: ArrayLike, accuracy: ArrayLike) -> Floats:
    """B_c = recall_c - accuracy, with classes along the last axis; > 0 where the model overperforms."""
    return np.asarray(recall, float) - np.asarray(accuracy, float)[..., None]


def normalised_balance(recall: ArrayLike, accuracy: ArrayLike) -> Floats:
    """B_c / accuracy; NaN where the accuracy is 0."""
    accuracy = np.asarray(accuracy, float)
    return balance(recall, accuracy) / np.where(accuracy > 0, accuracy, np.nan)[..., None]


def intensification(before: ArrayLike, after: ArrayLike) -> Floats:
    """alpha = sum(b0 * bt) / sum(b0^2), the slope through the origin; > 1 intensifies, < 1 evens out, dense is 1.

    `before` and `after` are normalised balances, (n_classes,) or (n_models, n_classes); a class that is NaN in either
    is left out. NaN for the reason that `intensification_reason` gives.
    """
    before, after = _paired(before, after)
    count = np.isfinite(before).sum(axis=-1)
    squares = np.nansum(before * before, axis=-1)
    defined = squares > count * EVEN**2
    return np.nansum(before * after, axis=-1) / np.where(defined, squares, np.nan)


def intensification_reason(before: ArrayLike, after: ArrayLike) -> NDArray[np.str_]:
    """Why alpha is NaN, per model; empty text where it is not."""
    no_balance = np.isnan(_paired(before, after)[0]).all(axis=-1)
    undefined = np.isnan(intensification(before, after))
    return np.where(no_balance, NO_BALANCE, np.where(undefined, EVEN_BEFORE, ""))


def model_accuracy(correct: Floats, n: Floats) -> Floats:
    """Share of all test examples that each model gets right, from counts (n_models, n_classes); NaN without any."""
    total = np.nansum(n, axis=1)
    return np.nansum(correct, axis=1) / np.where(total > 0, total, np.nan)


def alphas(classes: pd.DataFrame, measure: str = "recall") -> pd.DataFrame:
    """One row per run and level: run, identity, seed, level, sparsity, accuracy, alpha, reason (empty unless NaN).

    `measure` is a key of BASES.
    """
    models = line_up(classes)
    table = classes.iloc[models.first][["run", *MODEL, "seed", "level", "sparsity"]].reset_index(drop=True)
    accuracy, alpha = np.full(len(table), np.nan), np.full(len(table), np.nan)
    reason = np.full(len(table), "", object)
    for block in models.blocks():
        accuracy[block.models], after = _balances(block, measure)
        before = block.at_dense(after)
        alpha[block.models] = intensification(before, after)
        reason[block.models] = np.where(block.dense < 0, NO_DENSE, intensification_reason(before, after))
    return table.assign(accuracy=accuracy, alpha=alpha, reason=reason)


def _balances(block: Block, measure: str) -> tuple[Floats, Floats]:
    """Accuracy and normalised balances of a block's models."""
    n = block.sizes()
    correct = np.where(np.isnan(n), np.nan, block.matrix("correct"))
    accuracy = model_accuracy(correct, n)
    return accuracy, normalised_balance(BASES[measure](correct, n, block.matrix("predicted")), accuracy)


def _paired(before: ArrayLike, after: ArrayLike) -> tuple[Floats, Floats]:
    """Both balances with NaN wherever either is NaN."""
    before, after = np.asarray(before, float), np.asarray(after, float)
    both = np.isfinite(before) & np.isfinite(after)
    return np.where(both, before, np.nan), np.where(both, after, np.nan)
