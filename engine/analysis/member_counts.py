"""How many examples of each group's members does each model get right, where examples name members?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.group_counts import group_counts
from engine.analysis.uncertainty.clusters import Ints, cluster_codes


def member_counts(
    examples: pd.DataFrame, models: pd.DataFrame, right: NDArray[np.bool_], groupings: Sequence[str]
) -> pd.DataFrame:
    """The rows of `group_counts` parted by `member`, the number of the cluster; without members, as they are."""
    cluster = cluster_codes(examples)
    if cluster is None or not groupings:
        return group_counts(examples, models, right, groupings)
    parts = [_counts(examples[grouping], cluster, models, right) for grouping in groupings]
    return pd.concat(parts, ignore_index=True)


def _counts(group: pd.Series, cluster: Ints, models: pd.DataFrame, right: NDArray[np.bool_]) -> pd.DataFrame:
    code, names = pd.factorize(group, sort=True)
    known = np.flatnonzero(code >= 0)
    width = int(cluster.max()) + 1
    cells, cell = np.unique(code[known] * width + cluster[known], return_inverse=True)
    correct = [np.bincount(cell[row[known]], minlength=len(cells)) for row in right]
    text = np.asarray(names).astype(str).astype(object)[cells // width]
    repeated = models.iloc[np.repeat(np.arange(len(models)), len(cells))].reset_index(drop=True)
    return repeated.assign(
        grouping=group.name,
        group=np.tile(text, len(models)),
        member=np.tile(cells % width, len(models)),
        n=np.tile(np.bincount(cell, minlength=len(cells)), len(models)),
        correct=np.concatenate(correct) if correct else np.empty(0, np.int64),
    )
