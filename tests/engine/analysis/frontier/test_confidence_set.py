"""The confidence set against arch's, against one elimination at a time, and against a known truth."""

import os

import numpy as np
import pytest
import scipy.stats
from arch.bootstrap import MCS

from engine.analysis.frontier.confidence_set import confidence_set, paired_difference
from engine.analysis.frontier.resampling import Resamples, resamples

N_SIMULATED = 1000 if os.environ.get("PRUNESCOPE_FULL") else 150


def simulated(rng: np.random.Generator, n: int, means: np.ndarray) -> np.ndarray:
    """Values by seed and point: what a seed does to all points, and noise of each."""
    values: np.ndarray = means + rng.normal(size=(n, 1)) + rng.normal(size=(n, len(means)))
    return values


@pytest.mark.parametrize(("n", "k"), [(3, 5), (6, 2), (6, 12), (12, 6)])
def test_set_contains_the_best(n: int, k: int) -> None:
    rng, draws = np.random.default_rng(n * k), resamples(n, 300)
    contained = 0
    for _ in range(N_SIMULATED):
        means = -np.sort(rng.exponential(0.5, k))
        contained += confidence_set(simulated(rng, n, means), draws)[0]
    share = contained / N_SIMULATED
    assert share >= 0.95 - (0 if N_SIMULATED == 1000 else 2 * np.sqrt(0.05 * 0.95 / N_SIMULATED))


def test_set_equals_that_of_arch() -> None:
    rng, agree = np.random.default_rng(0), 0
    for trial in range(15):
        values = simulated(rng, 30, np.linspace(0, -1.5, 6))
        draws = resamples(30, 1000, seed=trial)
        mine = set(np.flatnonzero(confidence_set(values, draws, small_sample=False)).tolist())
        # Blocks of one are the plain bootstrap over seeds.
        referee = MCS(-values, 0.05, reps=1000, block_size=1, method="max", bootstrap="circular", seed=trial)
        referee.compute()
        agree += mine == set(referee.included)
    assert agree >= 13, "the two draw different resamples, so that a border case may differ"


def one_at_a_time(values: np.ndarray, draws: Resamples, level: float = 0.05) -> set[int]:
    """Hansen's elimination as his paper writes it."""
    inside = list(range(values.shape[1]))
    means, drawn = values.mean(axis=0), draws.counts @ values / len(values)
    while len(inside) > 1:
        behind = means[inside].mean() - means[inside]
        noise = drawn[:, inside].mean(axis=1)[:, None] - drawn[:, inside] - behind
        error = np.sqrt(draws.weights @ noise**2)
        largest = (noise / error).max(axis=1)
        if draws.weights[largest > (behind / error).max()].sum() > level:
            break
        inside.pop(int((behind / error).argmax()))
    return set(inside)


@pytest.mark.parametrize("n", [6, 20])
def test_rounds_eliminate_what_single_steps_do(n: int) -> None:
    rng, draws, agree = np.random.default_rng(n), resamples(n, 400), 0
    for _ in range(40):
        values = simulated(rng, n, np.linspace(0, -2, 10))
        agree += set(np.flatnonzero(confidence_set(values, draws, small_sample=False))) == one_at_a_time(values, draws)
    assert agree >= 36


def test_two_points_are_compared_by_students_t() -> None:
    rng, draws = np.random.default_rng(3), resamples(6)
    for _ in range(60):
        values = simulated(rng, 6, np.array([0.0, -1.5]))
        p = scipy.stats.ttest_rel(values[:, 0], values[:, 1]).pvalue
        if not 0.02 < p < 0.05:  # the widened limit may lie a little above Student's
            assert confidence_set(values, draws).all() == (p > 0.05)


def test_equal_points_stay_together_and_sure_ones_stand_alone() -> None:
    values = np.random.default_rng(0).normal(size=(6, 1)) + np.array([1.0, 1.0, 0.5])
    assert confidence_set(values, resamples(6)).tolist() == [True, True, False]


def test_point_with_one_seed_cannot_be_told() -> None:
    values = np.random.default_rng(0).normal(0, 0.01, size=(6, 3)) + np.array([1.0, 0.5, 0.0])
    values[1:, 2] = np.nan
    assert confidence_set(values, resamples(6)).tolist() == [True, False, True]
    assert confidence_set(values[:1], resamples(1)).all()


def test_difference_needs_two_common_seeds() -> None:
    one, other = np.array([1.0, 2.0, np.nan]), np.array([0.5, np.nan, 1.0])
    got = paired_difference(one, other)
    assert got.mean == 0.5 and np.isnan(got.low) and got.n_seeds == 1
    assert np.isnan(paired_difference(one[2:], other[2:]).mean)
