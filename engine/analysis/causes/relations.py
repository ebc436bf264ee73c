"""What goes with a group's loss: its gradient norm, Hessian eigenvalue and margin, over sparsity and between groups.

Takes the tables that `diagnostics` left of many runs, with identity, seed, level and sparsity of each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.intervals import t_interval
from engine.analysis.seeds import over_seeds

VALUES = ("accuracy", "gradient_norm", "eigenvalue", "margin", "closeness", "loss", "excessive_loss", "bound", "n")
FEW_GROUPS = "fewer than four groups: a rank correlation of them says nothing"
NO_SPREAD = "the groups are equal in one of the two"
SMALL_SPREAD = 1.2
"""Largest over smallest group below which sizes hardly differ."""


@dataclass(frozen=True)
class Relation:
    """Two quantities of a group that Tran 2022 relates: the figure, the sign that it found, and in words."""

    x: str
    y: str
    sign: int
    figure: str
    claim: str


RELATIONS = (
    Relation("n", "gradient_norm", -1, "Fig. 2", "larger groups have smaller gradients"),
    Relation("accuracy", "gradient_norm", -1, "Fig. 3", "better served groups have smaller gradients"),
    Relation("margin", "eigenvalue", -1, "Fig. 5", "groups far from the boundary have less curvature"),
    Relation("gradient_norm", "eigenvalue", 1, "Fig. 6", "groups with large gradients also have sharp curvature"),
)


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation between groups: mean over seeds, 95 % t-interval; NaN with a reason."""

    relation: Relation
    value: float
    low: float
    high: float
    n_groups: int
    n_seeds: int
    reason: str = ""


@dataclass(frozen=True)
class BoundFacts:
    """How Theorem 1's bound, without its third-order rest, stands to the true excessive loss of pruned groups."""

    n: int
    holds: float
    """Share of groups whose excessive loss is at most the bound; NaN without any."""
    times: float
    """Median of bound / excessive loss where that is above 0; NaN without any."""


def with_accuracy(groups: pd.DataFrame) -> pd.DataFrame:
    """The table with `accuracy` of the test side, NaN where it has no member."""
    return groups.assign(accuracy=groups["test_correct"] / groups["test_n"].where(groups["test_n"] > 0))


def cause_curves(groups: pd.DataFrame) -> pd.DataFrame:
    """One row per model, level, grouping and group: n_seeds, sparsity, mean of each of VALUES with `_low`, `_high`."""
    keys = [*MODEL, "level", "grouping", "group"]
    curves = over_seeds(with_accuracy(groups), keys, ["sparsity", *VALUES])
    for value in VALUES:
        low, high = t_interval(curves[value], curves[f"{value}_sd"], curves[f"{value}_n"])
        curves = curves.assign(**{f"{value}_low": low, f"{value}_high": high})
    ends = [f"{value}{end}" for value in VALUES for end in ("", "_low", "_high")]
    return curves[[*keys, "n_seeds", "sparsity", *ends]]


def correlation(groups: pd.DataFrame, relation: Relation) -> Correlation:
    """The rank correlation between the groups of each run, over the runs; the rows are of one model and level."""
    found, most = [], 0
    for _, rows in with_accuracy(groups).groupby("run", observed=True):
        known = rows[[relation.x, relation.y]].dropna()
        most = max(most, len(known))
        if len(known) >= 4 and (known.nunique() > 1).all():
            found.append(known.rank().corr().iloc[0, 1])
    if not found:
        reason = NO_SPREAD if most >= 4 else FEW_GROUPS
        nan = float("nan")
        return Correlation(relation, nan, nan, nan, most, 0, reason)
    mean, sd = float(np.mean(found)), float(np.std(found, ddof=1)) if len(found) > 1 else float("nan")
    low, high = (float(np.clip(end, -1, 1)) for end in t_interval(mean, sd, len(found)))
    return Correlation(relation, mean, low, high, most, len(found))


def bound_facts(groups: pd.DataFrame) -> BoundFacts:
    """How the bound stands to the truth over all pruned rows."""
    rows = groups[groups["level"] > 0].dropna(subset=["bound", "excessive_loss"])
    if rows.empty:
        return BoundFacts(0, float("nan"), float("nan"))
    lost = rows[rows["excessive_loss"] > 0]
    times = float((lost["bound"] / lost["excessive_loss"]).median()) if len(lost) else float("nan")
    return BoundFacts(len(rows), float((rows["excessive_loss"] <= rows["bound"]).mean()), times)


def right_after_cut(groups: pd.DataFrame) -> pd.DataFrame:
    """The pruned rows with excessive loss, bound and weight change as they were right after the cut, before any
    training; empty where no run recorded them."""
    names = ("excessive_loss", "bound", "weight_change")
    if not {f"cut_{name}" for name in names} <= set(groups):
        return groups.iloc[:0]
    return groups.assign(**{name: groups[f"cut_{name}"] for name in names}).dropna(subset=["excessive_loss"])


def skipped_groups(groups: pd.DataFrame) -> pd.DataFrame:
    """Groups that were not measured: grouping, group, n (most of any run), reason."""
    rows = groups[groups["reason"] != ""]
    return rows.groupby(["grouping", "group", "reason"], observed=True)["n"].max().reset_index()


def sizes_hardly_differ(sizes: Sequence[float]) -> bool:
    """Whether groups are so equal in size that their order by size is chance."""
    known = [size for size in sizes if size > 0]
    return len(known) < 2 or max(known) / min(known) < SMALL_SPREAD
