"""The band of redrawn frontiers: equal to brute force over all redraws, wider where seeds differ, empty for one."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.frontier_band import frontier_band
from engine.analysis.frontier.points import pareto_front
from engine.analysis.frontier.resampling import SeedGrid, resampled_means, seed_grid

N_POINTS = 30


def made(n_seeds: int, spread: float, seed: int = 0) -> tuple[pd.DataFrame, SeedGrid]:
    rng = np.random.default_rng(seed)
    sparsity = np.sort(rng.uniform(0, 0.99, N_POINTS)).round(3)
    gap = 0.05 + 0.3 * sparsity**4 + rng.uniform(0, 0.1, N_POINTS)
    rows = [
        (point, s, sparsity[point], gap[point] + spread * rng.normal(), 0.95 + 0.01 * rng.normal())
        for point in range(N_POINTS)
        for s in range(n_seeds)
    ]
    seeds = pd.DataFrame(rows, columns=["point", "seed", "sparsity", "max_min", "accuracy"])
    points = seeds.groupby("point").mean().drop(columns="seed").reset_index().assign(dense=-1)
    return points, seed_grid(seeds, "max_min")


@pytest.mark.parametrize("seed", range(3))
def test_band_equals_brute_force(seed: int) -> None:
    points, grid = made(4, 0.02, seed)
    choice = choose(points, 0.945, 1.0)
    band = frontier_band(points, grid, choice)
    means = [resampled_means(part, grid.draws.counts) for part in (grid.sparsity, grid.unfairness, grid.accuracy)]
    for row in band.itertuples():
        least = []
        for sparsity, unfairness, accuracy in zip(*means, strict=True):
            on = accuracy >= 0.945 - 1e-9
            front = pareto_front(sparsity[on], unfairness[on])
            beyond = unfairness[on][front & (sparsity[on] >= row.sparsity - 1e-6)]
            least.append(beyond.min() if len(beyond) else np.inf)
        values, weights = np.array(least), grid.draws.weights
        inside = (values >= row.low - 1e-12) & (values <= row.high + 1e-12)
        assert weights[inside].sum() >= 0.9 * weights[np.isfinite(values)].sum() - 1e-9
        assert np.isclose(values, row.low).any() and np.isclose(values, row.high).any()


def test_band_is_as_wide_as_seeds_differ() -> None:
    widths = []
    for spread in (0.0, 0.02):
        points, grid = made(5, spread)
        band = frontier_band(points, grid, choose(points, 0.9, 1.0))
        widths.append((band["high"] - band["low"]).mean())
    assert widths[0] == pytest.approx(0, abs=1e-9) and widths[1] > 0.005


def test_one_seed_has_no_band() -> None:
    points, grid = made(1, 0.02)
    assert frontier_band(points, grid, choose(points, 0.5, 1.0)).empty


def test_nothing_that_reaches_has_no_band() -> None:
    points, grid = made(3, 0.02)
    assert frontier_band(points, grid, choose(points, 1.0, 1.0)).empty
