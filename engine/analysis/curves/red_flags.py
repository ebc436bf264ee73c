"""Where does pruning hurt although the total hides it: red flags at the sparsest level that keeps the accuracy."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from engine.analysis.columns import MODEL
from engine.analysis.curves.class_curves import total_curves, with_accuracy
from engine.analysis.curves.controls import Controls, against_controls, control_counts, control_runs
from engine.analysis.seeds import over_seeds
from engine.analysis.uncertainty.crossed import crossed_variance
from engine.analysis.uncertainty.simultaneous import confidence_of_each

NO_DENSE = "the dense level is missing"
NONE_WITHIN = "no pruned level keeps the accuracy"
NO_FLAG = "no class or group loses accuracy at a level that keeps the total"

KEPT = ("level", "sparsity", "accuracy", "dense_accuracy", "n_seeds", "controlled")
LOSS = ("n", "change", "low", "high", "gap_dense", "gap", "gap_times")

ROUNDING = 1e-9
"""How far a mean may fall short by rounding alone."""


@dataclass(frozen=True)
class Headline:
    """The surest loss behind a kept accuracy; if there is none, all but the counts and the reason are None."""

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

    `class` and `group` are those that lose most for sure, or most where none loses for sure: mean over seeds of each
    run's change since dense, n test examples. The 95 % interval holds for all classes, or all groups, of the model at
    once, so that they may be picked after looking; it is for new seeds, and where `groups` are parted by `member`
    (`member_counts`) also for new members. The gap is max - min over classes, or over the groups of that grouping, as
    mean over seeds; `gap_times` is NaN where the dense gap is 0. `groups` has one row per run, level, grouping and
    group (and member): n, correct. A model without such a level has NaN and a reason.

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


def surest_loss(flags: pd.DataFrame) -> tuple[Hashable, str] | None:
    """Row (its index) and kind, "class" or "group", of the loss that is at least largest: whose interval ends furthest
    below 0. Where no interval does, the largest loss; None where nobody loses."""
    changes = flags[["class_change", "group_change"]].set_axis(["class", "group"], axis=1)
    losses = changes.where(changes < 0)
    ends = flags[["class_high", "group_high"]].set_axis(["class", "group"], axis=1)
    ends = ends.where((ends < 0) & losses.notna())
    evidence = ends if ends.notna().any(axis=None) else losses
    if not evidence.notna().any(axis=None):
        return None
    row = evidence.min(axis=1).idxmin()
    return row, str(evidence.loc[row].idxmin())


def headline(flags: pd.DataFrame) -> Headline:
    """The class or group of `red_flags` that loses most for sure; that loses most, where none does."""
    n_flagged = int((flags[["class_change", "group_change"]] < 0).any(axis=1).sum())
    surest = surest_loss(flags)
    if surest is None:
        return Headline(len(flags), 0, reason=NO_FLAG)
    worst, kind = surest
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
    cells = _paired(counts, runs, controls)
    keys = ["model", "grouping", "group"]
    table = cells
    if "member" in cells:
        sums = ["n", "correct", "n_dense", "correct_dense"]
        table = cells.groupby([*keys, "run"], observed=True)[sums].sum().reset_index()
    table = with_accuracy(table)
    table["accuracy_dense"] = table["correct_dense"] / table["n_dense"].where(table["n_dense"] > 0)
    table["change"] = table["accuracy"] - table["accuracy_dense"]
    change = over_seeds(table, keys, ["change", "n"]).dropna(subset="change")
    half = _half_interval(change, cells)
    change = change.assign(low=change["change"] - half, high=change["change"] + half)
    # Who loses for sure comes first, by the loss that is at least there; all others by their loss.
    change = change.assign(sure=change["high"].where(change["high"] < 0, 0.0)).sort_values(["sure", "change"])
    change = change.drop_duplicates("model")[[*keys, "n", "change", "low", "high"]]
    return change.merge(_gaps(table), on=["model", "grouping"], how="left").set_index("model")


def _paired(counts: pd.DataFrame, runs: pd.DataFrame, controls: pd.DataFrame | None) -> pd.DataFrame:
    """The counts of each run at its level with those of its dense level or its control beside them."""
    number, names = pd.factorize(counts["run"])
    known = runs.reindex(names)
    level, model = known["level"].to_numpy()[number], known["index"].to_numpy()[number]
    keys = ["run", "grouping", "group", *(["member"] if "member" in counts else [])]
    rows = counts[[*keys, "n", "correct"]]
    alone = known["control"].isna().to_numpy()[number]
    dense = rows[(counts["level"] == 0) & ~np.isnan(level) & alone]
    if controls is not None:
        dense = pd.concat([dense, control_counts(controls, runs)[[*keys, "n", "correct"]]], ignore_index=True)
    at_level = counts["level"] == level
    return rows[at_level].assign(model=model[at_level]).merge(dense, on=keys, suffixes=("", "_dense"))


def _half_interval(change: pd.DataFrame, cells: pd.DataFrame) -> pd.Series:
    """Half of each group's 95 % interval, for all groups of a model at once; NaN with one seed, and where all seeds
    lose the same to the last example, which tells no spread."""
    n_seeds = change["change_n"].where(change["change_n"] > 1)
    of_seeds = change["change_sd"] ** 2 / n_seeds
    variance, freedom = of_seeds, n_seeds - 1
    if "member" in cells:
        of_members, of_each_seed, n_members = _member_variances(change, cells)
        of_both = (of_each_seed - of_members).clip(lower=0) / (n_seeds - 1)
        found, shared = crossed_variance(of_members, n_members - 1, of_seeds, of_both, n_seeds)
        variance = pd.Series(found, change.index)
        freedom = pd.Series(shared, change.index).where(variance > 0, freedom)
    each = confidence_of_each(change.groupby("model")["change"].transform("size"))
    half: pd.Series = stdtrit(freedom, 0.5 + each / 2) * np.sqrt(variance.where(variance > 0))
    return half


def _member_variances(change: pd.DataFrame, cells: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Variance of each group's change that its members give it (CR1): in the seeds' mean, and in a seed by itself, mean
    over seeds; and how many members there are, NaN for one. `clustered_rates` puts them together alike."""
    keys = ["model", "grouping", "group"]
    rows = change.rename_axis("row").reset_index()[[*keys, "row"]]
    gained = cells.assign(gained=cells["correct"] - cells["correct_dense"]).merge(rows, on=keys)
    members = gained.groupby(["row", "member"])[["gained", "n"]].mean().reset_index()
    n_members = members.groupby("row").size().reindex(change.index)
    n_members = n_members.where(n_members > 1)
    factor = n_members / (n_members - 1)
    of_mean = _squares(members, ["row"]).reindex(change.index)
    of_each = _squares(gained, ["row", "run"]).groupby("row").mean().reindex(change.index)
    return of_mean * factor, of_each * factor, n_members


def _squares(members: pd.DataFrame, by: list[str]) -> pd.Series:
    """Sum of squares of what members gain beyond the mean change, over the square of all their examples."""
    sums = members.groupby(by)[["gained", "n"]].transform("sum")
    squares = (members["gained"] - members["n"] * sums["gained"] / sums["n"]) ** 2 / sums["n"] ** 2
    total: pd.Series = squares.groupby([members[name] for name in by]).sum()
    return total


def _gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds of max - min accuracy within each grouping, dense and pruned, and their ratio."""
    by_run = table.groupby(["model", "grouping", "run"], observed=True)[["accuracy_dense", "accuracy"]]
    gaps = (by_run.max() - by_run.min()).groupby(["model", "grouping"], observed=True).mean()
    gaps = gaps.rename(columns={"accuracy_dense": "gap_dense", "accuracy": "gap"}).reset_index()
    return gaps.assign(gap_times=gaps["gap"] / gaps["gap_dense"].where(gaps["gap_dense"] > 0))
