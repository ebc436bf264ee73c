"""Members beside random permutations: chance looks like chance, a planted difference is found, scipy agrees."""

import numpy as np
import pytest
from scipy import stats

from engine.analysis.members.accuracy import n_losing
from engine.analysis.members.permutation import NO_CHANGE, NO_MEMBERS, STEADY, n_paying, pay_line, permuted, strata


def made(
    seed: int, effect: float = 0.0, n: int = 2000, n_members: int = 20
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Changes of six seeds' mean, members of unequal size, labels; every second member loses `effect` more."""
    random = np.random.default_rng(seed)
    member = random.choice(n_members, n, p=np.arange(1, n_members + 1) / (n_members * (n_members + 1) / 2))
    label = random.integers(0, 4, n)
    change = -random.binomial(6, np.clip(0.05 + 0.05 * label + effect * (member % 2), 0, 1)) / 6
    return change, member, label


def test_spread_and_p_are_those_of_the_analysis_of_variance() -> None:
    """With one class, the mean spread of all deals is the variance of the examples times members - 1."""
    change, member, _ = made(0, effect=0.05)
    label = np.zeros_like(member)
    found = permuted(change, member, label, n_draws=4000)
    n = np.bincount(member)
    between = (n * (np.bincount(member, change) / n - change.mean()) ** 2).sum()
    assert found.spread == pytest.approx(np.sqrt(between / (change.var(ddof=1) * (len(n) - 1))), rel=0.01)
    for effect in (0.0, 0.01):
        change, member, _ = made(1, effect)
        test = stats.f_oneway(*(change[member == one] for one in np.unique(member)))
        assert permuted(change, member, label, n_draws=4000).p == pytest.approx(test.pvalue, abs=0.03)


def test_chance_is_found_as_often_as_it_should_be() -> None:
    """Without an effect p is uniform, classes of unequal difficulty or not."""
    p = [permuted(*made(seed), n_draws=99).p for seed in range(200)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_a_planted_difference_is_found() -> None:
    change, member, label = made(2, effect=0.1)
    found = permuted(change, member, label, loss=0.05)
    means = np.bincount(member, change) / np.bincount(member)
    assert found.p == 1 / 501 and found.spread > 2
    assert found.losing_low <= found.losing_high < n_losing(means, 0.05)


def test_a_loss_that_all_share_is_not_counted() -> None:
    """Under a strong loss of everybody the count against zero is everybody; against the mean it is who pays."""
    change, member, label = made(2, effect=0.1)
    assert permuted(change - 0.5, member, label, loss=0.05).losing_high == permuted(change, member, label).losing_high


def test_series_that_lose_more_are_no_difference_between_their_members() -> None:
    change, member, label = made(7)
    series = member % 2
    harder = change - 0.3 * series
    assert permuted(harder, member, label).p < 0.01
    assert permuted(harder, member, strata(label, series)).p == permuted(change, member, strata(label, series)).p
    assert permuted(change, member, strata(member)).reason == NO_CHANGE


def test_strata_number_what_agrees_in_all_columns() -> None:
    assert strata([3, 3, 1, 3], ["a", "b", "a", "a"]).tolist() == [1, 2, 0, 1]


def test_who_has_the_harder_classes_is_no_difference_between_members() -> None:
    random = np.random.default_rng(3)
    label = np.repeat([0, 1], 3000)
    member = np.where(random.random(6000) < 0.8, label, 1 - label)
    change = -(random.random(6000) < np.where(label, 0.3, 0.01)).astype(float)
    assert permuted(change, member, np.zeros_like(label)).p < 0.01
    assert permuted(change, member, label).p > 0.05


def test_counts_are_those_of_plain_deals() -> None:
    change, member, label = made(4)
    found, random = permuted(change, member, label, loss=0.05, n_draws=2000), np.random.default_rng(9)
    losing, worst = [], []
    for _ in range(2000):
        given = change.copy()
        for one in np.unique(label):
            given[label == one] = random.permutation(given[label == one])
        means = np.array([given[member == who].mean() for who in np.unique(member)])
        losing.append((means <= means.mean() - 0.05).sum())
        worst.append(means.min())
    assert (found.losing_low, found.losing_high) == pytest.approx(np.percentile(losing, (2.5, 97.5)), abs=1)
    assert (found.worst_low, found.worst_high) == pytest.approx(np.percentile(worst, (2.5, 97.5)), abs=0.02)


def test_names_of_members_and_examples_of_nobody_do_not_matter() -> None:
    change, member, label = made(5)
    renamed = np.where(member == 3, -1, member * 7 + 100 * (member != 3))
    kept = member != 3
    assert permuted(change, renamed, label) == permuted(change[kept], member[kept], label[kept])


def test_what_cannot_be_dealt_says_why() -> None:
    change, member, label = made(6)
    assert permuted(change, np.zeros_like(member), label).reason == NO_MEMBERS
    alike = permuted(-label / 10, member, label)
    assert alike.reason == NO_CHANGE and np.isnan(alike.p)


def test_by_chance_alone_about_one_in_a_hundred_pays() -> None:
    random = np.random.default_rng(5)
    member = np.repeat(np.arange(200), 50)
    change = random.choice([-1.0, 0.0, 1.0], len(member), p=[0.06, 0.9, 0.04])
    line = pay_line(change, member, np.zeros(len(member), int))
    by_hand = -change.mean() + stats.norm.ppf(0.99) * change.std() / np.sqrt(50)
    assert line.loss == pytest.approx(by_hand, abs=0.02)
    assert 200 * line.loss == pytest.approx(round(200 * line.loss))
    assert line.low <= 2 <= line.high + 1 and line.high <= 6 and line.n_draws > 0


def test_who_loses_everything_pays_and_a_steady_total_has_the_least_line() -> None:
    member = np.repeat(np.arange(20), 100)
    change = np.zeros(len(member))
    change[member == 3] = -1
    found = pay_line(change, member, np.zeros(len(member), int))
    losses = -np.bincount(member, change) / 100
    assert n_paying(losses, found.loss) == 1 and found.high < 20
    assert pay_line(np.zeros(40), np.repeat([0, 1], 20), np.zeros(40, int)).loss == STEADY
    assert pay_line(change[:100], member[:100], np.zeros(100, int)).reason == NO_MEMBERS
