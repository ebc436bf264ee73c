"""Halves: counted by cell they choose as `split_choice` does example by example, and gaps are luckier where chosen."""

import numpy as np
import pytest

from engine.analysis.frontier.validation_choice import Answers, Halves, Rule, half_numbers, halves_choice, split_choice

N, N_NETWORKS, N_GROUPS = 900, 12, 4


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sparsities, right answers, groups and members of made-up networks that differ by luck alone."""
    rng = np.random.default_rng(seed)
    member, group = rng.integers(0, 60, N), rng.integers(0, N_GROUPS, N)
    return np.linspace(0, 0.9, N_NETWORKS), rng.random((N_NETWORKS, N)) < 0.9, group, member


@pytest.mark.parametrize("seed", range(5))
def test_counted_halves_choose_as_examples_do(seed: int) -> None:
    sparsity, right, group, member = drawn(seed)
    halves = Halves.of(member, group, N_GROUPS, 8, seed)
    accuracy, gap = half_numbers(halves.counts(right), halves.sizes, np.zeros(N_NETWORKS, int), "max_min")
    rule = Rule(0.88, 20.0)
    mine = halves_choice(sparsity, accuracy, gap, rule)
    theirs = split_choice(sparsity, Answers.of(right, group), member, rule, 8, seed)
    assert mine.chosen == theirs.chosen and mine.n_choices == theirs.n_choices
    assert mine.gap_where_chosen == pytest.approx(theirs.gap_where_chosen)
    assert mine.gap_elsewhere == pytest.approx(theirs.gap_elsewhere)
    assert mine.accuracy_elsewhere == pytest.approx(theirs.accuracy_elsewhere)


def test_equal_networks_look_fairer_where_they_are_chosen() -> None:
    found = []
    for seed in range(20):
        sparsity, right, group, member = drawn(100 + seed)
        halves = Halves.of(member, group, N_GROUPS, 4, seed)
        numbers = half_numbers(halves.counts(right), halves.sizes, np.zeros(N_NETWORKS, int), "max_min")
        found.append(halves_choice(np.zeros_like(sparsity), *numbers, Rule(0.0, 1.0)).optimism)
    assert np.mean(found) > 0.01


def test_examples_without_a_group_count_in_the_accuracy_alone() -> None:
    right, group = np.array([[True, False, True, True]]), np.array([0, 1, -1, -1])
    halves = Halves.of(np.zeros(4), group, 2, 1)
    assert halves.sizes[0, 1].tolist() == [1, 1, 2] and halves.sizes[0, 0].sum() == 0
    accuracy, gap = half_numbers(halves.counts(right), halves.sizes, np.zeros(1, int), "max_min")
    assert accuracy[0, 0, 1] == 0.75 and gap[0, 0, 1] == 1.0 and np.isnan(accuracy[0, 0, 0])


def test_measures_of_losses_are_not_told() -> None:
    _, right, group, member = drawn(1)
    halves = Halves.of(member, group, N_GROUPS)
    assert np.isnan(half_numbers(halves.counts(right), halves.sizes, np.zeros(12, int), "excessive_loss_gap")[1]).all()
