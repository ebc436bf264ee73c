"""Balances and alpha: the paper's worked example, statsmodels' slope, and NaN with its reason."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from study_tables import study_tables

from engine.analysis.distortion import (
    BASES,
    EVEN_BEFORE,
    NO_BALANCE,
    NO_DENSE,
    alphas,
    balance,
    intensification,
    intensification_reason,
    normalised_balance,
)


def test_worked_example_of_the_paper() -> None:
    """Recalls 90/70 at accuracy 80 fall to 70/50 at 60: balances 1/8 and 1/6, ratio 4/3."""
    assert balance([0.9, 0.7], 0.8) == pytest.approx([0.1, -0.1])
    before, after = normalised_balance([0.9, 0.7], 0.8), normalised_balance([0.7, 0.5], 0.6)
    assert before == pytest.approx([1 / 8, -1 / 8]) and after == pytest.approx([1 / 6, -1 / 6])
    assert intensification(before, after) == pytest.approx(4 / 3)


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
