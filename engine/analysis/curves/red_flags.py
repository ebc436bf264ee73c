"""Where does pruning hurt although the total hides it: red flags at the sparsest level that keeps the accuracy."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.curves.class_curves import total_curves, with_accuracy
from engine.analysis.curves.controls import Controls, against_controls, control_counts, control_runs
from engine.analysis.intervals import t_interval
from engine.analysis.seeds import over_seeds

NO_DENSE = "the dense level is missing"
NONE_WITHIN = "no pruned level keeps the accuracy"
NO_FLAG = "no class or group loses accuracy at a level that keeps the total"

KEPT = ("level", "sparsity", "accuracy", "dense_accuracy", "n_seeds", "controlled")
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
    levels: pd.DataFrame,
    classes: pd.DataFrame,
    groups: pd.DataFrame | None = None,
    within: float = 0.01,
    controls: Controls | None = None,
    kept: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One row per model at its sparsest pruned level whose mean accuracy is within `within` of dense: identity, level,
    sparsity, accuracy, dense_accuracy, n_seeds, controlled; class, class_n, class_change, class_low, class_high,
    class_gap_dense, class_gap, class_gap_times; grouping, group and the same with `group_`; reason.

    `class` and `group` are those that lose most (mean over seeds of each run's change since dense, 95 % t-interval, n
    test examples). The gap is max - min over classes, or over the groups of that grouping, as mean over seeds;
    `gap_times` is NaN where the dense gap is 0. `groups` has one row per run, level, grouping and group: n, correct.
    A model without such a level has NaN and a reason.

    Where every seed of a finetuned model has a control, "dense" is the control at the same level, which trained as long
    (`controlled`). All tables are of one experiment then. `kept` is `kept_levels` of the same, where that is known.
    """
    flags = kept_levels(levels, within, controls) if kept is None else kept
    runs = kept_runs(levels, flags, controls)
    by_class = _largest_loss(_by_class(classes), runs, controls and _by_class(controls.classes)).drop(
        columns="grouping"
    )
    flags = flags.join(by_class.rename(columns={"group": "class", **{name: f"class_{name}" for name in LOSS}}))
    if groups is not None and len(groups):
        losses = _largest_loss(groups, runs, controls and controls.groups)
        flags = flags.join(losses.rename(columns={name: f"group_{name}" for name in LOSS}))
    columns = ["class", *(f"class_{name}" for name in LOSS), "grouping", "group", *(f"group_{name}" for name in LOSS)]
    counts = ("level", "n_seeds", "class", "class_n", "group_n")
    return flags.reindex(columns=[*MODEL, *KEPT, *columns, "reason"]).astype(dict.fromkeys(counts, "Int64"))


def kept_levels(levels: pd.DataFrame, within: float = 0.01, controls: Controls | None = None) -> pd.DataFrame:
    """The first columns of `red_flags`, and the reason: the level of each model that it looks at."""
    totals = total_curves(levels).assign(controlled=False)
    if controls is not None:
        totals = against_controls(totals, levels, controls)
    kept = totals[(totals["level"] > 0) & (totals["accuracy"] >= totals["dense_accuracy"] - within - ROUNDING)]
    sparsest = kept.sort_values("sparsity", kind="stable").drop_duplicates(list(MODEL), keep="last")
    models = totals.groupby(list(MODEL), observed=True, dropna=False)["dense_accuracy"].first().reset_index()
    flags = models.rename(columns={"dense_accuracy": "known"}).merge(
        sparsest[[*MODEL, *KEPT]], on=list(MODEL), how="left"
    )
    flags["controlled"] = flags["controlled"].eq(True)
    known = flags.pop("known").notna()
    return flags.assign(reason=np.where(flags["level"].notna(), "", np.where(known, NONE_WITHIN, NO_DENSE)))


def kept_runs(levels: pd.DataFrame, flags: pd.DataFrame, controls: Controls | None = None) -> pd.DataFrame:
    """The runs of the models that keep their accuracy (index): the model's row in `flags` as `index`, its level, and
    the run of its control, NaN where it is compared with its own dense level."""
    kept = flags[[*MODEL, "level", "controlled"]].reset_index().dropna(subset="level")
    runs = levels.drop_duplicates("run")[["run", *MODEL]].merge(kept, on=list(MODEL)).set_index("run")
    found = control_runs(levels, controls) if controls is not None else pd.Series(dtype=object)
    control = found.reindex(runs.index).where(runs["controlled"])
    return runs[["index", "level"]].assign(control=control)


def headline(flags: pd.DataFrame) -> Headline:
    """The class or group of `red_flags` that loses most of all; of those whose interval is below 0, if any is."""
    changes = ["class_change", "group_change"]
    losses = flags[changes].where(flags[changes] < 0)
    n_flagged = int(losses.notna().any(axis=1).sum())
    if not n_flagged:
        return Headline(len(flags), 0, reason=NO_FLAG)
    shown = losses.where(flags[["class_high", "group_high"]].to_numpy() < 0)
    losses = shown if shown.notna().any(axis=None) else losses
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


def _by_class(classes: pd.DataFrame) -> pd.DataFrame:
    return classes.assign(grouping="class", group=classes["class"])


def _largest_loss(counts: pd.DataFrame, runs: pd.DataFrame, controls: pd.DataFrame | None) -> pd.DataFrame:
    """Per model (index): grouping, group, n, change, low, high, gap_dense, gap, gap_times of the group that loses most.

    `runs` gives each run's model, its level to look at, and its control, whose counts `controls` has.
    """
    number, names = pd.factorize(counts["run"])
    known = runs.reindex(names)
    level, model = known["level"].to_numpy()[number], known["index"].to_numpy()[number]
    keys = ["run", "grouping", "group"]
    rows = counts[[*keys, "n", "correct"]].assign(model=model)
    pruned = with_accuracy(rows[counts["level"] == level])
    alone = known["control"].isna().to_numpy()[number]
    dense = with_accuracy(rows[(counts["level"] == 0) & ~np.isnan(level) & alone])[[*keys, "accuracy"]]
    if controls is not None:
        dense = pd.concat([dense, control_counts(controls, runs)[[*keys, "accuracy"]]], ignore_index=True)
    table = pruned.merge(dense, on=keys, suffixes=("", "_dense"))
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
