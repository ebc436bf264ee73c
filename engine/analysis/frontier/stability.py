"""How sure is the choice: how often is each point chosen when the seeds are drawn again?"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.frontier.choice import ROUNDING, Choice, reaches, value

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

ONE_SEED = "one seed only, so that there is nothing to draw from"
CELLS = 50_000
"""Resampled means held at a time; few enough to stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How a choice holds when seeds are resampled."""

    table: pd.DataFrame
    """One row per contender, most often chosen first: position, n_seeds, share, passes, reason."""
    nothing: float
    """Share of the resamples in which no point reaches the threshold; NaN if no contender has two seeds."""
    n_resamples: int


@dataclass(frozen=True, eq=False)
class SeedMeans:
    """Means of drawn seeds, (n_points, n_resamples) each by the point's number, NaN for a point without an estimate.

    Neither threshold nor weight plays a part, so that a page draws once.
    """

    measure: str
    sparsity: Floats
    unfairness: Floats
    accuracy: Floats


@dataclass(frozen=True, eq=False)
class _Contenders:
    """Points that a draw may choose, with value and accuracy of each seed in a row; point i has n_seeds[i] of them,
    from starts[i] on."""

    position: Ints
    starts: Ints
    n_seeds: Ints
    values: Floats
    accuracy: Floats


def seed_means(seeds: pd.DataFrame, measure: str, n_resamples: int = 500, seed: int = 0) -> SeedMeans:
    """What `agreement` draws, for every point of `seed_points`; it takes 24 bytes a point and resample."""
    columns = seeds[["sparsity", measure, "accuracy"]].to_numpy(float)
    known = np.flatnonzero(np.isfinite(columns).all(axis=1))
    point = seeds["point"].to_numpy()[known]
    starts = np.flatnonzero(np.diff(point, prepend=-1))
    n_seeds = np.diff(starts, append=len(known))
    draws = seed_draws(n_resamples, int(n_seeds.max(initial=0)), seed)
    means = np.full((3, int(seeds["point"].max()) + 1 if len(seeds) else 0, n_resamples), np.nan)
    for n in np.unique(n_seeds):
        these = starts[n_seeds == n]
        drawn = columns[known[these + np.arange(n)[:, None]]]
        means[:, point[these]] = (_shares(draws, n) @ drawn.reshape(n, -1)).reshape(n_resamples, -1, 3).T
    return SeedMeans(measure, *means)


def agreement(
    points: pd.DataFrame,
    seeds: pd.DataFrame,
    choice: Choice,
    n_resamples: int = 500,
    seed: int = 0,
    means: SeedMeans | None = None,
) -> Agreement:
    """Bootstrap over seeds: each point's n seeds are drawn n times with replacement, then threshold and value decide.

    `seeds` comes from `seed_points`, `points` from `operating_points` (rows may be left out). One draw serves all
    points with equally many seeds: runs of one seed share split and dense network, so they are compared within it.
    `share` counts a tie for each of its points; `passes` is the share of resamples that reach the threshold. Both are
    NaN for a point with one seed, which still takes part with its one value. Points that no draw can choose are no
    contenders. Given `means` of all these seeds, what they hold is not drawn again.
    """
    contenders = _contenders(points, seeds, choice)
    n = contenders.n_seeds
    wins, passes, nothing = np.zeros(len(n)), np.zeros(len(n)), 0
    if means is not None:
        n_resamples = means.accuracy.shape[1]
        parts: Iterable[tuple[Floats, Floats]]
        parts = [_looked_up(means, points["point"].to_numpy()[contenders.position], choice)]
    else:
        draws = seed_draws(n_resamples, int(n.max(initial=0)), seed)
        pieces = np.array_split(draws, 1 + n_resamples * len(n) // CELLS, axis=1)
        parts = (_resampled(contenders, piece) for piece in pieces)
    for values, accuracy in parts:
        passed = reaches(accuracy, choice.threshold)
        values[~passed] = -np.inf
        best = values.max(axis=1, initial=-np.inf)
        passes += passed.sum(axis=0)
        wins += (passed & (values >= best[:, None] - _slack(choice))).sum(axis=0)
        nothing += int((best == -np.inf).sum())
    alone = n < 2
    table = pd.DataFrame(
        {
            "position": contenders.position,
            "n_seeds": n,
            "share": np.where(alone, np.nan, wins / n_resamples),
            "passes": np.where(alone, np.nan, passes / n_resamples),
            "reason": np.where(alone, ONE_SEED, ""),
        }
    ).sort_values("share", ascending=False, kind="stable", ignore_index=True)
    return Agreement(table, np.nan if alone.all() else nothing / n_resamples, n_resamples)


def seed_draws(n_resamples: int, most: int, seed: int) -> Floats:
    """Numbers in [0, 1), (most seeds, n_resamples); draw k of a point with n seeds takes seed floor(n x number k)."""
    return np.random.default_rng(seed).random((most, n_resamples))


def _resampled(contenders: _Contenders, draws: Floats) -> tuple[Floats, Floats]:
    """Mean value and accuracy of the drawn seeds, (n_resamples, n_contenders) each."""
    values, accuracy = np.empty((2, draws.shape[1], len(contenders.position)))
    for n in np.unique(contenders.n_seeds):
        these = np.flatnonzero(contenders.n_seeds == n)
        rows = contenders.starts[these] + np.arange(n)[:, None]
        shares = _shares(draws, n)
        values[:, these] = shares @ contenders.values[rows]
        accuracy[:, these] = shares @ contenders.accuracy[rows]
    return values, accuracy


def _shares(draws: Floats, n: int) -> Floats:
    """How much of each draw each of n seeds is, (n_resamples, n)."""
    drawn = (draws[:n] * n).astype(int) + n * np.arange(draws.shape[1])
    return np.bincount(drawn.ravel(), minlength=n * draws.shape[1]).reshape(-1, n) / n


def _looked_up(means: SeedMeans, point: Ints, choice: Choice) -> tuple[Floats, Floats]:
    """What `_resampled` gives, from means that were drawn before."""
    if means.measure != choice.measure:
        raise ValueError(f"The means are of {means.measure!r}, the choice is by {choice.measure!r}.")
    values = value(means.sparsity[point], means.unfairness[point], choice.weight)
    return values.T, means.accuracy[point].T


def _contenders(points: pd.DataFrame, seeds: pd.DataFrame, choice: Choice) -> _Contenders:
    """The points that some draw could choose, with the chosen point and its runner-up in any case.

    A mean of drawn seeds lies between the least and the largest of them, which bounds each point's value and accuracy.
    """
    point = seeds["point"].to_numpy()
    place = np.full(point.max(initial=-1) + 1, -1)
    place[points["point"].to_numpy()] = np.arange(len(points))
    accuracy = seeds["accuracy"].to_numpy(float)
    values = value(seeds["sparsity"], seeds[choice.measure], choice.weight)
    rows = np.flatnonzero((place[point] >= 0) & np.isfinite(values) & np.isfinite(accuracy))
    point, values, accuracy = point[rows], values[rows], accuracy[rows]
    starts = np.flatnonzero(np.diff(point, prepend=-1))
    if not len(starts):
        return _Contenders(starts, starts, starts, values, accuracy)
    sure = reaches(np.minimum.reduceat(accuracy, starts), choice.threshold)
    beaten = np.minimum.reduceat(values, starts)[sure].max(initial=-np.inf) - _slack(choice)
    could = np.maximum.reduceat(values, starts) >= beaten
    could &= reaches(np.maximum.reduceat(accuracy, starts), choice.threshold - ROUNDING)
    position = place[point[starts]]
    could |= np.isin(position, [place for place in (choice.chosen, choice.runner_up) if place is not None])
    n_seeds = np.diff(starts, append=len(rows))
    return _Contenders(position[could], starts[could], n_seeds[could], values, accuracy)


def _slack(choice: Choice) -> float:
    """Difference of values that rounding alone may make; below it points tie."""
    return ROUNDING * max(1.0, choice.weight)
