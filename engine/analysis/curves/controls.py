"""What does pruning change against the same training without it: pairs of equal seed and level."""

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd

from engine.analysis.columns import MODEL, VARIANT, is_mitigated
from engine.analysis.curves.class_curves import with_accuracy
from engine.analysis.intervals import t_interval


@dataclass(frozen=True, eq=False)
class Controls:
    """Networks that trained on without being pruned: the tables of `red_flags` for them.

    `untrained` names the techniques after which nothing is trained, so that they need no control.
    """

    levels: pd.DataFrame
    classes: pd.DataFrame
    groups: pd.DataFrame | None = None
    untrained: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Against:
    """A number of one model beside its control's: means over the seeds that both have, and the change between them
    with its interval, NaN with one seed."""

    model: float
    control: float
    change: float
    low: float
    high: float
    n_seeds: int


def trains_longer(variant: tuple[str, str, str], untrained: Collection[str]) -> bool:
    """Whether a pruned model (technique, treatment, mitigation) has trained longer than its dense network, so that it
    needs a control; the control is not mitigated. After the techniques in `untrained` nothing is trained."""
    technique, treatment, mitigation = variant
    return treatment == "finetune" and not is_mitigated(mitigation) and technique not in untrained


def against_control(
    models: pd.DataFrame, controls: pd.DataFrame, column: str, confidence: float = 0.95
) -> Against | None:
    """The column of one model at one level against the control's; None where no seed has both.

    Both tables have a row per seed and level; NaN counts as missing.
    """
    keys = ["seed", "level"]
    pairs = models[[*keys, column]].merge(controls[[*keys, column]], on=keys, suffixes=("", "_control")).dropna()
    if pairs.empty:
        return None
    change = pairs[column] - pairs[f"{column}_control"]
    low, high = t_interval(change.mean(), change.std(), len(change), confidence)
    mean, control = pairs[[column, f"{column}_control"]].mean()
    return Against(float(mean), float(control), float(change.mean()), float(low), float(high), len(pairs))


def control_runs(levels: pd.DataFrame, controls: Controls) -> pd.Series:
    """The control of each run (index) that trains longer than its dense network and has one of the same seed."""
    runs = levels.drop_duplicates("run").set_index("run")
    variants = zip(*(runs[name].astype(str) for name in VARIANT), strict=True)
    runs = runs[[trains_longer(variant, controls.untrained) for variant in variants]]
    return runs["seed"].map(controls.levels.drop_duplicates("seed").set_index("seed")["run"].astype(str)).dropna()


def against_controls(totals: pd.DataFrame, levels: pd.DataFrame, controls: Controls) -> pd.DataFrame:
    """The curves with the control's mean accuracy at the same level for that of dense, where all seeds have one."""
    there = levels.assign(control=levels["run"].astype(str).map(control_runs(levels, controls)).astype(object))
    known = controls.levels[["run", "level", "accuracy"]].astype({"run": str})
    there = there.drop(columns="accuracy").merge(
        known.rename(columns={"run": "control"}), on=["control", "level"], how="left"
    )
    there = there[there["level"] > 0].groupby([*MODEL, "level"], observed=True, dropna=False)["accuracy"]
    means = there.mean().where(there.count() == there.size()).rename("trained_as_long").reset_index()
    totals = totals.merge(means, on=[*MODEL, "level"], how="left")
    controlled = totals.pop("trained_as_long")
    return totals.assign(
        controlled=controlled.notna(), dense_accuracy=controlled.where(controlled.notna(), totals["dense_accuracy"])
    )


def control_counts(controls: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The controls' counts at the level of each run that has one, under that run's name."""
    pairs = runs.dropna(subset="control").rename_axis("run").reset_index()[["run", "level", "control"]]
    names = ["run", "level", "grouping", "group", *(["member"] if "member" in controls else []), "n", "correct"]
    counts = controls[names].rename(columns={"run": "control"})
    return with_accuracy(pairs.astype({"control": str}).merge(counts.astype({"control": str}), on=["control", "level"]))
