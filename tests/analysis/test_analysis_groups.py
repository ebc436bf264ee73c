"""Counts per group against pandas, one level at a time."""

import numpy as np
import pandas as pd

from engine.analysis.groups import group_counts


def test_counts_equal_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    examples = pd.DataFrame(
        {"label": rng.integers(0, 3, 200), "series": rng.choice(["a", "b"], 200), "writer": rng.integers(0, 9, 200)}
    )
    examples["series"] = examples["series"].where(examples.index > 9).astype("category")
    predictions = rng.integers(0, 3, (4, 200)).astype(np.uint8)
    levels = np.array([0, 1, 2, 5])
    table = group_counts(examples, levels, predictions, ["series", "writer"])
    assert list(table) == ["level", "grouping", "group", "n", "correct"] and len(table) == 4 * (2 + 9)
    for _, row in table.iterrows():
        member = (examples[row["grouping"]].astype(str) == row["group"]).to_numpy()
        right = predictions[levels.tolist().index(row["level"])] == examples["label"]
        assert (row["n"], row["correct"]) == (member.sum(), (member & right).sum())


def test_no_groupings_give_an_empty_table() -> None:
    examples = pd.DataFrame({"label": [0, 1]})
    assert group_counts(examples, np.array([0]), np.array([[0, 1]]), []).empty
