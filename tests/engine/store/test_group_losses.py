"""Losses by group are checked against predictions whatever order the groups' names stand in."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from engine.store.group_losses import check_losses

ORDER = ["White", "Black", "Asian"]
"""Of the data set, not of the alphabet."""


def made() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, np.ndarray]:
    groups = pd.Series(pd.Categorical(["White", "White", "White", "Black", "Black", "Asian"], ORDER))
    examples = pd.DataFrame({"class": ["a"] * 6, "ethnicity": groups})
    right = np.array([[True, False, True, True, False, True]])
    rows = [
        ("class", "a", 6, 4),
        ("ethnicity", "White", 3, 2),
        ("ethnicity", "Black", 2, 1),
        ("ethnicity", "Asian", 1, 1),
    ]
    losses = pd.DataFrame(rows, columns=["grouping", "group", "n", "correct"])
    losses.insert(0, "level", 0)
    losses = losses.assign(loss=0.5, cut_correct=np.nan, cut_loss=np.nan)
    return losses, pd.DataFrame({"level": [0], "loss": [0.5]}), examples, right


def test_groups_may_stand_in_any_order() -> None:
    losses, levels, examples, right = made()
    check_losses(pa.Table.from_pandas(losses, preserve_index=False), levels, examples, right)


def test_a_wrong_count_is_still_found() -> None:
    losses, levels, examples, right = made()
    losses.loc[losses["group"] == "Black", "correct"] += 1
    with pytest.raises(ValueError, match="count examples otherwise"):
        check_losses(pa.Table.from_pandas(losses, preserve_index=False), levels, examples, right)
