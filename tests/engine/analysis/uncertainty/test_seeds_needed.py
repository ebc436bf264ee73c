"""Seeds that settle a close call: against statsmodels' power of a paired t-test."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from engine.analysis.uncertainty.seeds_needed import MOST, paired_power, seeds_needed


@pytest.mark.parametrize("effect", [0.25, 0.5, 0.9, 1.7, 4.0])
def test_power_is_that_of_statsmodels(effect: float) -> None:
    found = {n: float(TTestPower().power(effect, n, 0.05)) for n in (2, 3, 8, 40)}
    finite = {n: power for n, power in found.items() if power == power}  # it is NaN far out
    assert len(finite) >= 2
    assert {n: paired_power(effect, n) for n in finite} == pytest.approx(finite, abs=2e-4)
    assert paired_power(effect, 40) >= paired_power(effect, 8) > paired_power(effect, 3) > 0.05


@pytest.mark.parametrize("mean", [0.3, 0.6, 1.5, -1.0])
def test_the_number_is_the_least_that_reaches_the_power(mean: float) -> None:
    base = np.array([-1.0, 1.0, -1.0, 1.0, 0.0])
    other = np.zeros(5)
    found = seeds_needed(base + mean, other)
    effect = abs(mean) / base.std(ddof=1)
    assert found.n == math.ceil(TTestPower().solve_power(effect, power=0.8, alpha=0.05) - 1e-9)
    assert found.n_now == 5 and found.mean == pytest.approx(mean)


def test_what_cannot_be_settled_says_why() -> None:
    same = np.array([1.0, 2.0, 3.0])
    assert "same in every seed" in seeds_needed(same, same).reason
    assert "fewer than two" in seeds_needed(np.array([1.0, np.nan]), np.array([0.0, 1.0])).reason
    close = seeds_needed(same + np.array([0.1, -0.1, 0.001]), same)
    assert math.isnan(close.n) and str(MOST) in close.reason
    assert seeds_needed(same + 1, same).n == 2
