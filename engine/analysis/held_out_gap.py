"""How large is the gap from the best group to the worst, once their order is taken from other examples?

max - min picks the best and the worst by the same examples that measure them, and so is above 0 between equal groups.
Here one half of the examples orders the groups and the other half measures them.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.groupings import Grouping

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

N_SPLITS = 20
SEED = 0
CELLS = 20_000_000
"""Answers that are sorted at a time."""


def debiased_gap(right: ArrayLike, groups: ArrayLike, n_splits: int = N_SPLITS, seed: int = SEED) -> Floats:
    """Accuracy of the group that is best on one half minus that of the one that is worst there, on the other half.

    `right` is (n_examples) or (n_models, n_examples); a missing group counts in none. The halves are drawn within
    groups and swapped, many splits are averaged; groups that tie for best or worst count alike. 0 on average between
    equal groups, so that it can be below 0; the true gap where the order is clear, less where it is not. NaN with fewer
    than two groups of two examples.
    """
    answers = np.asarray(right, bool)
    code, _ = pd.factorize(np.asarray(groups).ravel())
    gaps = _gaps(np.atleast_2d(answers), code, n_splits, seed)
    return gaps.reshape(answers.shape[:-1])


def debiased_gaps(models: pd.DataFrame, right: NDArray[np.bool_], grouping: Grouping) -> pd.DataFrame:
    """The rows of `models` with a column `debiased_gap`; `right` is (n_models, n_examples)."""
    return models.assign(debiased_gap=_gaps(right, grouping.code, N_SPLITS, SEED))


def _gaps(right: NDArray[np.bool_], code: Ints, n_splits: int, seed: int) -> Floats:
    size = np.bincount(code[code >= 0])
    member = np.flatnonzero((code >= 0) & (np.append(size, 0)[code] > 1))
    _, place = np.unique(code[member], return_inverse=True)
    n = np.bincount(place)
    if len(n) < 2:
        return np.full(len(right), np.nan)
    rng, gaps = np.random.default_rng(seed), np.zeros(len(right))
    for _ in range(n_splits):
        gaps += _one_split(right, member[np.lexsort((rng.random(len(member)), place))], n)
    return gaps / n_splits


def _one_split(right: NDArray[np.bool_], order: Ints, n: Ints) -> Floats:
    """The gap of each model with the first half of each group against the second, and swapped."""
    half = n // 2
    first = np.cumsum(n) - n
    starts = np.column_stack([first, first + half]).ravel()
    rows = max(CELLS // len(order), 1)
    gaps = np.empty(len(right))
    for low in range(0, len(right), rows):
        answers = right[low : low + rows, order].view(np.uint8)
        counts = np.add.reduceat(answers, starts, axis=1, dtype=np.int64)
        one, other = counts[:, 0::2] / half, counts[:, 1::2] / (n - half)
        gaps[low : low + rows] = (_measured(one, other) + _measured(other, one)) / 2
    return gaps


def _measured(ordering: Floats, accuracy: Floats) -> Floats:
    """Mean accuracy of those that are best by the ordering minus that of the worst."""
    best, worst = (ordering == pick(ordering, axis=1)[:, None] for pick in (np.max, np.min))
    gap: Floats = (accuracy * best).sum(axis=1) / best.sum(axis=1) - (accuracy * worst).sum(axis=1) / worst.sum(axis=1)
    return gap
