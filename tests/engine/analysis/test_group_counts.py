"""Counts per group against a plain loop, one model at a time."""

import numpy as np
import pandas as pd

from engine.analysis.group_counts import group_counts


def test_counts_equal_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    examples = pd.DataFrame(
        {"label": rng.integers(0, 3, 200), "series": rng.choice(["a", "b"], 200), "writer": rng.integers(0, 9, 200)}
    )
    examples["series"] = examples["series"].where(examples.index > 9).astype("category")
    predictions = rng.integers(0, 3, (4, 200)).astype(np.uint8)
    models = pd.DataFrame({"run": ["a", "a", "b", "b"], "level": [0, 5, 0, 1]}, index=[7, 3, 5, 1])
    rights = predictions == examples["label"].to_numpy()
    table = group_counts(examples, models, rights, ["series", "writer"])
    assert list(table) == ["run", "level", "grouping", "group", "n", "correct"] and len(table) == 4 * (2 + 9)
    for _, row in table.iterrows():
        member = (examples[row["grouping"]].astype(str) == row["group"]).to_numpy()
        right = rights[((models["run"] == row["run"]) & (models["level"] == row["level"])).to_numpy().argmax()]
        assert (row["n"], row["correct"]) == (member.sum(), (member & right).sum())


def test_no_groupings_give_an_empty_table() -> None:
    examples = pd.DataFrame({"label": [0, 1]})
    assert group_counts(examples, pd.DataFrame({"level": [0]}), np.array([[True, True]]), []).empty


def test_no_models_give_an_empty_table() -> None:
    examples = pd.DataFrame({"series": ["a", "b"]})
    assert group_counts(examples, pd.DataFrame({"level": []}), np.empty((0, 2), bool), ["series"]).empty
