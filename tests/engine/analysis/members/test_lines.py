"""Lines and bands against statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from engine.analysis.members.lines import CONSTANT, FULL, TOO_FEW, band, line, lines
from engine.analysis.members.slopes import paired_slopes
from tests.support.members import members


def test_line_and_band_equal_statsmodels() -> None:
    table = members()
    fit = sm.OLS(table["after"], sm.add_constant(table["abs_tilt"])).fit()
    got = line(table["abs_tilt"], table["after"])
    assert (got.intercept, got.slope) == pytest.approx(tuple(fit.params))
    assert (got.intercept_se, got.slope_se) == pytest.approx(tuple(fit.bse))
    grid = np.linspace(-1, 2, 7)
    frame = fit.get_prediction(sm.add_constant(grid)).summary_frame()
    mine = band(got, grid)
    assert mine["y"].to_numpy() == pytest.approx(frame["mean"].to_numpy())
    assert mine[["low", "high"]].to_numpy() == pytest.approx(frame[["mean_ci_lower", "mean_ci_upper"]].to_numpy())


def test_lines_are_those_of_each_group_and_last_the_full_one() -> None:
    table = members()
    got = lines(table, "abs_tilt", "after", "series")
    assert [fit.group for fit in got] == ["0", "1", "2", FULL] and [fit.n for fit in got] == [20, 20, 20, 60]
    for value, fit in enumerate(got[:3]):
        part = table[table["series"] == value]
        assert fit.slope == pytest.approx(np.polyfit(part["abs_tilt"], part["after"], 1)[0])


def test_missing_points_are_left_out() -> None:
    table = members()
    holed = table.assign(abs_tilt=table["abs_tilt"].where(table.index > 4))
    assert line(holed["abs_tilt"], holed["after"]) == line(table["abs_tilt"][5:], table["after"][5:])


@pytest.mark.parametrize(("x", "reason"), [([], TOO_FEW), ([0.1, 0.2], TOO_FEW), ([0.3, 0.3, 0.3], CONSTANT)])
def test_line_that_cannot_be_fitted_says_why(x: list[float], reason: str) -> None:
    fit = line(x, np.ones(len(x)))
    assert fit.reason == reason and np.isnan([fit.slope, fit.intercept, fit.slope_se]).all()
    assert band(fit, [0.0, 1.0])[["y", "low", "high"]].isna().all(axis=None)
    change = paired_slopes(pd.DataFrame({"a": x, "before": 0.9, "after": 0.8}), "a")
    assert change.reason == reason and np.isnan([change.slope_change, change.slope_change_se, change.p]).all()
