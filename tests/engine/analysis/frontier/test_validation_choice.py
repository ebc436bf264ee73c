"""Chosen here, reported there: by hand, and with networks that differ by chance alone."""

import numpy as np
import pytest

from engine.analysis.frontier.validation_choice import (
    NO_CHOICE,
    ONE_MEMBER,
    Answers,
    Halves,
    Rule,
    choice_elsewhere,
    gaps,
    half_numbers,
    halves_choice,
    split_choice,
)

GROUP = np.repeat([0, 1, 3], [40, 40, 40])


def test_gap_is_that_of_a_plain_loop() -> None:
    right = np.random.default_rng(0).random((4, 120)) < 0.8
    accuracy, gap = gaps(Answers.of(right, GROUP))
    for network in range(4):
        rates = [right[network, start : start + 40].mean() for start in (0, 40, 80)]
        assert gap[network] == pytest.approx(max(rates) - min(rates))
        assert accuracy[network] == pytest.approx(right[network].mean())


def test_chosen_on_validation_is_reported_on_test() -> None:
    here = Answers.of([[1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]], [0, 0, 1, 1])
    there = Answers.of([[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]], [0, 0, 1, 1])
    got = choice_elsewhere([0.5, 0.6, 0.99], here, there, Rule(0.7, 1.0))
    assert got.chosen == (1,) and got.n_choices == 1 and not got.reason
    assert (got.gap_where_chosen, got.gap_elsewhere, got.optimism) == (0, 0.5, 0.5)
    assert (got.accuracy_where_chosen, got.accuracy_elsewhere) == (1, 0.75)
    nothing = choice_elsewhere([0.1, 0.2, 0.3], here, there, Rule(1.1, 1.0))
    assert nothing.chosen == (None,) and np.isnan(nothing.optimism) and nothing.reason == NO_CHOICE


def test_choosing_the_fairest_of_equal_networks_is_optimistic() -> None:
    rng = np.random.default_rng(1)
    right = rng.random((30, 1200)) < 0.9
    answers = Answers.of(right, np.arange(1200) % 4)
    got = split_choice(np.zeros(30), answers, np.arange(1200), Rule(0.5, 1.0))
    assert got.n_choices == 40 and got.gap_where_chosen < got.gap_elsewhere
    alone = split_choice(np.zeros(1), Answers.of(right[:1], answers.group), np.arange(1200), Rule(0.5, 1.0))
    assert abs(alone.optimism) < 1e-12, "with one network to choose from, swapped halves cancel"


def test_examples_of_a_member_stay_together() -> None:
    member = np.repeat(["ann", "bob"], 60)
    right = np.tile([[1.0], [0.0]], (1, 120))
    right[1, member == "ann"] = 1
    got = split_choice([0.1, 0.9], Answers.of(right, np.arange(120) % 2), member, Rule(0.9, 1.0), n_splits=5)
    assert sorted(set(got.chosen)) == [0, 1], "who looks at ann alone takes the sparser one, at bob alone the other"
    assert got.accuracy_elsewhere == 0.5 and got.accuracy_where_chosen == 1
    assert split_choice([0.1], Answers.of(right[:1], member == "ann"), ["ann"] * 120, Rule(0, 1)).reason == ONE_MEMBER


def test_same_seed_gives_the_same_splits() -> None:
    right = np.random.default_rng(2).random((5, 200)) < 0.8
    one, two = (
        split_choice(np.arange(5) / 5, Answers.of(right, np.arange(200) % 3), np.arange(200) // 4, Rule(0.5, 1.0))
        for _ in range(2)
    )
    assert one == two


# -- counted by cell -----------------------------------------------------------------------------------------------

N_EXAMPLES, N_NETWORKS, N_GROUPS = 900, 12, 4


def drawn_by_luck(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sparsities, right answers, groups and members of made-up networks that differ by luck alone."""
    rng = np.random.default_rng(seed)
    member, group = rng.integers(0, 60, N_EXAMPLES), rng.integers(0, N_GROUPS, N_EXAMPLES)
    return np.linspace(0, 0.9, N_NETWORKS), rng.random((N_NETWORKS, N_EXAMPLES)) < 0.9, group, member


@pytest.mark.parametrize("seed", range(5))
def test_counted_halves_choose_as_examples_do(seed: int) -> None:
    sparsity, right, group, member = drawn_by_luck(seed)
    halves = Halves.of(member, group, N_GROUPS, 8, seed)
    accuracy, gap = half_numbers(halves.counts(right), halves.sizes, np.zeros(N_NETWORKS, int), "max_min")
    rule = Rule(0.88, 20.0)
    mine = halves_choice(sparsity, accuracy, gap, rule)
    theirs = split_choice(sparsity, Answers.of(right, group), member, rule, 8, seed)
    assert mine.chosen == theirs.chosen and mine.n_choices == theirs.n_choices
    assert mine.gap_where_chosen == pytest.approx(theirs.gap_where_chosen)
    assert mine.gap_elsewhere == pytest.approx(theirs.gap_elsewhere)
    assert mine.accuracy_elsewhere == pytest.approx(theirs.accuracy_elsewhere)
    whole = halves_choice(sparsity, accuracy, gap, rule, whole=mine.chosen[0])
    assert whole.n_same == mine.chosen.count(mine.chosen[0]) > 0 and mine.n_same == 0


def test_equal_networks_look_fairer_where_they_are_chosen() -> None:
    found = []
    for seed in range(20):
        sparsity, right, group, member = drawn_by_luck(100 + seed)
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
    _, right, group, member = drawn_by_luck(1)
    halves = Halves.of(member, group, N_GROUPS)
    assert np.isnan(half_numbers(halves.counts(right), halves.sizes, np.zeros(12, int), "excessive_loss_gap")[1]).all()
