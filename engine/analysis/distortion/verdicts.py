"""Does pruning widen the gaps for sure: alpha over seeds at each pruning ratio, and how far pruning helps on the whole.

Takes the table of `distortion.alphas` with a column `series`: the name of what is compared, such as a technique.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.intervals import t_interval
from engine.analysis.seeds import over_seeds

CONFIDENCE = 0.99
"""The paper's: with its five ratios, all five intervals hold at once with 95 %."""

SAME_RATIO = 0.1
"""Ratios up to this share apart are one: techniques that cut channels cannot meet a ratio exactly."""

ROUNDING = 1e-9
"""How far a mean may be off by rounding alone."""

MARKS = {"intensifies": ">", "evens out": "<", "undecided": "?"}
"""The verdicts, with the marks of the paper's figures."""

FEW_SEEDS = "fewer than two seeds have alpha"


@dataclass(frozen=True)
class Cell:
    """A series at one ratio: means over seeds with their intervals; `change` is accuracy since dense, seed by seed."""

    ratio: float
    sparsity: float
    alpha: float
    low: float
    high: float
    verdict: str
    spread: float
    accuracy: float
    dense_accuracy: float
    change: float
    change_low: float
    change_high: float
    n_seeds: int

    @property
    def keeps_accuracy(self) -> bool:
        """Whether the mean accuracy is that of dense or better."""
        return self.change >= -ROUNDING

    @property
    def keeps_balance(self) -> bool:
        """Whether the mean alpha is 1 or less."""
        return self.alpha <= 1 + ROUNDING

    @property
    def helps(self) -> bool:
        """Whether both hold."""
        return self.keeps_accuracy and self.keeps_balance

    @property
    def surely_helps(self) -> bool:
        """Whether both whole intervals lie on the good side."""
        return self.change_low >= -ROUNDING and self.high <= 1 + ROUNDING


@dataclass(frozen=True)
class HelpfulRange:
    """The ratios at which pruning keeps the accuracy and widens no gap, by means over seeds.

    The longest stretch of neighbouring ratios, the sparser one at a tie; empty where no ratio helps.
    """

    series: str
    cells: tuple[Cell, ...]
    beyond: Cell | None
    """The next ratio, where it ends; the first ratio of all where none helps; None where the series ends."""

    @property
    def last(self) -> Cell | None:
        """Where it ends."""
        return self.cells[-1] if self.cells else None

    @property
    def n_sure(self) -> int:
        """At how many of its ratios both intervals lie on the good side."""
        return sum(cell.surely_helps for cell in self.cells)


def verdict(low: ArrayLike, high: ArrayLike) -> NDArray[np.str_]:
    """What an interval of alpha says: "intensifies" above 1, "evens out" below, "undecided" if it has 1 or is NaN."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    return np.where(low > 1, "intensifies", np.where(high < 1, "evens out", "undecided"))


def at_ratios(alphas: pd.DataFrame) -> pd.DataFrame:
    """The pruned models, one per series, seed and `ratio` (weights before / after; equal where nearly so).

    If a series has a ratio twice, its first level counts. A model without weights or of unknown sparsity is left out.
    `n_started` is the number of seeds that the series has at any level, dense too.
    """
    pruned = alphas[(alphas["level"] > 0) & (alphas["sparsity"] < 1)]
    levels = pruned.groupby(["series", "level"], observed=True)["sparsity"].mean().reset_index()
    levels["own"] = 1 / (1 - levels["sparsity"])
    levels = levels.drop_duplicates(["series", "own"]).sort_values("own", kind="stable")
    levels["cluster"] = _clusters(levels["own"].to_numpy(), levels["series"].tolist())
    levels["ratio"] = levels.groupby("cluster")["own"].transform("median")
    models = pruned.merge(levels[["series", "level", "ratio"]], on=["series", "level"])
    models["n_started"] = models["series"].map(alphas.groupby("series", observed=True)["seed"].nunique()).astype(int)
    return models.drop_duplicates(["series", "seed", "ratio"], ignore_index=True)


def cells(models: pd.DataFrame, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """One row per series and ratio of `at_ratios`: the columns of Cell, with sd, n_models, n_started, n_collapsed,
    mark, reason.

    `n_seeds` counts the seeds that have alpha; `reason` says why alpha or its interval is NaN.
    """
    keys = ["series", "ratio"]
    models = models.assign(change=models["accuracy"] - models["dense_accuracy"])
    table = over_seeds(models, keys, ["sparsity", "alpha", "spread", "accuracy", "dense_accuracy", "change"])
    low, high = t_interval(table["alpha"], table["alpha_sd"], table["alpha_n"], confidence)
    change_low, change_high = t_interval(table["change"], table["change_sd"], table["change_n"], confidence)
    said = verdict(low, high)
    groups = models.groupby(keys, observed=True)
    few = np.where(table["alpha_n"] < 2, FEW_SEEDS, "")
    table = table.assign(
        low=low,
        high=high,
        verdict=said,
        mark=[MARKS[word] for word in said],
        change_low=change_low,
        change_high=change_high,
        n_started=groups["n_started"].first().to_numpy(int),
        n_collapsed=groups["collapsed"].sum().to_numpy(int),
        reason=np.where(table["alpha_n"] < 1, groups["reason"].first().to_numpy(), few),
    ).rename(columns={"n_seeds": "n_models", "alpha_n": "n_seeds", "alpha_sd": "sd"})
    names = [*Cell.__dataclass_fields__, "sd", "n_models", "n_started", "n_collapsed", "mark", "reason"]
    return table[["series", *names]]


def helpful_ranges(table: pd.DataFrame) -> list[HelpfulRange]:
    """The range of each series of `cells`, the one that ends sparsest first; at a tie, the one with least alpha."""
    found: dict[str, list[Cell]] = {str(series): [] for series in table["series"]}
    rows = table.sort_values("ratio")
    columns = (rows[name].tolist() for name in Cell.__dataclass_fields__)
    for series, *values in zip(rows["series"], *columns, strict=True):
        found[str(series)].append(Cell(*values))
    ranges = [_range(series, facts) for series, facts in found.items()]
    return sorted(ranges, key=lambda r: (-r.last.ratio, r.last.alpha) if r.last else (0.0, 0.0))


def _range(series: str, found: Sequence[Cell]) -> HelpfulRange:
    stretches: list[list[int]] = [[]]
    for place, cell in enumerate(found):
        if cell.helps:
            stretches[-1].append(place)
        elif stretches[-1]:
            stretches.append([])
    best = max(reversed(stretches), key=len)
    after = best[-1] + 1 if best else 0
    return HelpfulRange(series, tuple(found[i] for i in best), found[after] if after < len(found) else None)


def _clusters(ascending: NDArray[np.float64], series: Sequence[object]) -> NDArray[np.intp]:
    """Number of the cluster of each ratio: it spans at most SAME_RATIO from its first, and no series is in it twice."""
    numbers, first, number = np.empty(len(ascending), np.intp), -np.inf, -1
    there: set[object] = set()
    for place, (ratio, owner) in enumerate(zip(ascending, series, strict=True)):
        if ratio > first * (1 + SAME_RATIO) or place == 0 or owner in there:
            first, number, there = ratio, number + 1, set()
        there.add(owner)
        numbers[place] = number
    return numbers
