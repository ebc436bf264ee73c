"""What would other draws of the seeds have given: every resample while they are few, random ones beyond."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations_with_replacement
from math import comb, factorial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_ENUMERATED = 8
"""Seeds up to which all resamples are counted: 6 have 462, 8 have 6,435."""

MANY_SEEDS = 64
"""Different seeds up to which points are paired by seed; beyond, by a seed's rank within its point."""


MANY_POINTS = 3_000
"""Operating points up to which means of resampled seeds are kept; so many take 36 MB."""


@dataclass(frozen=True, eq=False)
class Resamples:
    """Draws of n seeds out of n, with replacement; the order within a draw does not matter."""

    counts: Floats
    """How often each seed is drawn, (n_resamples, n_seeds)."""
    weights: Floats
    """Probability of each resample; they add to 1."""
    exact: bool
    """Whether these are all that there are."""


@dataclass(frozen=True, eq=False)
class SeedGrid:
    """Numbers of each point under each seed, (n_seeds, n_points) by the point's number; NaN where one is missing.

    Neither threshold nor weight plays a part, so that a page makes it once.
    """

    measure: str
    sparsity: Floats
    unfairness: Floats
    accuracy: Floats
    draws: Resamples
    means: Floats | None
    """Means over the drawn seeds of the three, (3, n_points, n_resamples), where they are worth keeping."""
    of_members: bool = False
    """Whether the draws are of the test examples' members too, so that means may lie beyond those of all seeds."""

    def bounding(self) -> "SeedGrid":
        """A grid between whose least and largest rows the means of all draws lie."""
        if not self.of_members or self.means is None:
            return self
        sparsity, unfairness, accuracy = (part.T for part in self.means)
        return replace(self, sparsity=sparsity, unfairness=unfairness, accuracy=accuracy, of_members=False)

    def n_seeds(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Seeds that points have, by number."""
        n: NDArray[np.intp] = np.isfinite(self.accuracy[:, numbers]).sum(axis=0)
        return n

    def resampled(self, numbers: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Sparsity, unfairness and accuracy of points by number, (n_resamples, n_points) each."""
        if self.means is not None:
            sparsity, unfairness, accuracy = (part[numbers].T for part in self.means)
            return sparsity, unfairness, accuracy
        columns = (part[:, numbers] for part in (self.sparsity, self.unfairness, self.accuracy))
        sparsity, unfairness, accuracy = (resampled_means(part, self.draws.counts) for part in columns)
        return sparsity, unfairness, accuracy


def resamples(n_seeds: int, n_drawn: int = 500, seed: int = 0, enumerate_few: bool = True) -> Resamples:
    """All resamples with their probabilities up to MOST_ENUMERATED seeds, else `n_drawn` random ones."""
    if n_seeds <= MOST_ENUMERATED and enumerate_few:
        return _enumerated(n_seeds)
    counts = np.random.default_rng(seed).multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), n_drawn)
    return Resamples(counts.astype(float), np.full(n_drawn, 1 / n_drawn), exact=False)


@cache
def _enumerated(n: int) -> Resamples:
    """Each multiset of n seeds once; its probability is the multinomial n! / (prod counts! n^n)."""
    drawn = np.array(list(combinations_with_replacement(range(n), n)), int).reshape(comb(2 * n - 1, n) if n else 1, n)
    counts = (drawn[:, :, None] == np.arange(n)).sum(axis=1)
    factorials = np.array([factorial(k) for k in range(n + 1)], float)
    weights = factorials[n] / factorials[counts].prod(axis=1) / float(n**n)
    return Resamples(counts.astype(float), weights, exact=True)


def seed_grid(seeds: pd.DataFrame, measure: str, n_drawn: int = 500, seed: int = 0) -> SeedGrid:
    """The rows of `seed_points` with every number finite, laid out by seed and point, and the resamples of them."""
    columns = seeds[["sparsity", measure, "accuracy"]].to_numpy(float)
    rows = np.flatnonzero(np.isfinite(columns).all(axis=1))
    point = seeds["point"].to_numpy(int)[rows]
    slot = seed_slots(point, seeds["seed"].to_numpy()[rows])
    shape = int(slot.max(initial=-1)) + 1, int(seeds["point"].max()) + 1 if len(seeds) else 0
    numbers = np.full((3, *shape), np.nan)
    numbers[:, slot, point] = columns[rows].T
    draws = resamples(shape[0], n_drawn, seed)
    # Few seeds are multiplied as fast as looked up; of many points the means would fill the memory.
    kept = (
        None if draws.exact or shape[1] > MANY_POINTS else [resampled_means(part, draws.counts).T for part in numbers]
    )
    means = None if kept is None else np.ascontiguousarray(kept)
    return SeedGrid(measure, numbers[0], numbers[1], numbers[2], draws, means)


def seed_slots(point: NDArray[np.intp], seed: NDArray[np.intp]) -> NDArray[np.intp]:
    """Row of the grid for each model: its seed, so that points are compared within one; its rank where that fails."""
    names, slot = np.unique(seed, return_inverse=True)
    if len(names) > MANY_SEEDS or len(np.unique(point * len(names) + slot)) < len(point):
        order = np.argsort(point, kind="stable")
        starts = np.flatnonzero(np.diff(point[order], prepend=-1))
        slot = np.empty(len(point), int)
        slot[order] = np.arange(len(point)) - np.repeat(starts, np.diff(starts, append=len(point)))
    return slot


def resampled_means(numbers: Floats, counts: Floats) -> Floats:
    """Mean over the drawn seeds, (n_resamples, n_points), of numbers by seed and point.

    A point that lacks a seed is the mean of the others drawn; where none of its own is drawn, of all that it has.
    """
    known = np.isfinite(numbers)
    if known.all():
        complete: Floats = counts @ numbers / counts.sum(axis=1, keepdims=True)
        return complete
    filled = np.where(known, numbers, 0.0)
    total, drawn = counts @ filled, counts @ known
    none = drawn == 0
    total = np.where(none, filled.sum(axis=0), total)
    drawn = np.where(none, np.where(known.any(axis=0), known.sum(axis=0), np.nan), drawn)
    means: Floats = total / drawn
    return means
