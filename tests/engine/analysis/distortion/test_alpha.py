"""Balances and alpha: the paper's worked example and propositions, statsmodels' slope, and NaN with its reason."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from engine.analysis.distortion.alpha import (
    BASES,
    EVEN_BEFORE,
    NO_BALANCE,
    NO_DENSE,
    alphas,
    balance,
    class_ratio,
    intensification,
    intensification_reason,
    normalised_balance,
    spread_ratio,
)
from engine.analysis.distortion.balances import balances, gap_chance, pooled_slopes
from tests.support.study_tables import IDENTITY, study_tables


def counted(*levels: list[int], n: list[int]) -> pd.DataFrame:
    """Classes of one run: right answers at each level, the first of them dense; every example is put somewhere."""
    rows = []
    for level, correct in enumerate(levels):
        predicted = np.array(correct)
        predicted[0] += sum(n) - sum(correct)
        place = {"run": "r", **IDENTITY, "seed": 0, "level": level, "sparsity": 1 - 0.5**level}
        rows += [
            place | {"class": c, "n": n[c], "correct": correct[c], "predicted": predicted[c]} for c in range(len(n))
        ]
    return pd.DataFrame(rows)


balanced = st.integers(2, 12).flatmap(
    lambda n_classes: st.integers(1, 1000).flatmap(
        lambda n: st.tuples(
            st.just(n),
            *(st.lists(st.integers(0, n), min_size=n_classes, max_size=n_classes).filter(any) for _ in range(2)),
        )
    )
)
"""Test examples per class, and right answers per class before and after pruning."""


def test_worked_example_of_the_paper() -> None:
    """Recalls 90/70 at accuracy 80 fall to 70/50 at 60: balances 1/8 and 1/6, ratio 4/3."""
    assert balance([0.9, 0.7], 0.8) == pytest.approx([0.1, -0.1])
    before, after = normalised_balance([0.9, 0.7], 0.8), normalised_balance([0.7, 0.5], 0.6)
    assert before == pytest.approx([1 / 8, -1 / 8]) and after == pytest.approx([1 / 6, -1 / 6])
    assert intensification(before, after) == pytest.approx(4 / 3)
    assert class_ratio(before, after) == pytest.approx([4 / 3, 4 / 3])


def test_worked_example_from_counts() -> None:
    table = alphas(counted([90, 70], [70, 50], n=[100, 100])).iloc[1]
    assert (table["accuracy"], table["dense_accuracy"]) == pytest.approx((0.6, 0.8))
    assert table["alpha"] == pytest.approx(4 / 3) and table["spread"] == pytest.approx(4 / 3)
    points = balances(counted([90, 70], [70, 50], n=[100, 100]))
    assert points["before"].tolist() == pytest.approx([1 / 8, -1 / 8])
    assert points["after"].tolist() == pytest.approx([1 / 6, -1 / 6])
    assert points["class_ratio"].tolist() == pytest.approx([4 / 3, 4 / 3])


@settings(max_examples=80, deadline=None)
@given(balanced)
def test_proposition_4_1_and_its_corollary_hold_on_balanced_data(data: tuple[int, list[int], list[int]]) -> None:
    n, *levels = data
    for correct in levels:
        recall = np.array(correct) / n
        accuracy = sum(correct) / (n * len(correct))
        assert balance(recall, accuracy).sum() == pytest.approx(0, abs=1e-9)
        assert normalised_balance(recall, accuracy).sum() == pytest.approx(0, abs=1e-9 * n * len(correct))


@settings(max_examples=15, deadline=None)
@given(balanced)
def test_corollary_holds_in_the_table_of_balances(data: tuple[int, list[int], list[int]]) -> None:
    n, before, after = data
    points = balances(counted(before, after, n=[n] * len(before)))
    assert points[["before", "after"]].sum().tolist() == pytest.approx([0, 0], abs=1e-9 * n * len(before))


def test_corollary_needs_balanced_data() -> None:
    points = balances(counted([90, 5], [80, 4], n=[100, 10]))
    assert abs(points["before"].sum()) > 0.1


@settings(max_examples=80, deadline=None)
@given(balanced)
def test_alpha_is_the_mean_of_class_ratios_weighted_by_squared_balances(data: tuple[int, list[int], list[int]]) -> None:
    n, *levels = data
    before, after = (normalised_balance(np.array(c) / n, sum(c) / (n * len(c))) for c in levels)
    alpha, ratios, weights = intensification(before, after), class_ratio(before, after), before**2
    known = np.isfinite(ratios)
    if np.isfinite(alpha):
        expected = (weights[known] @ ratios[known]) / weights.sum()
        assert alpha == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert abs(alpha) <= spread_ratio(before, after) * (1 + 1e-9)


def test_alpha_equals_the_slope_without_intercept_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 30, 10))
    after[:, 3] = np.nan
    kept = np.arange(10) != 3
    slopes = [sm.OLS(a[kept], b[kept]).fit().params[0] for b, a in zip(before, after, strict=True)]
    assert intensification(before, after) == pytest.approx(np.array(slopes))
    assert intensification(before[0], after[0]) == pytest.approx(slopes[0])


def test_dense_model_is_one_against_itself() -> None:
    balances = np.random.default_rng(1).normal(size=(5, 10))
    assert intensification(balances, balances) == pytest.approx(1)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([0.0, 0.0], [0.1, -0.1], EVEN_BEFORE),
        ([1e-16, -1e-16], [0.1, -0.1], EVEN_BEFORE),
        ([np.nan, np.nan], [0.1, -0.1], NO_BALANCE),
        ([0.1, np.nan], [np.nan, -0.1], NO_BALANCE),
        ([0.1, -0.1], [0.2, -0.2], ""),
    ],
)
def test_alpha_is_nan_exactly_where_there_is_a_reason(before: list[float], after: list[float], reason: str) -> None:
    assert np.isnan(intensification(before, after)) == bool(reason)
    assert intensification_reason(before, after) == reason
    assert intensification_reason([before] * 2, [after] * 2).tolist() == [reason] * 2


@pytest.mark.parametrize(
    ("dense", "n"),
    [([90, 90, 90], [100, 100, 100]), ([45, 90, 180], [50, 100, 200]), ([3, 9, 429], [7, 21, 1001]), ([1, 3], [3, 9])],
)
def test_classes_that_all_equal_the_accuracy_before_give_nan_with_the_reason(dense: list[int], n: list[int]) -> None:
    """Whatever the rounding of correct / n, and however wide the gaps are afterwards."""
    table = alphas(counted(dense, [0, *dense[1:]], n=n))
    assert table["alpha"].isna().all() and table["spread"].isna().all()
    assert (table["reason"] == EVEN_BEFORE).all()


def test_near_zero_balance_of_a_class_does_not_blow_up_alpha() -> None:
    """Appendix G: the class (0.0004, -0.0285) has a ratio of about -70 and leaves the model's slope as it is."""
    before = np.array([0.05, -0.03, -0.04, 0.02, 0.0])
    after = 1.4 * before
    before[-1], after[-1] = 0.0004, -0.0285
    assert class_ratio(before, after)[-1] < -60
    assert class_ratio(before, after).mean() < -10
    assert intensification(before, after) == pytest.approx(1.4, abs=0.01)


