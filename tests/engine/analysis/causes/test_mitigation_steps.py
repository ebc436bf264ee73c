"""The step is chosen on validation by the rule that is written down; the comparison is a paired t-test's interval."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from engine.analysis.causes.mitigation_steps import (
    MOST_COST,
    chosen_step,
    group_counts,
    primary_comparison,
    primary_level,
)


def steps(rates: dict[float, tuple[float, float]], seeds: int = 3) -> pd.DataFrame:
    """Two groups of 1,000 and 200 whose accuracies are those of each eta."""
    rows = [
        {"eta": eta, "seed": seed, "group": group, "n": n, "correct": round(n * rate)}
        for eta, pair in rates.items()
        for seed in range(seeds)
        for group, n, rate in zip(("many", "few"), (1000, 200), pair, strict=True)
    ]
    return pd.DataFrame(rows)


NONE = steps({0.0: (0.95, 0.80)}).drop(columns="eta")


def test_the_smallest_gap_within_half_a_point_is_chosen() -> None:
    choice = chosen_step(steps({0.05: (0.949, 0.82), 0.1: (0.945, 0.84), 0.4: (0.90, 0.90)}), NONE, "reweight")
    assert choice.eta == 0.1 and choice.reason == ""
    table = choice.steps.set_index("eta")
    assert table["gap"].tolist() == pytest.approx([0.129, 0.105, 0.0])
    assert table.loc[0.4, "cost"] == pytest.approx((950 + 160) / 1200 - 0.9)
    assert table["is_allowed"].tolist() == [True, True, False]


def test_half_a_point_itself_is_allowed_and_no_step_beyond_it() -> None:
    at = steps({0.1: (0.944, 0.80)})
    assert chosen_step(at, NONE, "reweight").steps["cost"].iloc[0] == pytest.approx(MOST_COST)
    assert chosen_step(at, NONE, "reweight").eta == 0.1
    beyond = chosen_step(steps({0.1: (0.943, 0.80)}), NONE, "worst")
    assert math.isnan(beyond.eta) and "every step costs more than 0.5%" in beyond.reason


def test_equal_gaps_take_the_smaller_step_and_unlisted_steps_do_not_count() -> None:
    rates = {0.2: (0.94, 0.86), 0.4: (0.94, 0.86), 0.3: (0.95, 0.95)}
    assert chosen_step(steps(rates), NONE, "reweight").eta == 0.2


def test_only_seeds_that_all_have_count() -> None:
    rows = pd.concat([steps({0.1: (0.95, 0.85)}, 3), steps({0.2: (0.95, 0.90)}, 2)])
    assert chosen_step(rows, NONE, "reweight").steps["n_seeds"].tolist() == [2, 2]
    nobody = chosen_step(rows.assign(seed=9), NONE, "reweight")
    assert math.isnan(nobody.eta) and "no seed" in nobody.reason


def test_counts_of_groups_by_hand() -> None:
    counts = group_counts(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]), np.array(["a", "b", "b", None], object))
    assert counts.to_dict("list") == {"group": ["a", "b"], "n": [1, 2], "correct": [1, 1]}


def test_the_primary_comparison_is_paired_by_seed() -> None:
    draw = np.random.default_rng(0)
    none = pd.DataFrame({"seed": range(6), "gap": draw.uniform(0.2, 0.3, 6), "accuracy": draw.uniform(0.8, 0.9, 6)})
    arm = none.assign(gap=none["gap"] - draw.uniform(0.05, 0.1, 6), accuracy=none["accuracy"] - 0.01).iloc[::-1]
    found = primary_comparison(arm.iloc[:5], none)
    both = arm.iloc[:5].merge(none, on="seed")
    change = both["gap_x"] - both["gap_y"]
    ends = ttest_1samp(change, 0).confidence_interval(0.95)
    assert found.n_seeds == 5
    assert found.gap == pytest.approx((change.mean(), ends.low, ends.high))
    assert found.accuracy[0] == pytest.approx(-0.01)
    assert found.narrowing == pytest.approx(-change.mean() / both["gap_y"].mean())


def test_the_primary_level_is_at_98_percent_or_there_is_none() -> None:
    assert primary_level(pd.Series({1: 0.9, 2: 0.9797, 3: 0.984})) == 2
    assert primary_level(pd.Series({1: 0.9, 2: 0.97})) is None
