"""Clustered intervals against statsmodels, and on simulated writers with known truth."""

import os

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from engine.analysis.intervals import wilson_interval
from engine.analysis.uncertainty.clusters import (
    cluster_codes,
    clustered_contrasts,
    clustered_portions,
    clustered_rates,
    clustered_shares,
    layout,
)

FULL_RUN = os.environ.get("PRUNESCOPE_FULL") == "1"
N_DRAWS = 1000 if FULL_RUN else 400
SLACK = 0 if FULL_RUN else 0.015
"""How much further than in 1,000 draws a share may lie from 95 %."""


def outcomes(seed: int = 0, n: int = 600, n_clusters: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """0/1 outcomes of one network, the writer of each, and a group in which some of the writers' examples are."""
    random = np.random.default_rng(seed)
    cluster = random.integers(0, n_clusters, n)
    group = random.integers(0, 3, n)
    chance = 0.2 + 0.2 * random.random(n_clusters)[cluster]
    return (random.random(n) < chance).astype(float), cluster, group


def fitted(values: np.ndarray, design: np.ndarray, cluster: np.ndarray):
    return sm.OLS(values, design).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)


def test_rates_equal_statsmodels() -> None:
    values, cluster, group = outcomes()
    rates = clustered_rates(values[None], layout(group, cluster, 3))
    low, high = rates.interval()
    for number in range(3):
        mine = group == number
        fit = fitted(values[mine], np.ones(mine.sum()), cluster[mine])
        assert rates.value[number] == pytest.approx(fit.params[0], abs=1e-10)
        assert np.sqrt(rates.variance[number]) == pytest.approx(fit.bse[0], abs=1e-10)
        assert (low[number], high[number]) == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-10)


def test_contrast_of_nested_clusters_is_the_sum_of_statsmodels_variances() -> None:
    values, cluster, _ = outcomes()
    group = (cluster < 7).astype(int)
    contrasts = clustered_contrasts(values[None], layout(group, cluster, 2))
    sides = [fitted(values[group == k], np.ones((group == k).sum()), cluster[group == k]) for k in (0, 1)]
    assert contrasts.value[1] == pytest.approx(sides[1].params[0] - sides[0].params[0], abs=1e-10)
    variances = [side.bse[0] ** 2 for side in sides]
    assert contrasts.variance == pytest.approx(np.full(2, sum(variances)), abs=1e-10)
    welch = sum(variances) ** 2 / (variances[1] ** 2 / 6 + variances[0] ** 2 / 22)
    assert contrasts.freedom == pytest.approx(np.full(2, welch))
    assert contrasts.p[0] == pytest.approx(contrasts.p[1], abs=1e-12), "complements are one test"


def test_contrast_of_crossed_clusters_equals_statsmodels() -> None:
    values, cluster, group = outcomes()
    contrasts = clustered_contrasts(values[None], layout(group, cluster, 3))
    for number in range(3):
        design = sm.add_constant((group == number).astype(float))
        fit = fitted(values, design, cluster)
        assert contrasts.value[number] == pytest.approx(fit.params[1], abs=1e-10)
        factor = (len(values) - 1) / (len(values) - 2)
        assert np.sqrt(contrasts.variance[number] * factor) == pytest.approx(fit.bse[1], abs=1e-10)


def test_every_example_its_own_cluster_is_welch() -> None:
    values, _, group = outcomes()
    contrasts = clustered_contrasts(values[None], layout(group, None, 3))
    for number in range(3):
        test = stats.ttest_ind(values[group == number], values[group != number], equal_var=False)
        assert contrasts.p[number] == pytest.approx(test.pvalue, abs=1e-10)
        assert contrasts.freedom[number] == pytest.approx(test.df)


