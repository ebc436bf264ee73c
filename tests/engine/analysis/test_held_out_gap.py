"""The gap with a held-out order: 0 between equal groups, the true gap where the order is clear, and by hand."""

import os

import numpy as np
import pandas as pd
import pytest

from engine.analysis.groupings import grouping_of
from engine.analysis.held_out_gap import debiased_gap, debiased_gaps
from engine.analysis.unfairness import max_min

N_DRAWS = 1_000 if os.environ.get("PRUNESCOPE_FULL") else 300


def drawn(accuracy: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers of many models with these true accuracies of groups, each on examples of its own."""
    groups = np.repeat(np.arange(len(accuracy)), n)
    return np.random.default_rng(seed).random((N_DRAWS, len(groups))) < accuracy[groups], groups


def naive_gap(right: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return max_min(np.stack([right[:, groups == group].mean(axis=1) for group in np.unique(groups)], axis=1))


def test_ten_equal_groups_have_no_gap_within_its_error() -> None:
    right, groups = drawn(np.full(10, 0.9), 100, seed=0)
    gaps = debiased_gap(right, groups)
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    assert abs(gaps.mean()) < 3 * error and error < 0.003
    assert naive_gap(right, groups).mean() > 0.07


@pytest.mark.parametrize("accuracy", [(0.95, 0.65), (0.9, 0.8, 0.8, 0.6), (0.99, 0.95, 0.9)])
def test_a_clear_gap_is_the_true_one_on_average(accuracy: tuple[float, ...]) -> None:
    right, groups = drawn(np.array(accuracy), 400, seed=1)
    gaps = debiased_gap(right, groups)
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    assert gaps.mean() == pytest.approx(max(accuracy) - min(accuracy), abs=3 * error + 0.001)


def test_gap_by_hand_over_all_that_halves_can_be() -> None:
    right = np.array([1, 1, 0, 1, 0, 0], bool)
    groups = np.array(list("aaaabb"))
    gap = float(debiased_gap(right, groups, n_splits=4_000))

    def one(first: tuple[int, ...]) -> float:
        """Group a split into two halves; b has nothing right in either."""
        halves = [right[list(first)].mean(), right[[k for k in range(4) if k not in first]].mean()]
        return float(np.mean([halves[1] * np.sign(halves[0]), halves[0] * np.sign(halves[1])]))

    exact = np.mean([one((i, j)) for i in range(4) for j in range(i + 1, 4)])
    assert gap == pytest.approx(exact, abs=0.01)


def test_order_of_groups_names_and_models_does_not_matter() -> None:
    right, groups = drawn(np.array([0.9, 0.8, 0.85]), 31, seed=2)
    gaps = debiased_gap(right, groups)
    assert debiased_gap(right[3], groups) == gaps[3] and gaps.shape == (N_DRAWS,)
    names = np.array(["x", "y", "z"])[groups]
    assert debiased_gap(right, names).tolist() == gaps.tolist()
    assert debiased_gap(right[::-1], groups)[::-1].tolist() == gaps.tolist()
    twice = debiased_gap(right, groups, seed=1)
    assert twice.tolist() != gaps.tolist() and abs((twice - gaps).mean()) < 0.01


def test_examples_without_a_group_and_lone_examples_count_in_none() -> None:
    right, groups = drawn(np.array([0.9, 0.5]), 30, seed=3)
    more = np.hstack([right, np.ones((N_DRAWS, 3), bool)])
    named = [*groups.astype(str).astype(object), None, None, "alone"]
    assert debiased_gap(more, named).tolist() == debiased_gap(right, groups).tolist()


def test_fewer_than_two_groups_give_nan() -> None:
    assert np.isnan(debiased_gap([True, False, True], ["a", "a", "a"]))
    assert np.isnan(debiased_gap([[True, False]], ["a", "b"])).all()


def test_table_of_models_takes_a_grouping() -> None:
    right, groups = drawn(np.array([0.9, 0.5, 0.7]), 30, seed=4)
    examples = pd.DataFrame({"label": 0, "region": groups})
    models = pd.DataFrame({"run": "r", "level": range(N_DRAWS)})
    table = debiased_gaps(models, right, grouping_of(examples, "region"))
    assert list(table) == ["run", "level", "debiased_gap"]
    assert table["debiased_gap"].tolist() == debiased_gap(right, groups).tolist()
