"""Which operating points are worth choosing from: means over seeds, and the points that no other one dominates."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.binary_rates import MEASURES
from engine.analysis.columns import MODEL, UNMITIGATED
from engine.analysis.seeds import over_seeds


def pareto_front(sparsity: ArrayLike, unfairness: ArrayLike) -> NDArray[np.bool_]:
    """True where no other point is at least as sparse and at least as fair and better in one (Paganini 2020, 4.2).

    Equal points share a fate; a point with NaN is never on the frontier and dominates nothing. O(n log n).
    """
    sparsity, unfairness = np.asarray(sparsity, float), np.asarray(unfairness, float)
    front = np.zeros(sparsity.shape, bool)
    known = np.flatnonzero(~np.isnan(sparsity) & ~np.isnan(unfairness))
    if not len(known):
        return front
    order = known[np.argsort(-sparsity[known])]
    steps = np.ones(len(order), bool)
    steps[1:] = sparsity[order[1:]] != sparsity[order[:-1]]
    starts = np.flatnonzero(steps)
    fairest = np.minimum.reduceat(unfairness[order], starts)
    fairer_than_sparser = np.ones(len(starts), bool)
    fairer_than_sparser[1:] = fairest[1:] < np.minimum.accumulate(fairest)[:-1]
    tie = np.cumsum(steps) - 1
    front[order] = fairer_than_sparser[tie] & (unfairness[order] == fairest[tie])
    return front


def seed_points(levels: pd.DataFrame, unfairness: pd.DataFrame) -> pd.DataFrame:
    """One row per run and level, sorted by point and seed: point, identity, seed, level, sparsity, accuracy, measures.

    `point` numbers the operating points as `operating_points` does; the measures are those that `unfairness` has.
    """
    measures = [measure for measure in MEASURES if measure in unfairness]
    models = levels[["run", *MODEL, "seed", "level", "sparsity", "accuracy"]].merge(
        unfairness[["run", "level", *measures]], on=["run", "level"], how="left"
    )
    point = models.groupby([*MODEL, "level"], observed=True, dropna=False).ngroup()
    models.insert(0, "point", point)
    return models.sort_values(["point", "seed"], ignore_index=True)


def operating_points(levels: pd.DataFrame, unfairness: pd.DataFrame) -> pd.DataFrame:
    """One row per model and level: point, identity, level, dense, n_seeds, and mean, `_sd` and `_n` over its seeds.

    The means are those of sparsity, accuracy and each measure that `unfairness` has; `_n` counts the seeds that have
    the number. `dense` is the point of the same model at level 0, -1 if there is none. Nothing here depends on
    threshold or weight, so that a page computes it once.
    """
    seeds = seed_points(levels, unfairness)
    measures = [measure for measure in MEASURES if measure in seeds]
    means = over_seeds(seeds, ["point"], ["sparsity", "accuracy", *measures])
    first = seeds.drop_duplicates("point")[["point", *MODEL, "level"]]
    model = first.groupby(list(MODEL), observed=True, dropna=False).ngroup()
    is_dense = first["level"] == 0
    dense = model.map(pd.Series(first["point"][is_dense].to_numpy(), index=model[is_dense]))
    return first.assign(dense=dense.fillna(-1).astype(int)).merge(means, on="point")


def usual_dense(points: pd.DataFrame) -> "pd.Series[bool]":
    """True at the unpruned networks that were trained as usual; at all unpruned ones where none was."""
    dense = points["level"] == 0
    usual = dense & points["mitigation"].isin(UNMITIGATED)
    return usual if usual.any() else dense
