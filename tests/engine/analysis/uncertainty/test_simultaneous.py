"""Intervals for the worst of many against simulation with known truth."""

import numpy as np
import pytest
from scipy import stats

from engine.analysis.uncertainty.simultaneous import confidence_of_each, max_t_interval

N_DRAWS = 1000


def test_one_class_has_students_interval() -> None:
    changes = np.random.default_rng(0).normal(size=(6, 1))
    expected = stats.t.interval(0.95, 5, changes.mean(), stats.sem(changes[:, 0]))
    assert np.ravel(max_t_interval(changes)) == pytest.approx(expected)


def test_many_classes_have_that_of_the_largest_t() -> None:
    changes = np.random.default_rng(0).normal(size=(6, 10))
    low, high = max_t_interval(changes)
    critical = (high - low) / 2 / stats.sem(changes, axis=0)
    assert (2 * stats.t.cdf(critical, 5) - 1) ** 10 == pytest.approx(np.full(10, 0.95))
    assert confidence_of_each([1, 0])[0] == pytest.approx(0.95) and np.isnan(confidence_of_each(0))


def test_a_class_without_a_change_does_not_count() -> None:
    changes = np.random.default_rng(0).normal(size=(6, 3))
    with_nan = np.column_stack([changes, np.full(6, np.nan)])
    low, high = max_t_interval(with_nan)
    assert np.isnan([low[3], high[3]]).all()
    assert np.array([low[:3], high[:3]]) == pytest.approx(np.array(max_t_interval(changes)))
    assert np.isnan(max_t_interval(changes[:1])).all()


@pytest.mark.parametrize("shared", [0.0, 0.5])
@pytest.mark.parametrize("n_seeds", [3, 6])
def test_worst_of_ten_is_covered(n_seeds: int, shared: float) -> None:
    """All ten intervals hold together in 93 to 97 %, with classes that vary alone or in part together, unequally."""
    random = np.random.default_rng(n_seeds)
    truth, spread = np.full(10, -0.02), np.linspace(0.02, 0.03, 10)
    covered, alone = [], []
    for _ in range(N_DRAWS):
        together = np.sqrt(shared) * random.normal(size=(n_seeds, 1))
        changes = truth + spread * (together + np.sqrt(1 - shared) * random.normal(size=(n_seeds, 10)))
        low, high = max_t_interval(changes)
        covered.append(((low <= truth) & (high >= truth)).all())
        worst = changes.mean(axis=0).argmin()
        ends = stats.t.interval(0.95, n_seeds - 1, changes.mean(axis=0)[worst], stats.sem(changes[:, worst]))
        alone.append(ends[0] <= truth[worst] <= ends[1])
    assert 0.93 <= np.mean(covered) <= 0.97
    assert np.mean(alone) < 0.93, "one interval alone does not hold for a class picked after looking"
