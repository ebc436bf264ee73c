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
CHANGE_MEASURES = tuple(key for key, row in UNFAIRNESS.items() if row.needs == ("accuracy", "dense"))
"""Measures of a change; their noise depends on how many examples were lost and gained since the baseline."""


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


def change_noise_floor(n: ArrayLike, lost: ArrayLike, gained: ArrayLike, measure: str = "change_range") -> NoiseFloor:
    """What a measure of CHANGE_MEASURES shows between groups of `n` examples that change equally, for every model.

    `lost` is the share of all examples that the baseline gets right and the model does not, `gained` the reverse. NaN
    where one of them is.
    """
    pairs = np.stack(np.broadcast_arrays(np.asarray(lost, float), np.asarray(gained, float)), axis=-1)
    sizes = tuple(sorted(int(size) for size in np.asarray(n, float).ravel() if size > 0))
    floors = np.full(pairs.shape, np.nan)
    for place in np.ndindex(pairs.shape[:-1]):
        if measure in CHANGE_MEASURES and sizes and np.isfinite(pairs[place]).all():
            floors[place] = _drawn_changes(sizes, *pairs[place].tolist())[measure]
    return NoiseFloor(floors[..., 0], floors[..., 1])


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
    rng = np.random.default_rng([SEED, node])
    shares = rng.binomial(sizes, accuracy, _shape(sizes)) / np.array(sizes)
    return {key: _ends(UNFAIRNESS[key].compute(shares)) for key in FLOOR_MEASURES}


@lru_cache(maxsize=8_192)
def _drawn_changes(sizes: tuple[int, ...], lost: float, gained: float) -> dict[str, tuple[float, float]]:
    """Expected value and 95 % point of each measure of a change at one share lost and one gained."""
    rng, n = np.random.default_rng(SEED), np.array(sizes)
    losses = rng.binomial(n, lost, _shape(sizes))
    gains = rng.binomial(n - losses, min(gained / (1 - lost), 1.0) if lost < 1 else 0.0)
    change = (gains - losses) / n
    return {key: _ends(UNFAIRNESS[key].compute(change, np.zeros_like(change))) for key in CHANGE_MEASURES}


def _shape(sizes: tuple[int, ...]) -> tuple[int, int]:
    """Draws and groups."""
    return int(np.clip(CELLS // len(sizes), LEAST_DRAWS, MOST_DRAWS)), len(sizes)


def _ends(draws: Floats) -> tuple[float, float]:
    return float(draws.mean()), float(np.quantile(draws, CONFIDENCE, method="inverted_cdf"))
