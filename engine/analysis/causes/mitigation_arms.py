"""What does mitigation change: violation and accuracy of each arm over sparsity, and against no mitigation by seed."""

import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.intervals import t_interval
from engine.analysis.seeds import over_seeds

MEASURES = ("accuracy", "gap", "violation")
"""Accuracy; max - min of the groups' accuracies; max - min of the groups' excessive losses (Tran 2022)."""

NONE = "none"
_KEYS = ("run", *MODEL, "seed", "level", "sparsity", "grouping")


def groups_of_classes(classes: pd.DataFrame) -> pd.DataFrame:
    """The classes as groups: what every run knows without diagnostics."""
    names = {"n": "test_n", "correct": "test_correct", "loss": "test_loss", "class": "group"}
    return classes.rename(columns=names).assign(grouping="class")


def arm_outcomes(groups: pd.DataFrame) -> pd.DataFrame:
    """One row per run, level and grouping: identity, seed, sparsity, each of MEASURES, n_groups.

    `groups` has test_n, test_correct, test_loss of each group. A gap of fewer than two groups is NaN, and so is the
    violation of a run without dense level.
    """
    rows = groups[groups["test_n"] > 0].assign(rate=groups["test_correct"] / groups["test_n"])
    dense = rows.loc[rows["level"] == 0, ["run", "grouping", "group", "test_loss"]]
    rows = rows.merge(dense.rename(columns={"test_loss": "dense"}), on=["run", "grouping", "group"], how="left")
    rows["rise"] = rows["test_loss"] - rows["dense"]
    found = rows.groupby(list(_KEYS), observed=True, dropna=False)
    table = found.agg(
        n=("test_n", "sum"), correct=("test_correct", "sum"), n_groups=("group", "size"), risen=("rise", "count")
    )
    spread = found[["rate", "rise"]].max() - found[["rate", "rise"]].min()
    table["accuracy"] = table["correct"] / table["n"]
    table["gap"] = spread["rate"].where(table["n_groups"] > 1)
    table["violation"] = spread["rise"].where(table["risen"] > 1)
    return table[[*MEASURES, "n_groups"]].reset_index()


def arm_curves(outcomes: pd.DataFrame) -> pd.DataFrame:
    """One row per model, level and grouping: n_seeds, sparsity, mean of each of MEASURES with `_low` and `_high`."""
    keys = [*MODEL, "level", "grouping"]
    curves = over_seeds(outcomes, keys, ["sparsity", *MEASURES])
    return _with_ends(curves, keys)


def against_none(outcomes: pd.DataFrame) -> pd.DataFrame:
    """The same for the change against no mitigation of the same seed; only seeds that have both count."""
    same = [*(name for name in MODEL if name != "mitigation"), "seed", "level", "grouping"]
    plain = outcomes.loc[outcomes["mitigation"] == NONE, [*same, *MEASURES]]
    pairs = outcomes[outcomes["mitigation"] != NONE].merge(plain, on=same, suffixes=("", "_none"))
    for measure in MEASURES:
        pairs[measure] = pairs[measure] - pairs.pop(f"{measure}_none")
    keys = [*MODEL, "level", "grouping"]
    return _with_ends(over_seeds(pairs, keys, ["sparsity", *MEASURES]), keys)


def price(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per model: n_seeds, mean seconds of a run with `_low` and `_high`, and how many times those of none."""
    keys = list(MODEL)
    table = over_seeds(runs, keys, ["seconds"])
    low, high = t_interval(table["seconds"], table["seconds_sd"], table["seconds_n"])
    same = [name for name in MODEL if name != "mitigation"]
    plain = table.loc[table["mitigation"] == NONE, [*same, "seconds"]].rename(columns={"seconds": "plain"})
    table = table.assign(seconds_low=low, seconds_high=high).merge(plain, on=same, how="left")
    table["times"] = table["seconds"] / table.pop("plain")
    return table[[*keys, "n_seeds", "seconds", "seconds_low", "seconds_high", "times"]]


def _with_ends(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    for measure in MEASURES:
        low, high = t_interval(table[measure], table[f"{measure}_sd"], table[f"{measure}_n"])
        table = table.assign(**{f"{measure}_low": low, f"{measure}_high": high})
    ends = [f"{measure}{end}" for measure in MEASURES for end in ("", "_low", "_high")]
    return table[[*keys, "n_seeds", "sparsity", *ends]]