@settings(max_examples=80, deadline=None)
@given(st.floats(-1e-6, 1e-6), st.floats(-1, 9))
def test_alpha_is_continuous_where_a_balance_goes_to_zero(before: float, after: float) -> None:
    steady = np.array([0.05, -0.03, -0.02])
    alpha = intensification([*steady, before], [*1.2 * steady, after])
    assert alpha == pytest.approx(1.2, abs=0.003)


@pytest.mark.parametrize("tiny", [1e-300, 1e-17, 1e-12, 1e-10])
def test_balances_that_are_rounding_alone_have_no_alpha(tiny: float) -> None:
    before, after = np.array([tiny, -tiny]), np.array([0.3, -0.3])
    assert np.isnan(intensification(before, after)) and intensification_reason(before, after) == EVEN_BEFORE
    assert np.isnan(class_ratio(before, after)).all()


def test_gaps_that_move_to_other_classes_have_a_low_alpha_and_a_full_spread() -> None:
    before, after = np.array([0.1, -0.1, 0.0, 0.0]), np.array([0.0, 0.0, 0.1, -0.1])
    assert intensification(before, after) == pytest.approx(0) and spread_ratio(before, after) == pytest.approx(1)


def test_alpha_is_the_spread_times_the_correlation_on_balanced_data() -> None:
    rng = np.random.default_rng(3)
    before, after = (values - values.mean() for values in rng.normal(size=(2, 10)))
    expected = spread_ratio(before, after) * np.corrcoef(before, after)[0, 1]
    assert intensification(before, after) == pytest.approx(expected)


def test_collapsed_model_is_marked() -> None:
    classes = counted([90, 80, 85], [100, 0, 0], n=[100] * 3)
    assert alphas(classes)["collapsed"].tolist() == [False, True]


