"""Changes of slope against statsmodels, and planted effects."""

import os

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from engine.analysis.members.lines import FULL
from engine.analysis.members.slopes import (
    CONSTANT_WITHIN,
    LONE,
    NO_SPREAD,
    TOO_FEW_WITHIN,
    WITHIN,
    paired_slopes,
    slope_change,
    within_slopes,
)
from tests.support.members import members, members_by_seed

FULL_RUN = os.environ.get("PRUNESCOPE_FULL") == "1"


def test_slope_change_equals_statsmodels() -> None:
    table = members()
    got = slope_change(table, "abs_tilt", "series").set_index("group")
    assert list(got.index) == ["0", "1", "2", WITHIN, FULL]
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


@pytest.mark.parametrize("seed_slope", [0.0, 0.03, 0.1])
def test_intervals_of_slopes_cover_other_members_and_other_seeds(seed_slope: float) -> None:
    """Also where seeds do not differ in slope: what they add may then be below 0, and is not cut off."""
    draws = [members_by_seed(seed, seed_slope=seed_slope) for seed in range(1000 if FULL_RUN else 200)]
    pooled = [paired_slopes(table, "abs_tilt", seeds=changes) for table, changes in draws]
    inside = [within_slopes(table, "abs_tilt", "series", seeds=changes) for table, changes in draws]
    low, high = (0.93, 0.97) if FULL_RUN else (0.91, 0.99)
    for slopes in (pooled, inside):
        assert low <= np.mean([fact.low <= -0.2 <= fact.high for fact in slopes]) <= high


def test_test_of_a_slope_over_seeds_rejects_as_often_as_it_says() -> None:
    low, high = (0.03, 0.07) if FULL_RUN else (0.015, 0.09)
    for seed_slope in (0.0, 0.03):
        draws = [members_by_seed(s, effect=0.0, seed_slope=seed_slope) for s in range(1000 if FULL_RUN else 200)]
        p = np.array([paired_slopes(table, "abs_tilt", seeds=changes).p for table, changes in draws])
        assert low <= (p < 0.05).mean() <= high


def test_members_alone_do_not_cover_other_seeds() -> None:
    table, changes = members_by_seed(seed_slope=0.1)
    alone, both = (slope_change(table, "abs_tilt", "series", seeds=seeds) for seeds in (None, changes))
    assert (alone["slope_change"] == both["slope_change"]).all() and (alone["n_seeds"] == 1).all()
    assert (both["slope_change_se"] > alone["slope_change_se"]).all() and (both["n_seeds"] == 6).all()
    one = slope_change(table, "abs_tilt", "series", seeds=changes[:1])
    pd.testing.assert_frame_equal(one, alone)


def test_test_of_the_slope_says_why_it_is_not_made() -> None:
    lone = pd.DataFrame({"a": [0.0, 0, 0, 1], "before": 0.9, "after": [0.8, 0.7, 0.9, 0.2]})
    got = paired_slopes(lone, "a")
    assert got.reason == LONE and np.isnan(got.p) and np.isfinite(got.slope_change)
    same = pd.DataFrame({"a": [0.0, 1, 2, 3], "before": 0.9, "after": 0.8})
    got = paired_slopes(same, "a")
    assert got.reason == NO_SPREAD and np.isnan(got.p) and got.slope_change == pytest.approx(0)


def test_slope_within_series_equals_statsmodels_with_a_level_for_each() -> None:
    table = members(n=61).assign(change=lambda rows: rows["after"] - rows["before"])
    got = within_slopes(table, "abs_tilt", "series")
    before, after = (smf.ols(f"{moment} ~ abs_tilt + C(series)", table).fit() for moment in ("before", "after"))
    change = smf.ols("change ~ abs_tilt + C(series)", table).fit(cov_type="HC3", use_t=True)
    assert (got.slope_before, got.slope_before_se) == pytest.approx((before.params["abs_tilt"], before.bse["abs_tilt"]))
    assert (got.slope_after, got.slope_after_se) == pytest.approx((after.params["abs_tilt"], after.bse["abs_tilt"]))
    assert (got.slope_change, got.slope_change_se) == pytest.approx((change.params["abs_tilt"], change.bse["abs_tilt"]))
    assert got.p == pytest.approx(change.pvalues["abs_tilt"])
    assert (got.low, got.high) == pytest.approx(tuple(change.conf_int().loc["abs_tilt"]))
    assert np.isnan([got.intercept_before, got.intercept_after]).all() and got.reason == ""


def test_differences_between_series_do_not_reach_the_slope_within() -> None:
    """Upright writers of one series lose most, so the line over all leans the other way than each series' own."""
    table = members(n=90)
    straight = table["series"] == 2
    mixed = table.assign(
        abs_tilt=table["abs_tilt"].where(~straight, table["abs_tilt"] - 3),
        after=table["after"].where(~straight, table["after"] - 2),
    )
    got = slope_change(mixed, "abs_tilt", "series").set_index("group")["slope_change"]
    calm = slope_change(table, "abs_tilt", "series").set_index("group")["slope_change"]
    assert got[WITHIN] == pytest.approx(calm[WITHIN]) and got[FULL] > 0 > got[["0", "1", "2", WITHIN]].max()


def test_members_that_say_nothing_about_a_slope_within_are_left_out() -> None:
    table = members()
    alone = pd.DataFrame({"abs_tilt": [0.5], "before": [0.9], "after": [0.1], "series": [9]})
    unknown = table.head(3).assign(abs_tilt=[np.nan, 0.1, 0.2], series=[0, np.nan, 1], after=[0.5, 0.5, np.nan])
    more = pd.concat([table, alone, unknown], ignore_index=True)
    assert within_slopes(more, "abs_tilt", "series") == within_slopes(table, "abs_tilt", "series")


@pytest.mark.parametrize(
    ("x", "series", "reason"),
    [
        ([0.1, 0.2, 0.3], [0, 0, 1], TOO_FEW_WITHIN),
        ([], [], TOO_FEW_WITHIN),
        ([0.1, 0.1, 0.3, 0.3], [0, 0, 1, 1], CONSTANT_WITHIN),
        ([0.1, 0.2, 0.3, 0.3], [0, 0, 1, 1], LONE),
        ([0.1, 0.2, 0.3, 0.5], [0, 0, 1, 1], NO_SPREAD),
    ],
)
def test_slope_within_that_is_unknown_says_why(x: list[float], series: list[int], reason: str) -> None:
    got = within_slopes(pd.DataFrame({"a": x, "before": 0.9, "after": 0.8, "series": series}), "a", "series")
    assert got.reason == reason and np.isnan([got.slope_change_se, got.low, got.high, got.p]).all()
