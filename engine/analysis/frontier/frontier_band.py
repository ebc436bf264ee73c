"""Where would the frontier lie if the seeds were drawn again?"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.frontier.choice import Choice, reaches
from engine.analysis.frontier.resampling import SeedGrid

Floats = NDArray[np.float64]
N_STEPS = 40


def frontier_band(points: pd.DataFrame, grid: SeedGrid, choice: Choice, share: float = 0.9) -> pd.DataFrame:
    """Least unfairness at each sparsity or beyond, by rising sparsity: sparsity, low, high.

    Between low and high lie the frontiers of `share` of the redrawn seeds that reach so far; a sparsity that fewer
    than half of them reach is left out. Empty where there are fewer than two seeds.
    """
    empty = pd.DataFrame(columns=["sparsity", "low", "high"], dtype=float)
    number = points["point"].to_numpy()
    if len(grid.accuracy) < 2 or not choice.survivors.any():
        return empty
    place = _could_be_least(points, grid, choice)
    sparsity, unfairness, accuracy = grid.resampled(number[place])
    passed = reaches(accuracy, choice.threshold)
    at = np.unique(np.quantile(points["sparsity"].to_numpy()[choice.survivors], np.linspace(0, 1, N_STEPS)))
    least = np.full((len(sparsity), len(at)), np.inf)
    for column, start in enumerate(at.tolist()):
        reach = passed & (sparsity >= start - 1e-6)
        least[:, column] = np.where(reach, unfairness, np.inf).min(axis=1, initial=np.inf)
    ends = np.array([_weighted_ends(least[:, k], grid.draws.weights, share) for k in range(len(at))]).reshape(-1, 2)
    table = pd.DataFrame({"sparsity": at, "low": ends[:, 0], "high": ends[:, 1]})
    return table[np.isfinite(ends).all(axis=1)].reset_index(drop=True)


def _could_be_least(points: pd.DataFrame, grid: SeedGrid, choice: Choice) -> NDArray[np.intp]:
    """Places of points that some redraw could have on its frontier, by the least and largest of their seeds."""
    could = np.ones(len(points), bool) if choice.allowed is None else choice.allowed.copy()
    number = points["point"].to_numpy()
    best, worst = np.fmin.reduce(grid.unfairness[:, number]), np.fmax.reduce(grid.unfairness[:, number])
    could &= reaches(np.fmax.reduce(grid.accuracy[:, number]), choice.threshold) & np.isfinite(best)
    sure = could & reaches(np.fmin.reduce(grid.accuracy[:, number]), choice.threshold)
    sparsity = points["sparsity"].to_numpy(float)
    order = np.argsort(-sparsity, kind="stable")
    bound = np.minimum.accumulate(np.where(sure, worst, np.inf)[order])
    places: NDArray[np.intp] = np.sort(order[could[order] & (best[order] <= bound + 1e-9)])
    return places


def _weighted_ends(values: Floats, weights: Floats, share: float) -> tuple[float, float]:
    """Ends of the middle `share` of the finite values' weight; NaN if they have under half of all."""
    known = np.isfinite(values)
    if weights[known].sum() < 0.5:
        return np.nan, np.nan
    order = np.argsort(values[known])
    total = np.cumsum(weights[known][order])
    places = np.searchsorted(total, total[-1] * np.array([(1 - share) / 2, (1 + share) / 2]) - 1e-12)
    low, high = values[known][order][np.minimum(places, len(order) - 1)]
    return float(low), float(high)
