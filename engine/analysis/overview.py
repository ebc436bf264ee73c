"""Where does pruning hurt although the total hides it: red flags at the sparsest level that keeps the accuracy."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.curves import total_curves, with_accuracy
from engine.analysis.identity import MODEL
from engine.analysis.intervals import t_interval
from engine.analysis.seeds import over_seeds

NO_DENSE = "the dense level is missing"
NONE_WITHIN = "no pruned level keeps the accuracy"
NO_FLAG = "no class or group loses accuracy at a level that keeps the total"

KEPT = ("level", "sparsity", "accuracy", "dense_accuracy", "n_seeds")
LOSS = ("n", "change", "low", "high", "gap_dense", "gap", "gap_times")

ROUNDING = 1e-9
"""How far a mean may fall short by rounding alone."""


@dataclass(frozen=True)
class Headline:
    """The largest loss behind a kept accuracy; if there is none, all but the counts and the reason are None."""

    n_models: int
    n_flagged: int
    """Models with a pruned level that keeps the accuracy and a class or group that loses there."""
    model: tuple[str, ...] | None = None
    """Identity in the order of MODEL."""
    level: int | None = None
    sparsity: float | None = None
    accuracy: float | None = None
    dense_accuracy: float | None = None
    n_seeds: int | None = None
    grouping: str | None = None
    """"class", or the grouping that the group belongs to."""
    group: str | None = None
    n: int | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    gap_times: float | None = None
    reason: str = ""


def red_flags(
    levels: pd.DataFrame, classes: pd.DataFrame, groups: pd.DataFrame | None = None, within: float = 0.01
) -> pd.DataFrame:
    """One row per model at its sparsest pruned level whose mean accuracy is within `within` of dense: identity, level,
    sparsity, accuracy, dense_accuracy, n_seeds; class, class_n, class_change, class_low, class_high, class_gap_dense,
    class_gap, class_gap_times; grouping, group and the same with `group_`; reason.

    `class` and `group` are those that lose most (mean over seeds of each run's change since dense, 95 % t-interval, n
    test examples). The gap is max - min over classes, or over the groups of that grouping, as mean over seeds;
    `gap_times` is NaN where the dense gap is 0. `groups` has one row per run, level, grouping and group: n, correct.
    A model without such a level has NaN and a reason.
    """
    flags = kept_levels(levels, within)
    runs = levels.drop_duplicates("run")[["run", *MODEL]].merge(flags[[*MODEL, "level"]].reset_index(), on=list(MODEL))
    runs = runs.set_index("run")[["index", "level"]].dropna()
    named = classes.assign(grouping="class", group=classes["class"])
    by_class = _largest_loss(named, runs).drop(columns="grouping")
    flags = flags.join(by_class.rename(columns={"group": "class", **{name: f"class_{name}" for name in LOSS}}))
    if groups is not None and len(groups):
        flags = flags.join(_largest_loss(groups, runs).rename(columns={name: f"group_{name}" for name in LOSS}))
    columns = ["class", *(f"class_{name}" for name in LOSS), "grouping", "group", *(f"group_{name}" for name in LOSS)]
    counts = ("level", "n_seeds", "class", "class_n", "group_n")
    return flags.reindex(columns=[*MODEL, *KEPT, *columns, "reason"]).astype(dict.fromkeys(counts, "Int64"))


def kept_levels(levels: pd.DataFrame, within: float = 0.01) -> pd.DataFrame:
    """The first columns of `red_flags`, and the reason: the level of each model that it looks at."""
    totals = total_curves(levels)
    kept = totals[(totals["level"] > 0) & (totals["accuracy"] >= totals["dense_accuracy"] - within - ROUNDING)]
    sparsest = kept.sort_values("sparsity", kind="stable").drop_duplicates(list(MODEL), keep="last")
    models = totals.groupby(list(MODEL), observed=True, dropna=False)["dense_accuracy"].first().reset_index()
    flags = models.rename(columns={"dense_accuracy": "known"}).merge(
        sparsest[[*MODEL, *KEPT]], on=list(MODEL), how="left"
    )
    known = flags.pop("known").notna()
    return flags.assign(reason=np.where(flags["level"].notna(), "", np.where(known, NONE_WITHIN, NO_DENSE)))


def headline(flags: pd.DataFrame) -> Headline:
    """The class or group of `red_flags` that loses most of all."""
    changes = ["class_change", "group_change"]
    losses = flags[changes].where(flags[changes] < 0)
    n_flagged = int(losses.notna().any(axis=1).sum())
    if not n_flagged:
        return Headline(len(flags), 0, reason=NO_FLAG)
    worst = losses.min(axis=1).idxmin()
    kind = losses.loc[worst].idxmin().removesuffix("_change")
    row = flags.loc[worst]
    return Headline(
        n_models=len(flags),
        n_flagged=n_flagged,
        model=tuple(str(row[column]) for column in MODEL),
        level=int(row["level"]),
        sparsity=float(row["sparsity"]),
        accuracy=float(row["accuracy"]),
        dense_accuracy=float(row["dense_accuracy"]),
        n_seeds=int(row["n_seeds"]),
        grouping="class" if kind == "class" else str(row["grouping"]),
        group=str(row[kind]),
        n=int(row[f"{kind}_n"]),
        change=float(row[f"{kind}_change"]),
        low=float(row[f"{kind}_low"]),
        high=float(row[f"{kind}_high"]),
        gap_times=float(row[f"{kind}_gap_times"]),
    )


def _largest_loss(counts: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Per model (index): grouping, group, n, change, low, high, gap_dense, gap, gap_times of the group that loses most.

    `runs` gives each run's model and its level to look at.
    """
    number, names = pd.factorize(counts["run"])
    known = runs.reindex(names)
    level, model = known["level"].to_numpy()[number], known["index"].to_numpy()[number]
    keys = ["run", "grouping", "group"]
    rows = counts[[*keys, "n", "correct"]].assign(model=model)
    pruned = with_accuracy(rows[counts["level"] == level])
    dense = with_accuracy(rows[(counts["level"] == 0) & ~np.isnan(level)])
    table = pruned.merge(dense[[*keys, "accuracy"]], on=keys, suffixes=("", "_dense"))
    table["change"] = table["accuracy"] - table["accuracy_dense"]
    change = over_seeds(table, ["model", "grouping", "group"], ["change", "n"])
    change = change.sort_values("change", kind="stable").dropna(subset="change").drop_duplicates("model")
    low, high = t_interval(change["change"], change["change_sd"], change["change_n"])
    change = change.assign(low=low, high=high)[["model", "grouping", "group", "n", "change", "low", "high"]]
    return change.merge(_gaps(table), on=["model", "grouping"], how="left").set_index("model")


def _gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds of max - min accuracy within each grouping, dense and pruned, and their ratio."""
    by_run = table.groupby(["model", "grouping", "run"], observed=True)[["accuracy_dense", "accuracy"]]
    gaps = (by_run.max() - by_run.min()).groupby(["model", "grouping"], observed=True).mean()
    gaps = gaps.rename(columns={"accuracy_dense": "gap_dense", "accuracy": "gap"}).reset_index()
    return gaps.assign(gap_times=gaps["gap"] / gaps["gap_dense"].where(gaps["gap_dense"] > 0))
