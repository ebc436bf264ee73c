"""What would a gap between equal groups look like: groups of these sizes that a model serves with one accuracy.

Examples count as independent. Drawn once per sizes and kept, never while somebody moves a slider.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.class_matrices import as_matrices
from engine.analysis.columns import CLASS
from engine.analysis.unfairness import UNFAIRNESS

Floats = NDArray[np.float64]

N_NODES = 64
"""Accuracies for which draws are made; those between have what lies between. They are evenly spaced in
arcsin(sqrt(accuracy)), in which the spread of a share is smooth."""
MOST_DRAWS, LEAST_DRAWS, CELLS = 4_000, 1_000, 400_000
CONFIDENCE = 0.95
SEED = 0
SIDES = ("floor", "floor_high")
"""What stands behind a measure's name where its expected value and its 95 % point between equal groups are columns."""

FLOOR_MEASURES = tuple(key for key, row in UNFAIRNESS.items() if row.needs == ("accuracy",))
"""Measures of one model's accuracies; those that look back would need what both networks get right together."""
NO_FLOOR = "what equal groups would show is known for gaps of one network only, not for changes"


@dataclass(frozen=True, eq=False)
class NoiseFloor:
    """A measure between groups that do not differ: its expected value, and what it exceeds in 5 % of draws."""

    expected: Floats
    high: Floats


def noise_floor(n: ArrayLike, accuracy: ArrayLike, measure: str = "max_min") -> NoiseFloor:
    """What the measure shows between equal groups of `n` examples each, for every accuracy.

    From seeded binomial draws. NaN for an accuracy that is NaN, for fewer than two groups where the measure needs them,
    and for measures that are not in FLOOR_MEASURES.
    """
    rates = np.asarray(accuracy, float)
    expected, high = np.full(rates.shape, np.nan), np.full(rates.shape, np.nan)
    sizes = tuple(sorted(int(size) for size in np.asarray(n, float).ravel() if size > 0))
    estimable = np.isfinite(rates)
    if measure not in FLOOR_MEASURES or not sizes or not estimable.any():
        return NoiseFloor(expected, high)
    place = np.arcsin(np.sqrt(np.clip(rates[estimable], 0, 1))) / (np.pi / 2) * N_NODES
    lower = np.minimum(place.astype(int), N_NODES - 1)
    needed = np.unique([lower, lower + 1])
    drawn = np.array([_drawn(sizes, int(node))[measure] for node in needed])
    for side, column in ((expected, drawn[:, 0]), (high, drawn[:, 1])):
        side[estimable] = np.interp(place, needed, column)
    return NoiseFloor(expected, high)


def noise_floors(rows: pd.DataFrame, measures: tuple[str, ...] = FLOOR_MEASURES) -> pd.DataFrame:
    """One row per run and level: run, level, and for each measure `<measure>_floor` and `<measure>_floor_high`.

    `rows` are a table of classes, or `group_rows`; the accuracy is that over all of the model's groups together.
    """
    models = as_matrices(rows if CLASS in rows else rows.rename(columns={"place": CLASS}))
    table = rows.iloc[models.first][["run", "level"]].reset_index(drop=True)
    columns = {f"{measure}_{side}": np.full(len(table), np.nan) for measure in measures for side in SIDES}
    for block in models.blocks():
        n = np.nan_to_num(block.sizes())
        total = n.sum(axis=1)
        accuracy = np.nansum(block.matrix("correct"), axis=1) / np.where(total > 0, total, np.nan)
        alike, number = np.unique(np.sort(n, axis=1), axis=0, return_inverse=True)
        for place, sizes in enumerate(alike):
            here = np.flatnonzero(number.ravel() == place)
            for measure in measures:
                floor = noise_floor(sizes, accuracy[here], measure)
                for side, values in zip(SIDES, (floor.expected, floor.high), strict=True):
                    columns[f"{measure}_{side}"][block.models[here]] = values
    return table.assign(**columns)


@lru_cache(maxsize=8_192)
def _drawn(sizes: tuple[int, ...], node: int) -> dict[str, tuple[float, float]]:
    """Expected value and 95 % point of each measure at one accuracy."""
    accuracy = float(np.sin(np.pi / 2 * node / N_NODES) ** 2)
    n_draws = int(np.clip(CELLS // len(sizes), LEAST_DRAWS, MOST_DRAWS))
    rng = np.random.default_rng([SEED, node])
    shares = rng.binomial(sizes, accuracy, (n_draws, len(sizes))) / np.array(sizes)
    values = {key: UNFAIRNESS[key].compute(shares) for key in FLOOR_MEASURES}
    return {
        key: (float(draws.mean()), float(np.quantile(draws, CONFIDENCE, method="inverted_cdf")))
        for key, draws in values.items()
    }