def test_seeds_add_their_variance() -> None:
    values, cluster, group = outcomes()
    random = np.random.default_rng(1)
    several = np.where(random.random((4, len(values))) < 0.1, 1 - values, values)
    rates, alone = (
        clustered_rates(several, layout(group, cluster, 3)),
        clustered_rates(several.mean(0)[None], layout(group, cluster, 3)),
    )
    by_seed = np.array([[row[group == k].mean() for k in range(3)] for row in several])
    each = np.array([clustered_rates(row[None], layout(group, cluster, 3)).variance for row in several])
    both = (each.mean(axis=0) - alone.variance) / 3
    of_seeds, left = by_seed.var(axis=0, ddof=1) / 4, np.maximum(alone.variance - both, 0)
    assert (both > 0).all() and rates.variance == pytest.approx(of_seeds + left)
    n_clusters = np.array([len(np.unique(cluster[group == k])) for k in range(3)])
    shares = of_seeds / rates.variance
    assert 1 / rates.freedom == pytest.approx(shares / 3 + (1 - shares) / (n_clusters - 1))


def test_what_cannot_be_estimated_is_nan() -> None:
    values = np.array([[0.0, 1, 1, 0, 1]])
    rates = clustered_rates(values, layout(np.array([0, 0, 1, 1, -1]), np.array([0, 0, 1, 2, 3]), 3))
    assert np.isnan(rates.variance[0]), "one cluster"
    assert np.isfinite(rates.variance[1]) and np.isnan(rates.value[2])
    low, high = clustered_shares(rates, np.array([2.0, 2, 0]))
    assert np.isnan([low[0], high[0], low[2]]).all() and 0 <= low[1] < high[1] <= 1
    same = clustered_rates(np.ones((1, 6)), layout(np.zeros(6, int), np.repeat([0, 1, 2], 2), 1))
    low, high = clustered_shares(same, np.array([6.0]))
    assert high[0] == 1 and low[0] < wilson_interval(6, 6)[0], "three clusters agree, not six examples"


def test_members_are_the_clusters() -> None:
    examples = pd.DataFrame({"label": 0, "writer": np.repeat(np.arange(30), 10), "series": ["a", "b", "c"] * 100})
    assert len(np.unique(cluster_codes(examples))) == 30
    examples["writer"] = examples["writer"].astype("Int64").mask(examples.index < 20)
    assert len(np.unique(cluster_codes(examples))) == 28 + 20, "who has no member stands alone"
    assert cluster_codes(examples.drop(columns="writer")) is None
    assert cluster_codes(examples.assign(writer=np.repeat(np.arange(15), 20))) is None, "so few are groups"


def simulated(
    random: np.random.Generator, effect: float, n_seeds: int = 6, of_writers: float = 0.15, of_seeds: float = 0.02
) -> tuple[np.ndarray, ...]:
    """Changes of 60 writers' 25 digits, a third of them in group 1, which changes by `effect` more than 0.2: writers
    differ by up to `of_writers`, seeds differ, and digits are hard for all seeds alike."""
    writer = np.repeat(np.arange(60), 25)
    group = (writer < 20).astype(int)
    expected = 0.2 + effect * group + random.uniform(-of_writers, of_writers, 60)[writer]
    hard = random.normal(size=len(writer))
    of_seed = random.normal(0, of_seeds / 2, (n_seeds, 1)) + random.normal(0, of_seeds, (n_seeds, 2))[:, group]
    draws = stats.norm.cdf(np.sqrt(0.5) * random.normal(size=(n_seeds, len(writer))) + np.sqrt(0.5) * hard)
    return (draws < np.clip(expected + of_seed, 0, 1)).astype(float), group, writer


