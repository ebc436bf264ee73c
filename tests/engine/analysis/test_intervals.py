"""Intervals against scipy and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from engine.analysis.intervals import share_interval, t_interval, wilson_interval


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_t_interval_equals_scipy(confidence: float) -> None:
    samples = np.random.default_rng(0).normal(size=(20, 6))
    got = t_interval(samples.mean(1), samples.std(1, ddof=1), 6, confidence)
    expected = stats.t.interval(confidence, 5, samples.mean(1), stats.sem(samples, axis=1))
    assert np.array(got) == pytest.approx(np.array(expected))


def test_t_interval_of_one_seed_is_nan() -> None:
    low, high = t_interval([0.5, 0.5], [np.nan, 0.1], [1, 2])
    assert np.isnan([low[0], high[0]]).all() and np.isfinite([low[1], high[1]]).all()


def test_t_interval_covers_a_planted_mean() -> None:
    samples = np.random.default_rng(1).normal(0.9, 0.02, size=(1000, 6))
    low, high = t_interval(samples.mean(1), samples.std(1, ddof=1), 6)
    assert 0.93 <= np.mean((low <= 0.9) & (high >= 0.9)) <= 0.97


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_wilson_interval_equals_statsmodels(confidence: float) -> None:
    n = np.repeat([1, 7, 500], 3)
    correct = np.array([0, 1, 1, 0, 3, 7, 0, 499, 500])
    expected = proportion_confint(correct, n, alpha=1 - confidence, method="wilson")
    assert np.array(wilson_interval(correct, n, confidence)) == pytest.approx(np.array(expected), abs=1e-12)


def test_wilson_interval_of_nothing_is_nan() -> None:
    assert np.isnan(wilson_interval(0, 0)).all()


def test_ends_of_an_interval_of_shares_are_shares() -> None:
    low, high = share_interval([0.99, 0.01, 0.5], [0.02, 0.02, 0.02], [3, 3, 3])
    plain_low, plain_high = t_interval([0.99, 0.01, 0.5], [0.02, 0.02, 0.02], [3, 3, 3])
    assert plain_high[0] > 1 and high[0] == 1 and plain_low[1] < 0 and low[1] == 0
    assert (low[2], high[2]) == (plain_low[2], plain_high[2])
