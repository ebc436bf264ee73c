"""How many examples of each group does a run get right, level by level?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def group_counts(
    examples: pd.DataFrame, levels: NDArray[np.integer], predictions: NDArray[np.integer], groupings: Sequence[str]
) -> pd.DataFrame:
    """One row per level, grouping (a column of `examples`) and group (its value, as text): n, correct.

    `predictions` is (n_levels, n_examples) in the order of the examples. An example without a group counts in none.
    """
    right = predictions == examples["label"].to_numpy()
    parts = [_counts(examples[grouping], np.asarray(levels), right) for grouping in groupings]
    names = ["level", "grouping", "group", "n", "correct"]
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _counts(group: pd.Series, levels: NDArray[np.integer], right: NDArray[np.bool_]) -> pd.DataFrame:
    code, names = pd.factorize(group, sort=True)
    member = np.flatnonzero(code >= 0)
    cell = np.arange(len(levels))[:, None] * len(names) + code[member]
    correct = np.bincount(cell[right[:, member]], minlength=len(levels) * len(names))
    return pd.DataFrame(
        {
            "level": np.repeat(levels, len(names)),
            "grouping": group.name,
            "group": np.tile(np.asarray(names).astype(str).astype(object), len(levels)),
            "n": np.tile(np.bincount(code[member], minlength=len(names)), len(levels)),
            "correct": correct,
        }
    )
