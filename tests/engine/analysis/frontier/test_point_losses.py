"""Classes and groups at an operating point, before and after."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.analysis.frontier.point_losses import GROUP_LOSSES, class_losses, group_losses, pulled_losses

CLASSES = pd.DataFrame(
    {
        "class": [0, 1],
        "n": [10, 20],
        "dense_accuracy": [0.9, 0.8],
        "accuracy": [0.85, 0.6],
        "low": [0.8, 0.5],
        "high": [0.9, 0.7],
    }
)


def test_class_losses_are_since_dense_largest_first() -> None:
    rows = class_losses(CLASSES)
    assert list(rows) == ["class", "n", "dense", "accuracy", "low", "high", "change"]
    assert rows["class"].tolist() == [1, 0] and rows["change"].tolist() == pytest.approx([-0.2, -0.05])


def test_class_losses_are_since_the_control_where_there_is_one() -> None:
    rows = class_losses(CLASSES, pd.Series({0: 0.95, 1: 0.65}))
    assert list(rows)[2:5] == ["dense", "control", "accuracy"]
    assert rows["class"].tolist() == [0, 1] and rows["change"].tolist() == pytest.approx([-0.1, -0.05])


def test_group_losses_are_means_over_runs_beside_dense() -> None:
    right = {("a", 0): 9, ("a", 2): 5, ("b", 0): 7, ("b", 2): 4}
    counts = pd.DataFrame(
        [(run, level, "side", "left", 10, correct) for (run, level), correct in right.items()],
        columns=["run", "level", "grouping", "group", "n", "correct"],
    )
    row = group_losses(counts, 2).iloc[0]
    assert (row["n"], row["dense"], row["accuracy"]) == pytest.approx((10, 0.8, 0.45))
    assert (row["low"], row["high"], row["change"]) == pytest.approx((0, 1, -0.35)), "a share ends at 0 and 1"
    close = group_losses(counts.assign(n=1000, correct=[900, 451, 700, 449]), 2).iloc[0]
    half = stats.t.ppf(0.975, 1) * np.std([0.451, 0.449], ddof=1) / np.sqrt(2)
    assert (close["low"], close["high"]) == pytest.approx((0.45 - half, 0.45 + half))
    assert list(group_losses(counts[:0], 2)) == list(GROUP_LOSSES)


def test_group_losses_with_controls_are_since_these() -> None:
    models = {"run": ["a", "b"] * 2, "level": [0, 0, 2, 2], "grouping": "series", "group": "hsf0", "n": 10}
    counts = pd.DataFrame(models | {"correct": [9, 7, 6, 4]})
    controls = pd.DataFrame({"run": ["a", "b"], "grouping": "series", "group": "hsf0", "n": 10, "correct": [9, 10]})
    rows = group_losses(counts, 2, controls)
    assert list(rows) == [*GROUP_LOSSES[:4], "control", *GROUP_LOSSES[4:]]
    row = rows.iloc[0]
    assert (row["dense"], row["control"], row["accuracy"]) == (0.8, 0.95, 0.5) and row["change"] == 0.5 - 0.95


def test_pulled_changes_stand_in_the_place_of_counted_ones() -> None:
    pulled = pd.DataFrame({"change": [-0.2, -0.05], "low": [-0.3, -0.1], "high": [-0.1, 0.3]})
    rows = pulled_losses(class_losses(CLASSES), pulled, "dense")
    assert rows["class"].tolist() == [0, 1] and rows["pulled"].all(), "who loses most comes first"
    assert rows["accuracy"].tolist() == pytest.approx([0.7, 0.75])
    assert rows["low"].tolist() == pytest.approx([0.6, 0.7]) and rows["high"].tolist() == pytest.approx([0.8, 1.0])
