"""How many examples change their usual label where nothing is pruned: what a count of changed examples is held against.

Two sets of networks never agree on every example. Like is held against like: both counts are of sets of the same size
and of seeds that are related in the same way. `beside_halves` takes disjoint halves of the seeds, one half unpruned and
the other either pruned or not; `beside_control` takes all seeds twice, once dense and once pruned or trained as long.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from engine.analysis.examples.exemplars import Ints, usual_labels

Floats = NDArray[np.float64]
Votes = NDArray[np.int16]
Split = tuple[tuple[int, ...], tuple[int, ...]]

MOST_SPLITS = 40
MOST_SUBSETS = 60
CELLS = 1 << 30
"""Votes that may be counted in all; where examples, classes and networks are many, fewer splits are drawn."""

CONFIDENCE = 0.95
FEW = 4
"""Networks below which nothing says how sure an excess of halves is: a half must lose one and keep one."""


@dataclass(frozen=True)
class Excess:
    """Examples that change their usual label, beside those that change it where nothing is pruned."""

    n_models: int
    """Networks in each set."""
    changed: float
    """Between unpruned and pruned networks; a mean over the splits."""
    unpruned: float
    """Between two sets of unpruned networks; a mean over the splits."""
    least: float
    most: float
    """Range of `unpruned` over the splits."""
    n_splits: int
    excess: float
    """changed - unpruned"""
    low: float
    high: float
    """95 % interval of the excess over seeds; NaN where seeds are too few."""

    @property
    def is_told(self) -> bool:
        """Whether the excess can be told from none."""
        return self.low > 0 or self.high < 0


def beside_halves(unpruned: Ints, pruned: Ints, n_classes: int, seed: int = 0) -> Excess | None:
    """Unpruned against pruned networks, and unpruned against unpruned, of disjoint halves of the seeds; both
    (n_models, n_examples), a row per seed. None with one seed.

    A mean over all splits into halves, or over a seeded sample. With an odd number each split leaves one seed out.
    """
    n = len(unpruned)
    if n < 2:
        return None
    before, after = _one_hot(unpruned, pruned, n_classes=n_classes)
    splits = half_splits(n, max(4, CELLS // max(1, 3 * (n + 1) * before[0].size)), seed)
    counts = np.array([_split_counts(before, after, split) for split in splits])
    changed, nothing = counts[:, 0, 0], counts[:, 0, 1]
    left_out = (counts[:, 1:, 0] - counts[:, 1:, 1]).mean(axis=0)
    ends = _interval(float((changed - nothing).mean()), left_out if n >= FEW else left_out[:1])
    return _excess(n // 2, changed, nothing, ends)


def beside_control(baseline: Ints, pruned: Ints, dense: Ints, control: Ints, n_classes: int) -> Excess:
    """The baseline against pruned networks, and the dense ones against those that trained as long without pruning; all
    (n_models, n_examples) of the same seeds. `baseline` is one of the last two.

    Where pruning does nothing, a seed's pruned and its other unpruned network could change places. The error is how far
    the excess is from 0 when half of the seeds have them changed: what all seeds have in common cancels, and a mean of
    differences would have Student's error exactly. Sets stay as large as they are, because a most frequent label jumps:
    leaving seeds out overstates the error.
    """
    other = control if np.array_equal(baseline, dense) else dense
    before, after, second = _one_hot(baseline, pruned, other, n_classes=n_classes)
    usual, total, n = before.sum(axis=0), after.sum(axis=0) + second.sum(axis=0), len(dense)

    def counts(votes: Votes) -> tuple[int, int]:
        return _changed(usual, votes), _changed(usual, total - votes)

    changed, nothing = counts(after.sum(axis=0))
    swapped = [counts(after.sum(axis=0) + (second - after)[swap].sum(axis=0)) for swap in swapped_halves(n)]
    excess = np.array([one - two for one, two in swapped], float)
    half = n // 2
    error = n / np.sqrt(4 * half * (n - half)) * np.std(excess) if n > 2 else np.nan
    ends = _ends(float(changed - nothing), float(error), n - 1)
    return _excess(n, np.array([float(changed)]), np.array([float(nothing)]), ends)


def swapped_halves(n: int, seed: int = 0) -> list[list[int]]:
    """Half of 0 to n - 1, the smaller one: every choice, or a seeded sample."""
    half = n // 2
    if comb(n, half) <= MOST_SUBSETS:
        return [list(swap) for swap in combinations(range(n), half)]
    random = np.random.default_rng(seed)
    return [sorted(map(int, random.permutation(n)[:half])) for _ in range(MOST_SUBSETS)]


def half_splits(n: int, most: int = MOST_SPLITS, seed: int = 0) -> list[Split]:
    """Pairs of disjoint halves of 0 to n - 1, each pair once: all of them, or a seeded sample of `most`."""
    most, half = min(most, MOST_SPLITS), n // 2
    n_splits = comb(n, half) * comb(n - half, half) // 2
    if n_splits <= most:
        return list(_all_splits(n, half))
    random = np.random.default_rng(seed)
    drawn = (random.permutation(n)[: 2 * half] for _ in range(most))
    return [(tuple(map(int, order[:half])), tuple(map(int, order[half:]))) for order in drawn]


def _all_splits(n: int, half: int) -> Iterator[Split]:
    for first in combinations(range(n), half):
        others = [place for place in range(n) if place not in first]
        for second in combinations(others, half):
            if first < second:
                yield first, second


def _one_hot(first: Ints, *others: Ints, n_classes: int) -> list[Votes]:
    """Each network's vote on the examples on which not all of all sets agree, (n_models, n_examples, n_classes)."""
    split = np.any([(said != first[0]).any(axis=0) for said in (first, *others)], axis=0)
    labels = np.arange(n_classes)
    return [(said[:, split, None] == labels).astype(np.int16) for said in (first, *others)]


