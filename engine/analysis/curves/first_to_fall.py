"""Which class falls first and for good, and how sure is that: how often does each when the seeds are drawn again?"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.curves.class_curves import first_to_fall, with_accuracy

DROP = 0.05
"""Loss against the baseline at which a class counts as fallen."""

N_RESAMPLES = 500


def fallen_for_good(curves: pd.DataFrame, drop: float = DROP) -> pd.DataFrame:
    """The rows of one model's `class_curves` from which on, at every sparser level too, a class loses more than `drop`.

    A class that dips and recovers, as happens by chance with few seeds, has none.
    """
    rows = curves.sort_values("level", ascending=False)
    lost = rows["dense_accuracy"] - rows["accuracy"] > drop
    return curves[lost.groupby(rows["class"]).cummin().reindex(curves.index)]


def first_fall(curves: pd.DataFrame, drop: float = DROP) -> pd.Series | None:
    """The row of one model's `class_curves` at which the first class falls for good; None if none does."""
    fallen = fallen_for_good(curves, drop)
    first = first_to_fall(fallen, drop)
    if first.name is None:
        return None
    return fallen[(fallen["class"] == first.name) & (fallen["level"] == first.level)].iloc[0]


def first_falls(classes: pd.DataFrame, drop: float = DROP, n_resamples: int = N_RESAMPLES) -> pd.Series:
    """Share of the resamples in which each class (index) falls first and for good, most often first; those in which
    none falls are in no share. Empty with fewer than two seeds or without anything to compare with.

    `classes` has the rows of one model; those of `beside_baselines` are compared with their `before`, others with
    dense. A class falls for good at the level from which on its mean over the drawn seeds is more than `drop` below
    that; at a tie, the one that loses most there is first.
    """
    table = with_accuracy(classes)
    places = pd.MultiIndex.from_product([np.sort(table[name].unique()) for name in ("level", "class")])
    levels, numbers = places.levels
    after = _by_seed(table, "accuracy", places)
    if "before" in table:
        before = _by_seed(table, "before", places)
    elif len(levels) and levels[0] == 0:
        before = np.tile(after[:, : len(numbers)], len(levels))
    else:
        return pd.Series(dtype=float)
    if len(after) < 2 or not np.isfinite(before).any():
        return pd.Series(dtype=float)
    draws = np.random.default_rng(0).multinomial(len(after), np.full(len(after), 1 / len(after)), n_resamples)
    lost = _means(draws.astype(float), before) - _means(draws.astype(float), after)
    first = _first(lost.reshape(n_resamples, len(levels), len(numbers)), drop)
    return pd.Series(numbers[first[first >= 0]]).value_counts() / n_resamples


def _by_seed(table: pd.DataFrame, value: str, places: pd.MultiIndex) -> NDArray[np.float64]:
    """The value of each seed (rows) at each level and class (columns)."""
    wide = table.pivot(index="seed", columns=["level", "class"], values=value)
    values: NDArray[np.float64] = wide.reindex(columns=places).to_numpy(float)
    return values


def _means(draws: NDArray[np.float64], seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of each column over the drawn seeds that have it, NaN where none has."""
    n = draws @ np.isfinite(seeds)
    means: NDArray[np.float64] = np.divide(draws @ np.nan_to_num(seeds), n, out=np.full(n.shape, np.nan), where=n > 0)
    return means


def _first(lost: NDArray[np.float64], drop: float) -> NDArray[np.intp]:
    """Place of the class that falls first in each of (draws, levels, classes); -1 where none does."""
    for_good = np.logical_and.accumulate((lost > drop)[:, ::-1], axis=1)[:, ::-1]
    falls = for_good.any(axis=(1, 2))
    level = for_good.any(axis=2).argmax(axis=1)
    draw = np.arange(len(lost))
    there = np.where(for_good[draw, level], lost[draw, level], -np.inf)
    return np.where(falls, there.argmax(axis=1), -1)
