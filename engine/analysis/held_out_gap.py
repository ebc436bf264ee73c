"""How large is the gap from the best group to the worst, once their order is taken from other examples?

max - min picks the best and the worst by the same examples that measure them, and so is above 0 between equal groups.
Here one half of the examples orders the groups and the other half measures them.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.groupings import Grouping

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

N_SPLITS = 20
SEED = 0
CELLS = 2_000_000
"""Counts that are held at a time."""


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


@dataclass(frozen=True, eq=False)
class _Halves:
    """Examples of groups with two at least, halved at random within groups, many times."""

    member: Ints
    n: Ints
    """Examples of each group and half, (n_groups, 2)."""
    cell: Ints
    """Place of each member in each split's counts of groups and halves, (n_members, n_splits)."""


@lru_cache(maxsize=4)
def _halved(groups: bytes, n_splits: int, seed: int) -> _Halves:
    """The halves for the groups' codes, as bytes so that the runs of a study share them."""
    code = np.frombuffer(groups, np.int64)
    size = np.bincount(code[code >= 0])
    member = np.flatnonzero((code >= 0) & (np.append(size, 0)[code] > 1))
    _, place = np.unique(code[member], return_inverse=True)
    n = np.bincount(place)
    second = np.arange(len(member)) - np.repeat(np.cumsum(n) - n, n) >= np.repeat(n // 2, n)
    rng, cell = np.random.default_rng(seed), np.empty((len(member), n_splits), np.intp)
    for split in range(n_splits):
        order = np.lexsort((rng.random(len(member)), place))
        cell[order, split] = (split * len(n) + place[order]) * 2 + second
    return _Halves(member, np.column_stack([n // 2, n - n // 2]), cell)


def _gaps(right: NDArray[np.bool_], code: Ints, n_splits: int, seed: int) -> Floats:
    halves = _halved(code.astype(np.int64).tobytes(), n_splits, seed)
    gaps = np.full(len(right), np.nan)
    if len(halves.n) < 2:
        return gaps
    rows = max(CELLS // (n_splits * halves.n.size), 1)
    for low in range(0, len(right), rows):
        counts = np.stack([_counts(row[halves.member], halves) for row in right[low : low + rows]])
        one, other = np.moveaxis(counts / halves.n, -1, 0)
        gaps[low : low + rows] = ((_measured(one, other) + _measured(other, one)) / 2).mean(axis=-1)
    return gaps


def _counts(right: NDArray[np.bool_], halves: _Halves) -> Ints:
    """How many are right, (n_splits, n_groups, 2); whichever of right and wrong is rarer is counted."""
    shape = (halves.cell.shape[1], *halves.n.shape)
    mostly = right.mean() > 0.5
    counted = np.bincount(halves.cell[right != mostly].ravel(), minlength=shape[0] * halves.n.size).reshape(shape)
    return halves.n - counted if mostly else counted


def _measured(ordering: Floats, accuracy: Floats) -> Floats:
    """Mean accuracy of those that are best by the ordering minus that of the worst, groups along the last axis."""
    best, worst = (ordering == pick(ordering, axis=-1, keepdims=True) for pick in (np.max, np.min))
    sides = [(accuracy * side).sum(axis=-1) / side.sum(axis=-1) for side in (best, worst)]
    gap: Floats = sides[0] - sides[1]
    return gap
