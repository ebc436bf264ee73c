"""Curves against plain loops and scipy, and the class that falls first."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.analysis.columns import MODEL
from engine.analysis.curves.class_curves import (
    NO_DENSE,
    NO_FALL,
    FirstToFall,
    class_curves,
    first_to_fall,
    total_curves,
    unfairness_curves,
)
from engine.analysis.unfairness import unfairness_table
from tests.support.study_tables import study_tables


def test_class_curves_equal_a_plain_loop() -> None:
    _, classes = study_tables()
    curves = class_curves(classes.astype(dict.fromkeys(MODEL, "category")))
    assert len(curves) == 2 * 4 * 10
    for _, row in curves[curves["class"] < 9].iterrows():
        place = (classes["technique"] == row["technique"]) & (classes["class"] == row["class"])
        runs, dense = (classes[place & (classes["level"] == level)] for level in (row["level"], 0))
        accuracy = runs["correct"] / runs["n"]
        assert row["accuracy"] == pytest.approx(accuracy.mean()) and row["sd"] == pytest.approx(accuracy.std())
        assert row["dense_accuracy"] == pytest.approx((dense["correct"] / dense["n"]).mean())
        assert row["n_seeds"] == 3 and row["n"] == 50
        if row["sd"] > 0:
            assert (row["low"], row["high"]) == pytest.approx(
                np.clip(stats.t.interval(0.95, 2, row["accuracy"], stats.sem(accuracy)), 0, 1)
            )


def test_class_without_examples_has_no_accuracy() -> None:
    empty = class_curves(study_tables()[1]).query("`class` == 9")
    assert len(empty) == 2 * 4, "the class is listed at every level of both techniques"
    assert empty["accuracy"].isna().all() and empty["dense_accuracy"].isna().all()
    assert (empty["n"] == 0).all() and (empty["n_seeds"] == 0).all()


def test_one_seed_has_a_mean_and_no_interval() -> None:
    levels, classes = study_tables(n_seeds=1)
    for curves, n_rows in ((class_curves(classes[classes["class"] < 9]), 2 * 4 * 9), (total_curves(levels), 2 * 4)):
        assert len(curves) == n_rows
        assert curves["accuracy"].notna().all() and (curves["n_seeds"] == 1).all()
        assert curves[["sd", "low", "high"]].isna().all(axis=None)


def test_total_curves_hold_the_dense_mean() -> None:
    levels, _ = study_tables()
    curves = total_curves(levels)
    assert len(curves) == 2 * 4
    for technique, rows in curves.groupby("technique"):
        dense = levels[(levels["technique"] == technique) & (levels["level"] == 0)]
        assert rows["dense_accuracy"].tolist() == pytest.approx([dense["accuracy"].mean()] * 4)
    assert total_curves(levels[levels["level"] > 0])["dense_accuracy"].isna().tolist() == [True] * 2 * 3


def test_unfairness_curves_count_the_seeds_that_have_the_measure() -> None:
    _, classes = study_tables()
    table = unfairness_table(classes[(classes["level"] > 0) | (classes["seed"] > 0)])
    curves = unfairness_curves(table, "change_range")
    assert curves["n_seeds"].tolist() == [2] * 2 * 4
    expected = table.groupby(["technique", "level"])["change_range"].mean()
    assert curves["unfairness"].to_numpy() == pytest.approx(expected.to_numpy())


def test_first_to_fall_is_the_planted_class() -> None:
    _, classes = study_tables(("global",), n=5000)
    fact = first_to_fall(class_curves(classes), drop=0.15)
    assert (fact.name, fact.level, fact.sparsity, fact.n, fact.n_seeds) == (8, 1, 0.5, 5000, 3)
    assert fact.dense_accuracy - fact.accuracy > 0.15
    assert fact.model[MODEL.index("technique")] == "global" and fact.reason == ""


def test_first_to_fall_says_why_there_is_none() -> None:
    _, classes = study_tables()
    assert first_to_fall(class_curves(classes), drop=0.9).reason == NO_FALL
    fact = first_to_fall(class_curves(classes[classes["level"] > 0]))
    assert fact.reason == NO_DENSE and fact.name is None


def test_empty_study_has_empty_curves() -> None:
    levels, classes = (table.iloc[:0] for table in study_tables())
    assert class_curves(classes).empty and total_curves(levels).empty
    assert unfairness_curves(unfairness_table(classes), "max_min").empty
    assert first_to_fall(class_curves(classes), drop=0.3) == FirstToFall(drop=0.3, reason=NO_DENSE)


@pytest.mark.parametrize("by_class", [True, False])
def test_a_seed_that_lacks_a_level_is_no_part_of_its_dense_mean(by_class: bool) -> None:
    levels, classes = study_tables()
    table, curve = (classes, class_curves) if by_class else (levels, total_curves)
    keys = [*MODEL, *(["class"] if by_class else [])]
    left = table[(table["seed"] > 0) | (table["level"] < 3)]
    curves, fewer = curve(left), curve(left[left["seed"] > 0])
    last = [rows[rows["level"] == 3].set_index(keys)["dense_accuracy"] for rows in (curves, fewer)]
    pd.testing.assert_series_equal(*last)
    others = [rows[rows["level"] < 3].reset_index(drop=True) for rows in (curves, curve(table))]
    pd.testing.assert_frame_equal(*others)