def _split_counts(before: Votes, after: Votes, split: Split) -> list[tuple[float, float]]:
    """Examples that change, pruned and unpruned: with the whole split, then with each seed left out."""
    sums = [votes[list(side)].sum(axis=0) for side in split for votes in (before, after)]
    counts = [_both_counts(*sums)]
    for out in range(len(before)):
        side = next((place for place in (0, 1) if out in split[place]), None)
        if side is None:
            counts.append(counts[0])
            continue
        fewer = list(sums)
        fewer[2 * side] = sums[2 * side] - before[out]
        fewer[2 * side + 1] = sums[2 * side + 1] - after[out]
        counts.append(_both_counts(*fewer))
    return counts


def _both_counts(dense: Votes, pruned: Votes, other_dense: Votes, other_pruned: Votes) -> tuple[float, float]:
    crossed = (_changed(dense, other_pruned) + _changed(pruned, other_dense)) / 2
    return crossed, float(_changed(dense, other_dense))


def _changed(before: Votes, after: Votes) -> int:
    return int((~(usual_labels(before) & usual_labels(after)).any(axis=1)).sum())


def _interval(estimate: float, left_out: Floats) -> tuple[float, float]:
    """Jackknife interval: `left_out` has the estimate without each seed; NaN with one."""
    n = len(left_out)
    if n < 2:
        return np.nan, np.nan
    return _ends(estimate, float(np.sqrt((n - 1) / n * np.square(left_out - left_out.mean()).sum())), n - 1)


def _ends(estimate: float, error: float, freedom: int) -> tuple[float, float]:
    """Student's interval with so many degrees of freedom."""
    half = float(stdtrit(freedom, 0.5 + CONFIDENCE / 2) * error)
    return estimate - half, estimate + half


def _excess(n_models: int, changed: Floats, nothing: Floats, ends: tuple[float, float]) -> Excess:
    return Excess(
        n_models,
        float(changed.mean()),
        float(nothing.mean()),
        float(nothing.min()),
        float(nothing.max()),
        len(nothing),
        float((changed - nothing).mean()),
        *ends,
    )
