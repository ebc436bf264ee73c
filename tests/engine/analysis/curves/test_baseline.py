"""Baselines of models: the control of the same seed and level where all seeds have one, else dense of the same run."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.columns import VARIANT
from engine.analysis.curves.baseline import (
    CONTROL,
    DENSE,
    baselines,
    beside_baselines,
    compared,
    since_baselines,
    with_controls,
)
from engine.analysis.curves.class_curves import class_curves, total_curves, with_accuracy
from engine.analysis.curves.controls import Controls
from engine.analysis.curves.first_to_fall import first_fall, first_falls
from engine.analysis.curves.working_levels import last_within
from engine.analysis.unfairness import unfairness_table
from tests.support.study_tables import study_tables

LEVELS, CLASSES = (table.assign(treatment="finetune") for table in study_tables())
CONTROLS = Controls(
    *(
        table.assign(treatment="finetune", run=table["run"] + "x")
        for table in study_tables(("unpruned",), seed=1, n_levels=4)
    ),
    untrained=frozenset({"random"}),
)


def kinds(levels: pd.DataFrame, controls: Controls | None = CONTROLS) -> dict[tuple[str, int], tuple[str, int, str]]:
    """The baseline of each run and level."""
    pairs = baselines(levels.sample(frac=1, random_state=0), controls)
    keys = zip(pairs["run"], pairs["level"], strict=True)
    return dict(zip(keys, zip(pairs["baseline"], pairs["baseline_level"], pairs["kind"], strict=True), strict=True))


def test_a_model_that_trained_on_has_the_control_of_its_seed_and_level() -> None:
    pairs = kinds(LEVELS)
    assert len(pairs) == len(LEVELS)
    assert pairs["global2", 3] == ("unpruned2x", 3, CONTROL)
    assert pairs["global2", 0] == ("global2", 0, DENSE), "nothing is pruned yet"
    assert pairs["random1", 3] == ("random1", 0, DENSE), "nothing trains after this technique"
    assert kinds(LEVELS, None)["global2", 3] == ("global2", 0, DENSE)


@pytest.mark.parametrize("values", [{"treatment": "rewind"}, {"mitigation": "after"}])
def test_a_model_that_needs_no_control_has_dense(values: dict[str, str]) -> None:
    assert {kind for *_, kind in kinds(LEVELS.assign(**values)).values()} == {DENSE}


def test_one_seed_without_a_control_leaves_the_level_to_dense() -> None:
    left = CONTROLS.levels[(CONTROLS.levels["seed"] != 1) | (CONTROLS.levels["level"] < 3)]
    pairs = kinds(LEVELS, Controls(left, CONTROLS.classes))
    assert pairs["global0", 3][2] == pairs["global1", 3][2] == DENSE and pairs["global1", 2][2] == CONTROL


def test_a_run_without_dense_level_or_control_has_no_baseline() -> None:
    pairs = kinds(LEVELS[(LEVELS["level"] > 0) | (LEVELS["seed"] > 0)])
    assert ("random0", 2) not in pairs and pairs["global0", 2][2] == CONTROL


@pytest.mark.parametrize("baseline", [CONTROL, DENSE])
def test_curves_are_compared_with_what_their_seeds_are_paired_with(baseline: str) -> None:
    pairs = baselines(LEVELS, CONTROLS if baseline == CONTROL else None)
    for rows, controls, curves in (
        (CLASSES, CONTROLS.classes, class_curves(CLASSES)),
        (LEVELS, CONTROLS.levels, total_curves(LEVELS)),
    ):
        keys = [*VARIANT, "level", *(["class"] if "class" in rows else [])]
        table = compared(with_controls(curves, controls, baselines(LEVELS, CONTROLS)), baseline)
        by_seed = beside_baselines(rows, controls, pairs)
        table, by_seed = table[table["accuracy"].notna()], by_seed[by_seed["accuracy"].notna()]
        expected = by_seed.groupby(keys)["before"].mean()
        got = table.set_index(keys)["dense_accuracy"]
        pd.testing.assert_series_equal(got.sort_index(), expected.sort_index(), check_names=False)
        controlled = table.set_index(keys)["controlled"].sort_index()
        assert (controlled == by_seed.groupby(keys)["kind"].first().eq(CONTROL).sort_index()).all()
        assert controlled.any() == (baseline == CONTROL)


def test_before_is_the_named_rows_rate() -> None:
    table = beside_baselines(CLASSES, CONTROLS.classes, baselines(LEVELS, CONTROLS))
    row = table[(table["run"] == "global1") & (table["level"] == 2) & (table["class"] == 4)].iloc[0]
    theirs = with_accuracy(CONTROLS.classes).set_index(["run", "level", "class"])["accuracy"]
    assert row["before"] == theirs["unpruned1x", 2, 4] and row["kind"] == CONTROL
    assert len(table) == len(CLASSES) and table.loc[table["class"] == 9, "before"].isna().all()


@pytest.mark.parametrize("baseline", [CONTROL, DENSE])
def test_measures_of_a_change_are_since_the_baseline(baseline: str) -> None:
    pairs = baselines(LEVELS, CONTROLS if baseline == CONTROL else None)
    rows = CLASSES.sample(frac=1, random_state=0)
    table = unfairness_table(since_baselines(rows, CONTROLS.classes, pairs).loc[CLASSES.index])
    by_class = beside_baselines(CLASSES, CONTROLS.classes, pairs)
    lost = (by_class["before"] - by_class["accuracy"]).groupby([by_class["run"], by_class["level"]])
    largest = table.set_index(["run", "level"])["largest_loss"]
    pd.testing.assert_series_equal(largest.sort_index(), lost.max(), check_names=False)
    spread = table.set_index(["run", "level"])["change_range"]
    pd.testing.assert_series_equal(spread.sort_index(), lost.max() - lost.min(), check_names=False)
    assert table["has_dense"].all()
    if baseline == DENSE:
        pd.testing.assert_frame_equal(table, unfairness_table(CLASSES))


def test_falls_are_against_the_baseline() -> None:
    """A class that falls since dense no more than its control does has not fallen."""
    mine = CLASSES[CLASSES["technique"] == "global"].assign(correct=lambda rows: rows["n"])
    mine.loc[(mine["class"] == 1) & (mine["level"] > 0), "correct"] = 0
    theirs = CONTROLS.classes.assign(correct=CONTROLS.classes["n"])
    theirs.loc[(theirs["class"] == 1) & (theirs["level"] > 0), "correct"] = 0
    pairs = baselines(LEVELS[LEVELS["technique"] == "global"], CONTROLS)
    curves = with_controls(class_curves(mine), theirs, pairs)
    assert first_fall(compared(curves, CONTROL)) is None and first_fall(compared(curves, DENSE)) is not None
    assert first_falls(beside_baselines(mine, theirs, pairs)).empty and first_falls(mine).to_dict() == {1: 1.0}


def test_last_level_within_a_loss_is_against_the_baseline() -> None:
    rows = pd.DataFrame({"level": [0, 1, 2], "accuracy": [0.9, 0.93, 0.91], "before": [0.9, 0.935, 0.95]})
    assert last_within(rows, 0.01) == 1 and last_within(rows.drop(columns="before"), 0.01) == 2
    assert last_within(rows.assign(before=np.nan), 0.01) is None
