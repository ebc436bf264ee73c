"""The choice against trying every point, the paper's example in words, and the reasons for no choice."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.frontier.choice import BELOW_THRESHOLD, NO_POINTS, NOT_ESTIMATED, choices_by_measure, choose, value
from engine.analysis.frontier.points import operating_points
from engine.analysis.unfairness import UNFAIRNESS, unfairness_table
from tests.support.study_tables import points_table, study_tables

COARSE = st.integers(0, 6).map(lambda k: k / 6)
ROWS = st.lists(st.tuples(COARSE, st.one_of(COARSE, st.just(float("nan"))), COARSE), min_size=1, max_size=15)


@settings(max_examples=250, deadline=None)
@given(ROWS, COARSE, st.sampled_from([0.01, 0.3, 1.0, 100.0]))
def test_choice_is_the_best_of_all_points_that_pass(
    rows: list[tuple[float, float, float]], threshold: float, weight: float
) -> None:
    points = points_table(*map(list, zip(*rows, strict=True)))
    choice = choose(points, threshold, weight)
    passing = [k for k, (_, u, a) in enumerate(rows) if a >= threshold and not np.isnan(u)]
    if not passing:
        assert choice.chosen is None and choice.runner_up is None and choice.reason
        return
    values = {k: rows[k][0] - weight * rows[k][1] for k in passing}
    chosen, runner_up = choice.chosen, choice.runner_up
    assert chosen is not None and choice.reason == ""
    assert values[chosen] == pytest.approx(max(values.values()))
    assert choice.frontier[chosen] and choice.survivors[chosen]
    same = {k for k in passing if rows[k][:2] == rows[chosen][:2]}
    assert {chosen, *choice.twins} == same
    others = [k for k in passing if k not in same and choice.frontier[k]] or [k for k in passing if k not in same]
    assert (runner_up is None) == (not others)
    if runner_up is not None:
        assert runner_up in others and values[runner_up] == pytest.approx(max(values[k] for k in others))


def test_fairness_a_hundred_times_sparsity_takes_the_fairest_point_of_the_paper() -> None:
    """Paganini 4.2: above 98 %, if fairness counts 100 times as much, the point at about 68 % sparsity is selected."""
    points = points_table(
        sparsity=[0.0, 0.36, 0.59, 0.68, 0.74, 0.83, 0.87, 0.95],
        unfairness=[0.017, 0.016, 0.015, 0.012, 0.014, 0.019, 0.024, 0.200],
        accuracy=[0.991, 0.991, 0.990, 0.990, 0.988, 0.985, 0.982, 0.930],
    )
    fair = choose(points, threshold=0.98, weight=100)
    assert points["sparsity"][fair.chosen] == 0.68
    assert points["sparsity"][fair.frontier].tolist() == [0.68, 0.74, 0.83, 0.87]
    sparse = choose(points, threshold=0.98, weight=0.01)
    assert points["sparsity"][sparse.chosen] == 0.87
    assert not sparse.survivors[7]


def test_give_up_is_the_chosen_point_minus_the_other() -> None:
    points = points_table([0.0, 0.5, 0.9], [0.02, 0.03, 0.10], [0.99, 0.98, 0.97])
    choice = choose(points, 0.95, 1.0)
    assert (choice.chosen, choice.runner_up) == (2, 1)
    runner_up, dense = choice.against_runner_up, choice.against_dense
    assert runner_up is not None and dense is not None
    assert (runner_up.sparsity, runner_up.unfairness, runner_up.accuracy) == pytest.approx((0.4, 0.07, -0.01))
    assert (dense.sparsity, dense.unfairness, dense.accuracy) == pytest.approx((0.9, 0.08, -0.02))
    assert choice.values == pytest.approx(value([0.0, 0.5, 0.9], [0.02, 0.03, 0.10], 1.0))


def test_runner_up_comes_from_the_survivors_if_the_frontier_is_one_point() -> None:
    choice = choose(points_table([0.9, 0.5, 0.4], [0.1, 0.2, 0.2]), 0.5, 1.0)
    assert choice.frontier.tolist() == [True, False, False]
    assert (choice.chosen, choice.runner_up) == (0, 1)


def test_point_without_rivals_has_no_runner_up() -> None:
    choice = choose(points_table([0.9], [0.1]), 0.5, 1.0)
    assert (choice.chosen, choice.runner_up, choice.against_runner_up) == (0, None, None)


def test_missing_dense_level_leaves_that_comparison_out() -> None:
    points = points_table([0.0, 0.9], [0.1, 0.1]).iloc[1:]
    choice = choose(points, 0.5, 1.0)
    assert choice.chosen == 0 and choice.against_dense is None


def test_equal_points_are_twins_and_the_more_accurate_is_chosen() -> None:
    choice = choose(points_table([0.5, 0.5, 0.1], [0.1, 0.1, 0.05], [0.97, 0.98, 0.99]), 0.9, 1.0)
    assert (choice.chosen, choice.twins, choice.runner_up) == (1, (0,), 2)


def test_mean_that_misses_the_threshold_by_rounding_passes() -> None:
    accuracy = sum([0.98] * 6) / 6
    assert choose(points_table([0.5], [0.1], [min(accuracy, 0.98 - 1e-16)]), 0.98, 1.0).chosen == 0


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (points_table([], []), NO_POINTS),
        (points_table([0.5], [0.1], [0.9]), BELOW_THRESHOLD),
        (points_table([0.5], [0.1], [np.nan]), BELOW_THRESHOLD),
        (points_table([0.5], [np.nan], [0.99]), NOT_ESTIMATED),
    ],
)
def test_no_choice_says_why(points: pd.DataFrame, reason: str) -> None:
    choice = choose(points, 0.95, 1.0)
    assert choice.chosen is None and choice.reason == reason


@pytest.mark.parametrize("weight", [0, -1, np.nan, np.inf])
def test_weight_that_makes_no_sense_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        choose(points_table([0.5], [0.1]), 0.5, weight)


def test_choices_by_measure_equal_each_choice_alone() -> None:
    levels, classes = study_tables()
    points = operating_points(levels, unfairness_table(classes))
    table = choices_by_measure(points, 0.8, 1.0).set_index("measure")
    assert list(table.index) == list(UNFAIRNESS)
    for measure in UNFAIRNESS:
        choice = choose(points, 0.8, 1.0, measure)
        assert table["chosen"][measure] == choice.chosen and table["runner_up"][measure] == choice.runner_up
        assert table["unfairness"][measure] == points[measure][choice.chosen]
        assert table["accuracy"][measure] == points["accuracy"][choice.chosen]
    nothing = choices_by_measure(points, 2.0, 1.0)
    assert list(nothing["measure"]) == list(UNFAIRNESS)
    assert nothing["chosen"].isna().all() and (nothing["reason"] == BELOW_THRESHOLD).all()
    assert nothing["sparsity"].isna().all()