@pytest.mark.parametrize("of_seeds", [0.0, 0.02])
@pytest.mark.parametrize("of_writers", [0.0, 0.15])
@pytest.mark.parametrize("n_seeds", [3, 6, 12])
def test_intervals_of_group_changes_cover_the_truth(n_seeds: int, of_writers: float, of_seeds: float) -> None:
    """95 % intervals cover in 93 to 97 %, whether writers and seeds have effects of their own or not."""
    random, covered, rates = np.random.default_rng(0), [], []
    for _ in range(N_DRAWS):
        values, group, writer = simulated(random, 0.05, n_seeds, of_writers, of_seeds)
        estimates = clustered_rates(values, layout(group, writer, 2))
        low, high = estimates.interval()
        covered.append((low[1] <= 0.25) & (high[1] >= 0.25))
        low, high = clustered_shares(estimates, n_seeds * np.array([1000.0, 500.0]))
        rates.append((low[1] <= 0.25) & (high[1] >= 0.25))
    assert 0.93 - SLACK <= np.mean(covered) <= 0.97 + SLACK
    print(f"{np.mean(covered):.3f}, {np.mean(rates):.3f}")
    assert 0.93 - SLACK <= np.mean(rates) <= 0.97 + SLACK


def test_intervals_that_forget_the_writers_are_too_narrow() -> None:
    random, naive = np.random.default_rng(0), []
    for _ in range(N_DRAWS):
        values, group, _ = simulated(random, 0.05)
        low, high = wilson_interval(values[0][group == 1].sum(), 500)
        naive.append((low <= 0.25) & (high >= 0.25))
    assert np.mean(naive) < 0.93


@pytest.mark.parametrize("of_seeds", [0.0, 0.02])
@pytest.mark.parametrize("of_writers", [0.0, 0.15])
def test_tests_reject_as_often_as_they_say(of_writers: float, of_seeds: float) -> None:
    """At 5 %, 3 to 7 % of the tests reject where the groups do not differ; 4,000 draws, which tell 3 from 4 %."""
    random, rejected = np.random.default_rng(1), []
    for _ in range(4000 if FULL_RUN else N_DRAWS):
        values, group, writer = simulated(random, 0.0, 6, of_writers, of_seeds)
        rejected.append(clustered_contrasts(values, layout(group, writer, 2)).p[1] < 0.05)
    assert 0.03 - SLACK <= np.mean(rejected) <= 0.07 + SLACK


def test_tests_that_forget_the_writers_reject_too_often() -> None:
    random, naive = np.random.default_rng(1), []
    for _ in range(N_DRAWS):
        values, group, _ = simulated(random, 0.0)
        naive.append(clustered_contrasts(values, layout(group, None, 2)).p[1] < 0.05)
    assert np.mean(naive) > 0.1


def test_portions_of_a_known_whole_equal_statsmodels() -> None:
    values, cluster, group = outcomes()
    chosen = values > 0
    portions = clustered_portions(chosen, group, cluster, 3, fixed_sizes=False)
    for number in range(3):
        fit = fitted((group[chosen] == number).astype(float), np.ones(chosen.sum()), cluster[chosen])
        assert portions.value[number] == pytest.approx(fit.params[0], abs=1e-10)
        assert np.sqrt(portions.variance[number]) == pytest.approx(fit.bse[0], abs=1e-10)


def test_portions_of_groups_as_large_as_they_are_cover_the_truth() -> None:
    """Group 1 is chosen twice as often as group 0 and has a third of the examples: half of the chosen are its own."""
    random, covered, naive = np.random.default_rng(2), [], []
    for _ in range(N_DRAWS):
        writer = np.repeat(np.arange(90), 20)
        group = (writer < 30).astype(int)
        chance = 0.1 * (1 + group) * random.uniform(0, 2, 90)[writer]
        chosen = random.random(1800) < chance
        portions = clustered_portions(chosen, group, writer, 2, fixed_sizes=True)
        low, high = clustered_shares(portions, np.full(2, np.inf))
        covered.append((low[1] <= 0.5) & (high[1] >= 0.5))
        low, high = wilson_interval(chosen[group == 1].sum(), chosen.sum())
        naive.append((low <= 0.5) & (high >= 0.5))
    assert 0.93 - SLACK <= np.mean(covered) <= 0.97 + SLACK
    assert np.mean(naive) < np.mean(covered)
