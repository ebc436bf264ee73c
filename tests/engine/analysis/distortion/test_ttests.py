"""t-tests against scipy's, corrected by hand; families as in the paper's tables."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from engine.analysis.distortion.ttests import (
    FEW_PAIRS,
    FEW_SEEDS,
    NO_SPREAD,
    between_ratios,
    between_series,
    bonferroni,
    independent_test,
    paired_test,
)

SIDES = ("two-sided", "less", "greater")
RATIOS = (2.0, 4.0, 10.0, 20.0, 50.0)


def models(n_seeds: int = 12, names: tuple[str, ...] = ("MP", "GP", "UP", "RP"), seed: int = 0) -> pd.DataFrame:
    """Alpha of each series at each ratio, seeds in random order; it grows with the ratio."""
    rng = np.random.default_rng(seed)
    rows = [
        {"series": name, "ratio": ratio, "seed": k, "alpha": 0.9 + 0.02 * ratio * (1 + place) + rng.normal(0, 0.3)}
        for place, name in enumerate(names)
        for ratio in RATIOS
        for k in range(n_seeds)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=seed, ignore_index=True)


def values(table: pd.DataFrame, series: str, ratio: float) -> np.ndarray:
    rows = table[(table["series"] == series) & (table["ratio"] == ratio)]
    return rows.sort_values("seed")["alpha"].to_numpy()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", [2, 3, 12, 30])
def test_paired_test_equals_scipy(side: str, n: int) -> None:
    first, second = np.random.default_rng(n).normal(size=(2, n))
    got, expected = paired_test(first, second, side), stats.ttest_rel(first, second, alternative=side)
    assert (got.t, got.df, got.p) == pytest.approx((expected.statistic, expected.df, expected.pvalue))
    assert got.difference == pytest.approx((first - second).mean()) and not got.reason


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sizes", [(2, 2), (12, 12), (6, 30)])
def test_independent_test_equals_welch_of_scipy(side: str, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    first, second = rng.normal(0, 1, sizes[0]), rng.normal(0.3, 4, sizes[1])
    got = independent_test(first, second, side)
    expected = stats.ttest_ind(first, second, equal_var=False, alternative=side)
    assert (got.t, got.df, got.p) == pytest.approx((expected.statistic, expected.df, expected.pvalue))
    assert (got.n_first, got.n_second) == sizes


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=3, max_size=20))
def test_sides_add_up(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    two, less, greater = (paired_test(first, second, side) for side in SIDES)
    if not two.reason:
        assert less.p + greater.p == pytest.approx(1)
        assert two.p == pytest.approx(2 * min(less.p, greater.p))


def test_seed_that_only_one_has_is_left_out_of_a_pair() -> None:
    first, second = np.array([1.0, 2.0, np.nan, 4.0]), np.array([1.5, np.nan, 3.0, 4.1])
    assert paired_test(first, second).n_first == 2
    assert paired_test(first, second).difference == pytest.approx(-0.3)


@pytest.mark.parametrize(
    ("test", "first", "second", "reason"),
    [
        (paired_test, [1.0], [2.0], FEW_PAIRS),
        (paired_test, [1.0, np.nan], [np.nan, 2.0], FEW_PAIRS),
        (paired_test, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], NO_SPREAD),
        (paired_test, [1.1, 2.1, 3.1], [1.0, 2.0, 3.0], NO_SPREAD),
        (independent_test, [1.0], [2.0, 3.0], FEW_SEEDS),
        (independent_test, [], [2.0, 3.0], FEW_SEEDS),
        (independent_test, [1.0, 1.0], [2.0, 2.0], NO_SPREAD),
    ],
)
def test_test_that_cannot_be_made_is_nan_with_the_reason(test, first, second, reason) -> None:
    got = test(first, second)
    assert np.isnan([got.t, got.p]).all() and got.reason == reason


def test_bonferroni_counts_the_tests_that_were_made_and_stops_at_one() -> None:
    assert bonferroni([0.01, 0.2, 0.5, np.nan])[:3] == pytest.approx([0.03, 0.6, 1.0])
    assert np.isnan(bonferroni([0.01, np.nan])[1])


def test_ratios_are_tested_as_in_the_papers_tables_1_to_4() -> None:
    """Neighbouring ratios, one-sided, paired; p times the four rows of the series' column."""
    table = models()
    tests = between_ratios(table).set_index(["series", "first", "second"])
    assert len(tests) == 4 * 4
    for name in ("MP", "GP", "UP", "RP"):
        for low, high in pairwise(RATIOS):
            expected = stats.ttest_rel(values(table, name, low), values(table, name, high), alternative="less")
            got = tests.loc[(name, low, high)]
            assert got["p"] == pytest.approx(expected.pvalue)
            assert got["p_corrected"] == pytest.approx(min(1, 4 * expected.pvalue))
            assert (got["n_tests"], got["n_first"]) == (4, 12)


