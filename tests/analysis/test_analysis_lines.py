"""Lines, bands and slope changes against statsmodels, and planted effects."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from engine.analysis.lines import (
    CONSTANT,
    FULL,
    LONE,
    NO_SPREAD,
    TOO_FEW,
    band,
    line,
    lines,
    paired_slopes,
    slope_change,
)


def members(seed: int = 0, n: int = 60, effect: float = -0.2) -> pd.DataFrame:
    """Writers in three series whose accuracy falls with tilt by `effect` more after pruning, unevenly noisy."""
    rng = np.random.default_rng(seed)
    tilt = rng.random(n)
    before = 0.97 - 0.02 * tilt + rng.normal(0, 0.01, n)
    after = before - 0.1 + effect * tilt + rng.normal(0, 0.01 + 0.05 * tilt, n)
    return pd.DataFrame({"abs_tilt": tilt, "before": before, "after": after, "series": np.arange(n) % 3})


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


def test_slope_change_equals_statsmodels() -> None:
    table = members()
    got = slope_change(table, "abs_tilt", "series").set_index("group")
    for group, part in [*((str(k), table[table["series"] == k]) for k in range(3)), (FULL, table)]:
        x = sm.add_constant(part["abs_tilt"])
        before, after = (sm.OLS(part[moment], x).fit() for moment in ("before", "after"))
        change = sm.OLS(part["after"] - part["before"], x).fit(cov_type="HC3", use_t=True)
        row = got.loc[group]
        assert (row["intercept_before"], row["slope_before"]) == pytest.approx(tuple(before.params))
        assert (row["intercept_after_se"], row["slope_after_se"]) == pytest.approx(tuple(after.bse))
        assert row["slope_change"] == pytest.approx(row["slope_after"] - row["slope_before"])
        assert row["slope_change_se"] == pytest.approx(change.bse["abs_tilt"])
        assert row["p"] == pytest.approx(change.pvalues["abs_tilt"])
        assert (row["low"], row["high"]) == pytest.approx(tuple(change.conf_int().loc["abs_tilt"]))


def test_planted_slope_change_is_covered() -> None:
    facts = [paired_slopes(members(seed), "abs_tilt") for seed in range(600)]
    assert 0.93 <= np.mean([fact.low <= -0.2 <= fact.high for fact in facts]) <= 0.97
    nothing = [paired_slopes(members(seed, effect=0.0), "abs_tilt").p for seed in range(600)]
    assert 0.03 <= np.mean(np.array(nothing) < 0.05) <= 0.07


def test_test_of_the_slope_says_why_it_is_not_made() -> None:
    lone = pd.DataFrame({"a": [0.0, 0, 0, 1], "before": 0.9, "after": [0.8, 0.7, 0.9, 0.2]})
    got = paired_slopes(lone, "a")
    assert got.reason == LONE and np.isnan(got.p) and np.isfinite(got.slope_change)
    same = pd.DataFrame({"a": [0.0, 1, 2, 3], "before": 0.9, "after": 0.8})
    got = paired_slopes(same, "a")
    assert got.reason == NO_SPREAD and np.isnan(got.p) and got.slope_change == pytest.approx(0)
