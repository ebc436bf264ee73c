"""Which classes lie above or below the accuracy before and after pruning: the points behind alpha, and their line."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from engine.analysis.class_matrices import as_matrices
from engine.analysis.columns import MODEL
from engine.analysis.distortion.alpha import EVEN, class_ratio, model_accuracy, model_balances


def balances(classes: pd.DataFrame, measure: str = "recall") -> pd.DataFrame:
    """One row per run, pruned level and class: run, identity, seed, level, sparsity, class, n, accuracy, before, after,
    class_ratio (the paper's I).

    `before` and `after` are normalised balances.
    """
    models = as_matrices(classes)
    accuracy, before, after = (np.full(len(classes), np.nan) for _ in range(3))
    for block in models.blocks():
        share, matrix = model_balances(block, measure)
        accuracy[block.rows] = share[block.cells // block.width]
        before[block.rows] = block.at_dense(matrix).ravel()[block.cells]
        after[block.rows] = matrix.ravel()[block.cells]
    table = classes[["run", *MODEL, "seed", "level", "sparsity", "class", "n"]].assign(
        accuracy=accuracy, before=before, after=after, class_ratio=class_ratio(before, after)
    )
    return table[table["level"] > 0].reset_index(drop=True)


def pooled_slopes(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """One row per distinct `keys` of a table of balances: alpha and r2 of all its models together, their mean accuracy,
    n_models, n_points.

    r2 = 1 - sum (after - alpha before)^2 / sum after^2, as is usual without an intercept.
    """
    pairs = table.dropna(subset=["before", "after"])
    sums = pairs.assign(xx=pairs["before"] ** 2, xy=pairs["before"] * pairs["after"], yy=pairs["after"] ** 2)
    groups = sums.groupby(list(keys), observed=True)
    totals = groups[["xx", "xy", "yy"]].sum().assign(n_points=groups.size())
    by_model = table.drop_duplicates([*keys, "run", "level"]).groupby(list(keys), observed=True)
    facts = totals.join(by_model.agg(accuracy=("accuracy", "mean"), n_models=("run", "size")), how="right")
    square = facts["xx"].where(facts["xx"] > facts["n_points"] * EVEN**2)
    alpha, explained = facts["xy"] / square, facts["xy"] ** 2 / (square * facts["yy"].where(facts["yy"] > 0))
    facts = facts.assign(alpha=alpha, r2=explained, n_points=facts["n_points"].fillna(0).astype(int))
    return facts[["alpha", "r2", "accuracy", "n_models", "n_points"]].reset_index()


def gap_chance(classes: pd.DataFrame) -> pd.DataFrame:
    """One row per run with a dense level: run, identity, seed, chance: how likely dense recalls differ so much if all
    classes were equal.

    The chi-square test of equal shares. Where it is not small, there was hardly a gap to widen, and alpha is noise.
    """
    models = as_matrices(classes[classes["level"] == 0])
    chance = np.full(len(models.first), np.nan)
    for block in models.blocks():
        n = block.sizes()
        correct = np.where(np.isnan(n), np.nan, block.matrix("correct"))
        share = model_accuracy(correct, n)[:, None]
        spread = np.where((share > 0) & (share < 1), n * share * (1 - share), np.nan)
        excess = np.nansum((correct - n * share) ** 2 / spread, axis=1)
        chance[block.models] = chdtrc((~np.isnan(n)).sum(axis=1) - 1, excess)
    table = classes[classes["level"] == 0].iloc[models.first][["run", *MODEL, "seed"]]
    return table.reset_index(drop=True).assign(chance=chance)