def test_techniques_are_tested_as_in_the_papers_table_8() -> None:
    """All pairs, two-sided, paired; p times the six rows of the ratio's column."""
    table = models()
    tests = between_series(table, paired=True)
    assert len(tests) == 6 * 5 and (tests["n_tests"] == 6).all()
    for _, got in tests.iterrows():
        samples = (values(table, got[side], got["ratio"]) for side in ("first", "second"))
        expected = stats.ttest_rel(*samples).pvalue
        assert (got["p"], got["p_corrected"]) == pytest.approx((expected, min(1, 6 * expected)))
    pairs = {frozenset(pair) for pair in zip(tests["first"], tests["second"], strict=True)}
    assert pairs == {frozenset(pair) for pair in combinations(("MP", "GP", "UP", "RP"), 2)}


def test_networks_are_tested_as_in_the_papers_table_5() -> None:
    """Given pairs, one-sided, independent; p times the two rows of the ratio's column."""
    table = models(names=("20", "32", "44"))
    table = table[(table["series"] != "32") | (table["seed"] < 7)]
    pairs = [("20", "32"), ("32", "44")]
    tests = between_series(table, paired=False, pairs=pairs, alternative="greater")
    assert len(tests) == 2 * 5
    for _, got in tests.iterrows():
        samples = (values(table, got[side], got["ratio"]) for side in ("first", "second"))
        expected = stats.ttest_ind(*samples, equal_var=False, alternative="greater").pvalue
        assert (got["p"], got["p_corrected"]) == pytest.approx((expected, min(1, 2 * expected)))


def test_pairs_are_matched_by_seed_not_by_place() -> None:
    table = models()
    missing = table[~((table["series"] == "MP") & (table["seed"] == 3))]
    tests = between_series(missing, paired=True).query("ratio == 2")
    got = tests[(tests[["first", "second"]].apply(set, axis=1) == {"MP", "GP"})].iloc[0]
    kept = [seed for seed in range(12) if seed != 3]
    samples = {name: values(table, name, 2.0)[kept] for name in ("MP", "GP")}
    expected = stats.ttest_rel(samples[got["first"]], samples[got["second"]])
    assert got["n_first"] == 11 and got["p"] == pytest.approx(expected.pvalue)


def test_series_without_a_ratio_is_not_tested_there() -> None:
    table = models(names=("MP", "GP"))
    table = table[(table["series"] == "MP") | (table["ratio"] != 10)]
    assert set(between_series(table, paired=True)["ratio"]) == set(RATIOS) - {10.0}
    steps = between_ratios(table).query("series == 'GP'")
    assert list(zip(steps["first"], steps["second"], strict=True)) == [(2, 4), (4, 20), (20, 50)]
    assert (steps["n_tests"] == 3).all()


def test_one_series_or_one_ratio_gives_an_empty_table() -> None:
    table = models(names=("MP",))
    assert between_series(table, paired=True).empty
    assert between_ratios(table[table["ratio"] == 2]).empty


def test_no_difference_is_rarely_called_one() -> None:
    """With nothing planted, a family of four tests finds something in about 5 % of studies."""
    found = 0
    for seed in range(200):
        alpha = np.random.default_rng(seed).normal(1, 0.2, (5, 12))
        tests = [paired_test(a, b, "less").p for a, b in pairwise(alpha)]
        found += bool((bonferroni(tests) < 0.05).any())
    assert 0.01 <= found / 200 <= 0.09