def test_model_that_gets_nothing_right_has_no_balance() -> None:
    assert np.isnan(normalised_balance([0.0, 0.0], 0.0)).all()


@pytest.mark.parametrize("measure", BASES)
def test_alphas_equal_a_loop_over_models(measure: str) -> None:
    _, classes = study_tables(n_seeds=2)
    table = alphas(classes, measure).set_index(["run", "level"])

    def balances(run: str, level: int) -> np.ndarray:
        model = classes[(classes["run"] == run) & (classes["level"] == level) & (classes["n"] > 0)]
        recall, precision = model["correct"] / model["n"], model["correct"] / model["predicted"]
        base = {"recall": recall, "precision": precision, "f_score": 2 / (1 / recall + 1 / precision)}[measure]
        accuracy = model["correct"].sum() / model["n"].sum()
        assert table.loc[(run, level), "accuracy"] == pytest.approx(accuracy)
        return (base.to_numpy() - accuracy) / accuracy

    for run, level in table.index:
        before, after = balances(run, 0), balances(run, level)
        assert table.loc[(run, level), "alpha"] == pytest.approx((before @ after) / (before @ before))
    assert (table["reason"] == "").all()


def test_run_without_dense_has_nan_and_the_reason() -> None:
    _, classes = study_tables(n_seeds=1)
    table = alphas(classes[(classes["level"] > 0) | (classes["run"] == "global0")])
    orphans = table["run"] == "random0"
    assert table["alpha"].isna().tolist() == orphans.tolist()
    assert (table["reason"][orphans] == NO_DENSE).all()


def test_planted_stretch_is_found() -> None:
    rng = np.random.default_rng(2)
    before = rng.normal(0, 0.1, size=(500, 10))
    after = 1.7 * before + rng.normal(0, 0.01, size=before.shape)
    assert pd.Series(intensification(before, after)).mean() == pytest.approx(1.7, abs=0.01)


@pytest.mark.parametrize("measure", BASES)
def test_balances_are_the_points_behind_alpha(measure: str) -> None:
    _, classes = study_tables(n_seeds=2)
    points = balances(classes, measure)
    assert (points["level"] > 0).all()
    assert points.loc[points["n"] == 0, ["before", "after"]].isna().all(axis=None)
    table = alphas(classes, measure).set_index(["run", "level"])
    for model, rows in points.groupby(["run", "level"]):
        assert intensification(rows["before"], rows["after"]) == pytest.approx(table.loc[model, "alpha"])
        assert rows["accuracy"].to_numpy() == pytest.approx(table.loc[model, "accuracy"])


def test_pooled_slope_and_r2_equal_statsmodels() -> None:
    _, classes = study_tables(n_seeds=3)
    points = balances(classes)
    facts = pooled_slopes(points, ["technique", "level"]).set_index(["technique", "level"])
    for key, rows in points.dropna(subset=["before", "after"]).groupby(["technique", "level"]):
        fit = sm.OLS(rows["after"].to_numpy(), rows["before"].to_numpy()).fit()
        assert facts.loc[key, "alpha"] == pytest.approx(fit.params[0])
        assert facts.loc[key, "r2"] == pytest.approx(fit.rsquared)
        assert facts.loc[key, "accuracy"] == pytest.approx(rows.drop_duplicates("run")["accuracy"].mean())
        assert (facts.loc[key, "n_models"], facts.loc[key, "n_points"]) == (3, 27)


def test_pooled_slope_without_gaps_is_nan() -> None:
    facts = pooled_slopes(balances(counted([8, 8], [6, 4], n=[10, 10])), ["level"])
    assert facts["alpha"].isna().all() and facts["r2"].isna().all() and facts["n_models"].tolist() == [1]


def test_gap_chance_equals_the_chi_square_test_of_scipy() -> None:
    _, classes = study_tables(n_seeds=3)
    chance = gap_chance(classes).set_index("run")["chance"]
    for run, rows in classes[(classes["level"] == 0) & (classes["n"] > 0)].groupby("run"):
        counts = np.stack([rows["correct"], rows["n"] - rows["correct"]])
        assert chance[run] == pytest.approx(stats.chi2_contingency(counts, correction=False).pvalue)


def test_gaps_of_equal_classes_are_chance() -> None:
    assert gap_chance(counted([90, 90, 90], n=[100] * 3))["chance"].tolist() == [1]
    assert gap_chance(counted([99, 50, 90], n=[100] * 3))["chance"][0] < 1e-6
