"""The noise floor against the exact distribution of a range, against plain draws, and on models that are equal."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.analysis.noise_floor import (
    CHANGE_MEASURES,
    FLOOR_MEASURES,
    change_noise_floor,
    noise_floor,
    noise_floors,
)
from engine.analysis.unfairness import UNFAIRNESS


def exact_range(n: list[int], accuracy: float) -> tuple[float, float]:
    """Expected value and 95 % point of max - min of the shares, summed over all that it can be."""
    support = np.unique(np.concatenate([np.arange(size + 1) / size for size in n]))

    def below(bound: np.ndarray) -> np.ndarray:
        """P(share <= bound), one row per group."""
        return np.array([stats.binom.cdf(np.floor(bound * size + 1e-9), size, accuracy) for size in n])

    at = np.array([stats.binom.pmf(np.rint(support * size), size, accuracy) for size in n])
    at *= [[abs(s * size - round(s * size)) < 1e-9 for s in support] for size in n]
    up_to = below(support)

    def at_most(width: float) -> float:
        inside = below(support + width) - up_to
        return float((np.prod(inside + at, axis=0) - np.prod(inside, axis=0)).sum())

    expected = support @ np.diff(np.prod(up_to, axis=0), prepend=0) - support @ -np.diff(
        np.append(np.prod(1 - up_to + at, axis=0), 0)
    )
    widths = np.unique(np.round(support[:, None] - support[None, :], 12))
    widths = widths[widths >= 0]
    low, high = 0, len(widths) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if at_most(widths[middle] + 1e-9) >= 0.95 else (middle + 1, high)
    return float(expected), float(widths[low])


@pytest.mark.parametrize("n", [[100] * 10, [20, 30, 45], [50, 50], [25] * 40])
@pytest.mark.parametrize("accuracy", [0.3, 0.77, 0.95, 0.99])
def test_floor_of_max_min_equals_the_exact_distribution(n: list[int], accuracy: float) -> None:
    expected, high = exact_range(n, accuracy)
    floor = noise_floor(n, accuracy)
    assert float(floor.expected) == pytest.approx(expected, rel=0.04)
    assert float(floor.high) == pytest.approx(high, abs=1.01 / min(n))


@pytest.mark.parametrize("measure", FLOOR_MEASURES)
def test_floor_of_each_measure_equals_plain_draws(measure: str) -> None:
    n, accuracy = np.array([40, 60, 200, 500]), 0.83
    shares = np.random.default_rng(5).binomial(n, accuracy, (20_000, 4)) / n
    draws = UNFAIRNESS[measure].compute(shares)
    floor = noise_floor(n, accuracy, measure)
    assert float(floor.expected) == pytest.approx(draws.mean(), rel=0.03)
    assert float(floor.high) == pytest.approx(np.quantile(draws, 0.95), rel=0.05)


@pytest.mark.parametrize("measure", CHANGE_MEASURES)
def test_floor_of_changes_equals_draws_of_single_examples(measure: str) -> None:
    n, lost, gained = np.array([40, 60, 100]), 0.12, 0.03
    rng, groups = np.random.default_rng(7), np.repeat(np.arange(3), n)
    drawn = rng.choice([-1, 1, 0], (4_000, len(groups)), p=[lost, gained, 1 - lost - gained])
    change = np.stack([drawn[:, groups == group].mean(axis=1) for group in range(3)], axis=1)
    draws = UNFAIRNESS[measure].compute(change, np.zeros_like(change))
    floor = change_noise_floor(n, lost, gained, measure)
    assert float(floor.expected) == pytest.approx(draws.mean(), rel=0.03)
    assert float(floor.high) == pytest.approx(np.quantile(draws, 0.95), rel=0.05)
    both = change_noise_floor(n[::-1], [lost, np.nan, 0.0], [gained, 0.1, 0.0], measure)
    assert both.expected[0] == floor.expected and np.isnan(both.high[1]) and both.expected[2] == 0
    assert np.isnan(change_noise_floor(n, lost, gained, "max_min").expected)


def test_equal_groups_exceed_the_high_end_about_one_time_in_twenty() -> None:
    n, accuracy = np.full(10, 80), 0.9
    shares = np.random.default_rng(6).binomial(n, accuracy, (2_000, 10)) / n
    pooled = shares.mean(axis=1)
    above = UNFAIRNESS["max_min"].compute(shares) > noise_floor(n, pooled).high + 1e-12
    assert 0.02 < above.mean() < 0.07


def test_floor_does_not_depend_on_order_or_company_and_has_its_ends() -> None:
    accuracy = np.linspace(0, 1, 41)
    floor = noise_floor([30, 20, 40], accuracy)
    again = noise_floor([40, 0, 30, 20], accuracy[::-1])
    assert floor.expected.tolist() == again.expected[::-1].tolist()
    assert floor.expected[7] == noise_floor([20, 30, 40], accuracy[7]).expected
    assert floor.expected[[0, -1]].tolist() == [0, 0] == floor.high[[0, -1]].tolist()
    assert (floor.high >= floor.expected).all()


def test_more_examples_lower_the_floor() -> None:
    floors = [float(noise_floor([size] * 5, 0.8).expected) for size in (20, 80, 320, 1280)]
    assert floors == sorted(floors, reverse=True)
    assert floors[0] / floors[2] == pytest.approx(4, rel=0.1)


def test_what_cannot_be_said_is_nan() -> None:
    assert np.isnan(noise_floor([30, 30], np.nan).expected)
    assert np.isnan(noise_floor([30], 0.5).expected) and np.isnan(noise_floor([], 0.5).high)
    assert np.isnan(noise_floor([30, 30], [0.5, 0.6], "change_range").expected).all()
    assert np.isfinite(noise_floor([30], 0.5, "worst_class").expected)


def test_table_has_the_floor_of_each_model_at_its_own_sizes() -> None:
    rows = pd.DataFrame(
        {
            "run": ["a"] * 4 + ["b"] * 3,
            "level": [0, 0, 1, 1, 0, 0, 0],
            "class": [0, 1, 0, 1, 0, 1, 2],
            "n": [40, 60, 40, 60, 30, 0, 30],
            "correct": [40, 50, 10, 30, 20, 0, 25],
        }
    )
    table = noise_floors(rows).set_index(["run", "level"])
    for (run, level), model in rows.groupby(["run", "level"]):
        accuracy = model["correct"].sum() / model["n"].sum()
        for measure in FLOOR_MEASURES:
            floor = noise_floor(model["n"].to_numpy(), accuracy, measure)
            assert table.loc[(run, level), f"{measure}_floor"] == floor.expected
            assert table.loc[(run, level), f"{measure}_floor_high"] == floor.high
