"""Curves of the change on an attribute against statsmodels and patsy, and planted bends."""

import os

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from engine.analysis.members.splines import TOO_FEW_VALUES, curve_band, curved_change, spline_columns
from tests.support.members import members, members_by_seed

FULL_RUN = os.environ.get("PRUNESCOPE_FULL") == "1"


def changed(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(change=table["after"] - table["before"])


def test_curve_is_that_of_statsmodels_with_patsys_basis() -> None:
    table = changed(members(n=120))
    fit = curved_change(table, "abs_tilt", "series")
    inner, ends = tuple(map(float, fit.knots[1:3])), (float(fit.knots[0]), float(fit.knots[3]))
    basis = f"cr(abs_tilt, knots={inner}, lower_bound={ends[0]}, upper_bound={ends[1]}, constraints='center')"
    referee = smf.ols(f"change ~ {basis} + C(series)", table).fit()
    rows = np.column_stack([spline_columns(table["abs_tilt"].to_numpy(), fit.knots), pd.get_dummies(table["series"])])
    assert rows @ fit.coefficients == pytest.approx(referee.fittedvalues.to_numpy())
    grid = np.linspace(0, 1, 30)
    drawn = curve_band(fit, grid)
    assert drawn["y"].to_numpy() == pytest.approx(
        np.mean([referee.predict(pd.DataFrame({"abs_tilt": grid, "series": k})) for k in range(3)], axis=0)
    )


def test_tests_are_those_of_statsmodels_without_seeds() -> None:
    """Hotelling's scale of the F test differs from Wald's by (f - q + 1) / f, which is near 1."""
    table = changed(members(n=400, effect=-0.02))
    fit = curved_change(table, "abs_tilt")
    columns = spline_columns(table["abs_tilt"].to_numpy(), fit.knots)
    rows = table.assign(x=columns[:, 0], one=columns[:, 1], two=columns[:, 2])
    referee = smf.ols("change ~ x + one + two", rows).fit(cov_type="HC3", use_t=True)
    assert fit.p_bend == pytest.approx(float(referee.f_test("one = 0, two = 0").pvalue), abs=0.003)
    assert fit.p_any == pytest.approx(float(referee.f_test("x = 0, one = 0, two = 0").pvalue), abs=0.003)


@pytest.mark.parametrize("seed_slope", [0.0, 0.1])
def test_straight_effects_are_called_bent_as_often_as_chance_does(seed_slope: float) -> None:
    draws = [
        members_by_seed(seed, n=90, effect=0.0, seed_slope=seed_slope) for seed in range(1000 if FULL_RUN else 200)
    ]
    fits = [curved_change(changed(table), "abs_tilt", "series", changes) for table, changes in draws]
    low, high = (0.03, 0.07) if FULL_RUN else (0.01, 0.09)
    for p in (np.array([fit.p_any for fit in fits]), np.array([fit.p_bend for fit in fits])):
        assert low <= (p < 0.05).mean() <= high


def test_a_loss_at_both_ends_is_found_where_a_line_sees_nothing() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 269)
    table = pd.DataFrame({"activation": x, "change": -0.1 * x**2 + rng.normal(0, 0.03, 269)})
    fit = curved_change(table, "activation")
    assert fit.p_bend < 1e-6 and abs(np.polyfit(x, table["change"], 1)[0]) < 0.01
    low, middle, high = curve_band(fit, [-0.9, 0.0, 0.9])["y"]
    assert low < middle - 0.05 and high < middle - 0.05


def test_band_covers_the_truth() -> None:
    hits = []
    for seed in range(1000 if FULL_RUN else 200):
        table, changes = members_by_seed(seed, n=90)
        drawn = curve_band(curved_change(changed(table), "abs_tilt", None, changes), [0.5]).iloc[0]
        hits.append(drawn["low"] <= -0.1 - 0.2 * 0.5 <= drawn["high"])
    low, high = (0.93, 0.98) if FULL_RUN else (0.91, 0.995)
    assert low <= np.mean(hits) <= high


def test_what_has_no_curve_says_why() -> None:
    table = pd.DataFrame({"a": [0.0, 0.0, 1.0, 1.0] * 10, "change": np.linspace(0, 1, 40)})
    fit = curved_change(table, "a")
    assert fit.reason == TOO_FEW_VALUES and np.isnan(fit.p_bend) and curve_band(fit, [0.5]).empty
    assert curved_change(table.iloc[:0], "a").reason == TOO_FEW_VALUES
