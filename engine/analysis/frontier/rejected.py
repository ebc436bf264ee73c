"""Why did the other operating points lose?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.frontier.choice import Choice

BELOW = "below the threshold"
UNKNOWN = "unfairness not estimated"
DOMINATED = "dominated"
LOWER = "lower value at this weight"
EQUAL = "equal to the chosen point"


def rivals(points: pd.DataFrame, choice: Choice, broken: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per point other than the chosen one, best value first: position, identity, level, n_seeds, sparsity,
    accuracy, unfairness, value, behind, reason, dominated_by.

    `behind` is the chosen point's value minus this one's; `dominated_by` is the place of the fairest frontier point
    that is at least as sparse, <NA> unless the reason is DOMINATED. A point below the threshold may have a higher
    value. `broken` says which floor a point breaks, as `floors.broken` does; without it, it is the threshold.
    """
    table = points[[*MODEL, "level", "n_seeds", "sparsity", "accuracy", choice.measure]]
    table = table.rename(columns={choice.measure: "unfairness"}).assign(value=choice.values)
    table.insert(0, "position", np.arange(len(points)))
    known = table[["sparsity", "unfairness"]].notna().all(axis=1).to_numpy()
    twins = np.isin(table["position"], choice.twins)
    table["behind"] = np.nan if choice.chosen is None else choice.values[choice.chosen] - choice.values
    below = BELOW if broken is None else np.where([bool(text) for text in broken], broken, BELOW)
    table["reason"] = np.select(
        [~choice.survivors, ~known, ~choice.frontier, twins], [below, UNKNOWN, DOMINATED, EQUAL], LOWER
    )
    dominated = choice.survivors & known & ~choice.frontier
    table["dominated_by"] = pd.array(_dominators(table, choice), dtype="Int64")
    table.loc[~dominated, "dominated_by"] = pd.NA
    if choice.chosen is not None:
        table = table.drop(index=table.index[choice.chosen])
    return table.sort_values("value", ascending=False, kind="stable", ignore_index=True)


def _dominators(table: pd.DataFrame, choice: Choice) -> np.ndarray:
    """For each point the fairest frontier point among those at least as sparse; it dominates all that lose to any."""
    front = np.flatnonzero(choice.frontier)
    sparsity = table["sparsity"].to_numpy(float)
    front = front[np.argsort(sparsity[front], kind="stable")]
    if not len(front):
        return np.zeros(len(table), int)
    places: np.ndarray = front[np.minimum(np.searchsorted(sparsity[front], sparsity), len(front) - 1)]
    return places
