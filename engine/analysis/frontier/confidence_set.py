"""Which points cannot be told from the best, and how far do two of them differ, seed by seed?"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, stdtrit

from engine.analysis.frontier.resampling import Resamples, resampled_means
from engine.analysis.intervals import t_interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TIE = 1e-20
"""Variance of a difference below which points move together: rounding alone."""

BINS = 256
HALVINGS = 24
RATIOS = np.linspace(0, 6, 3001)


@dataclass(frozen=True)
class PairedDifference:
    """Mean over common seeds of one point minus another, with Student's 95 % interval; NaN ends below two seeds."""

    mean: float
    low: float
    high: float
    n_seeds: int


def paired_difference(one: Floats, other: Floats) -> PairedDifference:
    """Of two points' numbers, seed by seed; seeds that one of them lacks are left out."""
    differences = (one - other)[np.isfinite(one) & np.isfinite(other)]
    n = len(differences)
    if not n:
        return PairedDifference(np.nan, np.nan, np.nan, 0)
    low, high = t_interval(differences.mean(), differences.std(ddof=1) if n > 1 else np.nan, n)
    return PairedDifference(float(differences.mean()), float(low), float(high), n)


def confidence_set(
    values: Floats,
    draws: Resamples,
    confidence: float = 0.95,
    small_sample: bool = True,
    means: Floats | None = None,
) -> Bools:
    """True for points that cannot be told from the one with the highest mean (Hansen, Lunde and Nason 2011).

    `values` are by seed and point, and one resample serves all points; `means` are their resampled means, where they
    are at hand. In rounds, points that lie further behind the mean of those still in than the largest t of the
    resamples allows go out together. With few seeds resamples are too narrow, so `small_sample` widens the variance by
    n / (n - 1) and mixes the largest t with the chi of n - 1 degrees, as Student does; without it the test is Hansen's
    own. A point with one seed cannot be told and stays in.
    """
    n = np.isfinite(values).sum(axis=0)
    stays = np.ones(values.shape[1], bool)
    members = np.flatnonzero(n > 1)
    if len(members) < 2:
        return stays
    drawn = resampled_means(values, draws.counts) if means is None else means
    centres = np.nanmean(values[:, members], axis=0)
    shifts = drawn[:, members] - centres
    n, inside = n[members], np.arange(len(members))
    while len(inside) > 1:
        behind = centres[inside].mean() - centres[inside]
        still = shifts[:, inside]
        noise = still.mean(axis=1, keepdims=True) - still
        variance = (draws.weights[:, None] * noise**2).sum(axis=0)
        freedom = n[inside] - 1 if small_sample else np.zeros(len(inside), int)
        if small_sample:
            variance = variance * n[inside] / freedom
        # Points that move together differ surely, if they differ at all.
        error = np.sqrt(np.maximum(variance, TIE))
        largest = (noise / error).max(axis=1)
        limits = {k: _limit(largest, draws.weights, 1 - confidence, k) for k in set(freedom.tolist())}
        out = behind / error > [limits[k] for k in freedom.tolist()]
        if not out.any():
            break
        inside = inside[~out]
    stays[members] = False
    stays[members[inside]] = True
    return stays


@cache
def _chi_shares(freedom: int) -> Floats:
    """P(chi / sqrt(freedom) <= ratio) at each of RATIOS."""
    shares: Floats = chdtr(freedom, freedom * RATIOS**2)
    return shares


def _limit(largest: Floats, weights: Floats, level: float, freedom: int) -> float:
    """What the largest t exceeds with probability `level`; over the chi of so many degrees, if any."""
    if not freedom:
        order = np.argsort(-largest)
        above = np.cumsum(weights[order])
        return float(largest[order][min(int(np.searchsorted(above, level, side="right")), len(order) - 1)])
    heights, edges = np.histogram(largest, BINS, (0.0, max(float(largest.max()), 1e-9)), weights=weights)
    middles, low, high = (edges[1:] + edges[:-1]) / 2, 1e-9, float(edges[-1])
    while heights @ np.interp(middles / high, RATIOS, _chi_shares(freedom)) > level:
        high *= 4
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        exceeds = heights @ np.interp(middles / middle, RATIOS, _chi_shares(freedom)) > level
        low, high = (middle, high) if exceeds else (low, middle)
    # Two points are compared by Student's t; more of them never by less.
    return max(high, float(stdtrit(freedom, 1 - level / 2)))
