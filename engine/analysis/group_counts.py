"""How many examples of each group does each model get right?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def group_counts(
    examples: pd.DataFrame, models: pd.DataFrame, right: NDArray[np.bool_], groupings: Sequence[str]
) -> pd.DataFrame:
    """One row per row of `models` (its columns come first), grouping (a column of `examples`) and group (its value, as
    text): n, correct.

    `right` is (n_models, n_examples) in the order of both. An example without a group counts in none.
    """
    parts = [_counts(examples[grouping], models, right) for grouping in groupings]
    names = [*models, "grouping", "group", "n", "correct"]
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _counts(group: pd.Series, models: pd.DataFrame, right: NDArray[np.bool_]) -> pd.DataFrame:
    code, names = pd.factorize(group, sort=True)
    member = np.flatnonzero(code >= 0)
    code = code[member]
    correct = [np.bincount(code[row[member]], minlength=len(names)) for row in right]
    repeated = models.iloc[np.repeat(np.arange(len(models)), len(names))].reset_index(drop=True)
    return repeated.assign(
        grouping=group.name,
        group=np.tile(np.asarray(names).astype(str).astype(object), len(models)),
        n=np.tile(np.bincount(code, minlength=len(names)), len(models)),
        correct=np.concatenate(correct) if correct else np.empty(0, np.int64),
    )
