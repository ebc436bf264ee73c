"""Resamples of seeds: every multiset once, with its probability; means against the drawn seeds themselves."""

from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.resampling import MANY_SEEDS, resampled_means, resamples, seed_grid


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_enumeration_equals_all_ordered_draws(n: int) -> None:
    draws = resamples(n)
    assert draws.exact and len(draws.weights) == comb(2 * n - 1, n)
    counted: dict[tuple[int, ...], float] = {}
    for draw in product(range(n), repeat=n):
        key = tuple(np.bincount(draw, minlength=n).tolist())
        counted[key] = counted.get(key, 0) + n**-n
    got = {tuple(row.astype(int).tolist()): weight for row, weight in zip(draws.counts, draws.weights, strict=True)}
    assert got == pytest.approx(counted)


@pytest.mark.parametrize(("n", "size"), [(6, 462), (8, 6435), (9, 500), (40, 500)])
def test_weights_add_to_one_and_each_draws_n(n: int, size: int) -> None:
    draws = resamples(n)
    assert draws.weights.sum() == pytest.approx(1) and len(draws.weights) == size
    assert (draws.counts.sum(axis=1) == n).all() and draws.exact == (n <= 8)
    np.testing.assert_array_equal(draws.counts, resamples(n).counts)


def test_means_are_those_of_the_drawn_seeds() -> None:
    numbers = np.array([[1.0, np.nan, 5.0], [2.0, 4.0, np.nan], [6.0, 8.0, np.nan]])
    counts = np.array([[3.0, 0, 0], [1, 2, 0], [0, 1, 2]])
    expected = [[1, 6, 5], [5 / 3, 4, 5], [14 / 3, 20 / 3, 5]]
    np.testing.assert_allclose(resampled_means(numbers, counts), expected)
    np.testing.assert_allclose(resampled_means(numbers[:, :1], counts), np.array(expected)[:, :1])


def seed_rows(seed: list[int], point: list[int]) -> pd.DataFrame:
    """Models whose numbers are their rows."""
    rows = pd.DataFrame({"point": point, "seed": seed, "sparsity": 0.0, "accuracy": 1.0})
    return rows.assign(max_min=np.arange(len(rows), dtype=float))


def test_grid_pairs_by_seed_and_by_rank_where_that_fails() -> None:
    by_seed = seed_grid(seed_rows([4, 7, 9, 4, 9], [0, 0, 0, 1, 1]), "max_min").unfairness
    np.testing.assert_array_equal(by_seed, [[0, 3], [1, np.nan], [2, 4]])
    twice = seed_grid(seed_rows([4, 4, 9, 4, 9], [0, 0, 0, 1, 1]), "max_min").unfairness
    np.testing.assert_array_equal(twice, [[0, 3], [1, 4], [2, np.nan]])
    many = seed_grid(seed_rows(list(range(2 * MANY_SEEDS)), [0] * MANY_SEEDS + [1] * MANY_SEEDS), "max_min")
    assert many.unfairness.shape == (MANY_SEEDS, 2) and np.isfinite(many.unfairness).all()


def test_grid_of_nothing_is_empty() -> None:
    assert seed_grid(seed_rows([], []), "max_min").accuracy.shape == (0, 0)
