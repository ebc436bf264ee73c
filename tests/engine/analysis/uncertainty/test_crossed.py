"""Means over seeds and members: against scipy, under normal effects, and on three made-up designs of digits."""

import os
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, stdtrit

from engine.analysis.uncertainty.clusters import clustered_contrasts, clustered_rates, layout
from engine.analysis.uncertainty.crossed import crossed_variance

FULL_RUN = os.environ.get("PRUNESCOPE_FULL") == "1"
N_DRAWS = 1000 if FULL_RUN else 150
SLACK = 0.0 if FULL_RUN else 0.03
"""How much further than in 1,000 draws a share may lie from what is asked."""

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, float]


def test_seeds_alone_are_a_t_test() -> None:
    means = np.random.default_rng(0).normal(0.1, 0.2, 5)
    variance, freedom = crossed_variance(0.0, 19.0, means.var(ddof=1) / 5, 0.0, 5)
    test = stats.ttest_1samp(means, 0)
    assert freedom == pytest.approx(test.df)
    assert 2 * stats.t.sf(abs(means.mean()) / np.sqrt(variance), freedom) == pytest.approx(test.pvalue)


def test_members_alone_keep_their_freedom_and_one_seed_says_nothing() -> None:
    variance, freedom = crossed_variance([0.3, 0.3], [19.0, 19.0], [0.0, 0.1], [0.0, 0.0], [4, 1])
    assert (variance[0], freedom[0]) == pytest.approx((0.3, 19)) and np.isnan([variance[1], freedom[1]]).all()


@pytest.mark.parametrize("n_members", [20, 60])
@pytest.mark.parametrize(("n_seeds", "least", "most"), [(2, 0.90, 0.97), (3, 0.94, 0.97), (6, 0.948, 0.967)])
def test_normal_effects_of_any_share_are_covered(n_seeds: int, least: float, most: float, n_members: int) -> None:
    """Mean squares of a two-way layout, with every mixture of seeds, members and their interplay."""
    random, n_draws = np.random.default_rng(0), 20_000
    of = {"seeds": n_seeds - 1, "members": n_members - 1, "both": (n_seeds - 1) * (n_members - 1)}
    chance = {name: random.chisquare(freedom, n_draws) / freedom for name, freedom in of.items()}
    away = random.normal(size=n_draws)
    for interplay in (0.001, 0.3, 0.7, 1.0):
        for seeds in (0, 0.1, 0.3, 1, 3, 10, 30, 1000):
            found = crossed_variance(
                chance["members"],
                of["members"],
                (seeds + interplay) * chance["seeds"],
                interplay * chance["both"],
                n_seeds,
            )
            half = stdtrit(found[1], 0.975) * np.sqrt(found[0])
            assert least <= np.mean(np.abs(away) * np.sqrt(1 + seeds) <= half) <= most


def ranks(random: np.random.Generator, n_seeds: int, n: int, shared: float) -> np.ndarray:
    """Uniform ranks of digits, in part the same for all seeds."""
    return ndtr(np.sqrt(1 - shared) * random.normal(size=(n_seeds, n)) + np.sqrt(shared) * random.normal(size=n))


def unequal_writers(random: np.random.Generator, n_seeds: int, of_seeds: float) -> Drawn:
    """Writers of 6 to 60 digits with heavy tails, in groups of whole writers."""
    writer = np.repeat(np.arange(36), np.round(np.geomspace(6, 60, 36)).astype(int))
    own = 0.08 * random.standard_t(6, 36) / np.sqrt(1.5)
    chance = 0.3 + own[writer] + random.normal(0, of_seeds, (n_seeds, 1))
    return (ranks(random, n_seeds, len(writer), 0.5) < chance).astype(float), writer % 2, writer, 0.3


def uneven_seeds(random: np.random.Generator, n_seeds: int, of_seeds: float) -> Drawn:
    """Some seeds stray little and some much, each in its own way for groups and writers; groups cross writers."""
    writer, group = np.repeat(np.arange(48), 16), np.tile(np.arange(16) % 2, 48)
    own, other = random.uniform(-0.1, 0.1, 48), random.normal(0, 0.06, (n_seeds, 48))
    loud = random.choice([0.4, 1.5], (n_seeds, 1)) / np.sqrt((0.16 + 2.25) / 2)
    chance = 0.25 + own[writer] + other[:, writer] + of_seeds * loud * random.normal(size=(n_seeds, 2))[:, group]
    return (ranks(random, n_seeds, len(writer), 0.3) < chance).astype(float), group, writer, 0.25


def paired_changes(random: np.random.Generator, n_seeds: int, of_seeds: float) -> Drawn:
    """After less before: -1, 0 or 1 of the same digit and seed; a fifth of the answers is drawn anew."""
    writer = np.repeat(np.arange(50), 20)
    before = 0.85 + random.uniform(-0.1, 0.1, 50)[writer] + random.normal(0, 0.01, (n_seeds, 1))
    loss = 0.08 + random.uniform(-0.06, 0.06, 50)[writer] + random.normal(0, of_seeds, (n_seeds, 1))
    was = ranks(random, n_seeds, 1000, 0.6)
    now = np.where(random.random(was.shape) < 0.2, random.random(was.shape), was)
    return (now < before - loss) - (was < before).astype(float), (writer < 20).astype(int), writer, -0.08


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("of_seeds", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("made", [unequal_writers, uneven_seeds, paired_changes])
@pytest.mark.parametrize("n_seeds", [3, 6])
def test_group_changes_are_covered(n_seeds: int, made: Callable[..., Drawn], of_seeds: float) -> None:
    """95 % intervals of a group's change cover in 93 to 97 %, and 3 to 7 % of the tests reject where groups do not
    differ, in designs that the method was not made on."""
    random, covered, rejected = np.random.default_rng(5), [], []
    for _ in range(N_DRAWS):
        values, group, writer, truth = made(random, n_seeds, of_seeds)
        where = layout(group, writer, 2)
        low, high = clustered_rates(values, where).interval()
        covered.append((low <= truth) & (truth <= high))
        rejected.append(clustered_contrasts(values, where).p[1] < 0.05)
    print(f"{made.__name__}, {n_seeds} seeds, {of_seeds}: {np.mean(covered):.3f}, {np.mean(rejected):.3f}")
    assert 0.93 - SLACK <= np.mean(covered) <= 0.97 + SLACK
    assert 0.03 - SLACK <= np.mean(rejected) <= 0.07 + SLACK
