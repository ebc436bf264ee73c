"""How do accuracy and unfairness move with sparsity: means over seeds with 95 % intervals, and who falls first."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.intervals import share_interval, t_interval
from engine.analysis.seeds import over_seeds

NO_DENSE = "no class has a dense level to compare with"
NO_FALL = "no class loses more than that"


@dataclass(frozen=True)
class FirstToFall:
    """The class that first loses more than `drop` since dense; all but `drop` and `reason` are None if none does."""

    drop: float
    model: tuple[str, ...] | None = None
    """Identity in the order of MODEL."""
    name: int | None = None
    """The class."""
    level: int | None = None
    sparsity: float | None = None
    accuracy: float | None = None
    dense_accuracy: float | None = None
    n: int | None = None
    n_seeds: int | None = None
    reason: str = ""


def class_curves(classes: pd.DataFrame) -> pd.DataFrame:
    """One row per model, level and class: identity, level, class, sparsity, accuracy, sd, low, high, n_seeds, n,
    dense_accuracy.

    `n` counts the class's test examples (the fewest of any seed); with none of them the accuracy is NaN.
    `dense_accuracy` is the mean over the seeds that have the level.
    """
    table = with_accuracy(classes)
    keys = [*MODEL, "level", "class"]
    fewest = table.groupby(keys, observed=True, dropna=False)["n"].min().to_numpy()
    curves = _curves(table, keys, "accuracy").assign(n=fewest)
    return _with_dense(curves, table, [*MODEL, "class"])


def total_curves(levels: pd.DataFrame) -> pd.DataFrame:
    """One row per model and level: identity, level, sparsity, accuracy, sd, low, high, n_seeds, dense_accuracy."""
    return _with_dense(_curves(levels, [*MODEL, "level"], "accuracy"), levels, MODEL)


def unfairness_curves(unfairness: pd.DataFrame, measure: str) -> pd.DataFrame:
    """One row per model and level: identity, level, sparsity, unfairness, sd, low, high, n_seeds.

    Takes `unfairness_table`; `n_seeds` counts the seeds that have the measure.
    """
    return _curves(unfairness, [*MODEL, "level"], measure).rename(columns={measure: "unfairness"})


def first_to_fall(curves: pd.DataFrame, drop: float = 0.05) -> FirstToFall:
    """The class of `class_curves` whose mean loses more than `drop` since dense at the lowest sparsity; at a tie, the
    one that loses most."""
    lost = curves["dense_accuracy"] - curves["accuracy"]
    fallen = curves.assign(lost=lost)[lost > drop].sort_values(["sparsity", "lost"], ascending=[True, False])
    if fallen.empty:
        return FirstToFall(drop, reason=NO_FALL if lost.notna().any() else NO_DENSE)
    row = fallen.iloc[0]
    return FirstToFall(
        drop,
        model=tuple(str(row[column]) for column in MODEL),
        name=int(row["class"]),
        level=int(row["level"]),
        sparsity=float(row["sparsity"]),
        accuracy=float(row["accuracy"]),
        dense_accuracy=float(row["dense_accuracy"]),
        n=int(row["n"]),
        n_seeds=int(row["n_seeds"]),
    )


def with_accuracy(counts: pd.DataFrame) -> pd.DataFrame:
    """The table with `accuracy` = correct / n, NaN where n is 0."""
    return counts.assign(accuracy=counts["correct"] / counts["n"].where(counts["n"] > 0))


def _curves(table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    curves = over_seeds(table, keys, ["sparsity", value])
    interval = share_interval if value == "accuracy" else t_interval
    low, high = interval(curves[value], curves[f"{value}_sd"], curves[f"{value}_n"])
    curves = curves.assign(low=low, high=high, n_seeds=curves[f"{value}_n"]).rename(columns={f"{value}_sd": "sd"})
    return curves[[*keys, "sparsity", value, "sd", "low", "high", "n_seeds"]]


def _with_dense(curves: pd.DataFrame, table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The curves with the mean accuracy at level 0 as `dense_accuracy`, NaN where there is none.

    `table` has the rows behind the curves, run by run.
    """
    dense = curves.loc[curves["level"] == 0, [*keys, "accuracy", "n_seeds"]]
    dense = dense.rename(columns={"accuracy": "dense_accuracy", "n_seeds": "n_dense"})
    curves = curves.merge(dense, on=list(keys), how="left")
    fewer = curves["n_seeds"] < curves.pop("n_dense")
    if not fewer.any():
        return curves
    # A seed that did not get this far must not count before either.
    starts = table.loc[table["level"] == 0, ["run", *keys, "accuracy"]].rename(columns={"accuracy": "paired"})
    reached = table[["run", "level", *keys]][table["accuracy"].notna()].merge(starts, on=["run", *keys])
    paired = reached.groupby([*keys, "level"], observed=True, dropna=False)["paired"].mean().reset_index()
    means = curves[[*keys, "level"]].merge(paired, on=[*keys, "level"], how="left")["paired"]
    return curves.assign(dense_accuracy=curves["dense_accuracy"].where(~fewer, means.to_numpy()))
