"""Chosen here, reported there: by hand, and with networks that differ by chance alone."""

import numpy as np
import pytest

from engine.analysis.frontier.validation_choice import (
    NO_CHOICE,
    ONE_MEMBER,
    Answers,
    Rule,
    choice_elsewhere,
    gaps,
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
