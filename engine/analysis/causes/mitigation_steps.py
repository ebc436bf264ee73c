"""Which step of a mitigation rule is taken, and the one comparison that judges it; both fixed before looking at tests.

**The step** is chosen on validation alone: for each rule, of the steps `ETAS`, the one with the smallest gap between
the groups' validation accuracies, pooled over seeds, among those whose validation accuracy is at most `MOST_COST` below
that of no mitigation of the same seeds. **The primary comparison**, named before any test result was looked at: at the
sparsity `PRIMARY_SPARSITY`, the arm `PRIMARY_ARM` with the chosen step against no mitigation, by the gap between the
groups' test accuracies, paired by seed. Every other comparison is secondary.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.intervals import t_interval

ETAS = (0.05, 0.1, 0.2, 0.4)
MOST_COST = 0.005
PRIMARY_SPARSITY, PRIMARY_ARM, PRIMARY_MEASURE = 0.98, "both", "gap"
NEAR = 0.005
"""How far a level's sparsity may lie from the primary one."""


@dataclass(frozen=True)
class StepChoice:
    """The step that was chosen for a rule, NaN with the reason where none was, and what each step came to."""

    rule: str
    eta: float
    reason: str
    steps: pd.DataFrame


@dataclass(frozen=True)
class PrimaryComparison:
    """The change of gap and accuracy on test against no mitigation, with 95 % intervals, and the gap without.

    `narrowing` is the share of the gap that is gone; ends of an interval are NaN with fewer than two seeds.
    """

    n_seeds: int
    gap_none: float
    gap: tuple[float, float, float]
    accuracy: tuple[float, float, float]
    narrowing: float


def primary_level(sparsities: pd.Series) -> int | None:
    """The level whose sparsity is the primary one, or None; the index of `sparsities` has levels."""
    away = (sparsities - PRIMARY_SPARSITY).abs()
    return int(away.idxmin()) if len(away) and away.min() <= NEAR else None


def group_counts(predictions: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> pd.DataFrame:
    """One row per group of a validation split: group, n, correct; examples without group are left out."""
    rows = pd.DataFrame({"group": groups, "right": predictions == labels}).dropna(subset="group")
    counts = rows.groupby("group", observed=True)["right"].agg(n="size", correct="sum")
    return counts.reset_index()


def chosen_step(rows: pd.DataFrame, none: pd.DataFrame, rule: str) -> StepChoice:
    """The step of a rule, by validation alone.

    `rows` has one row per eta, seed and group: n, correct; `none` the same without eta. Only seeds that every step and
    no mitigation have count; of equal gaps the smaller step is taken.
    """
    rows = rows[rows["eta"].isin(ETAS)]
    seeds = set(none["seed"])
    for _, step in rows.groupby("eta"):
        seeds &= set(step["seed"])
    empty = pd.DataFrame(columns=["eta", "n_seeds", "accuracy", "cost", "gap", "is_allowed"])
    if rows.empty or not seeds:
        return StepChoice(rule, float("nan"), "no seed has every step and no mitigation beside it", empty)
    plain = _pooled(none[none["seed"].isin(seeds)])
    found = []
    for eta, step in rows[rows["seed"].isin(seeds)].groupby("eta"):
        accuracy, gap = _pooled(step)
        cost = plain[0] - accuracy
        found.append((eta, len(seeds), accuracy, cost, gap, cost <= MOST_COST + 1e-12))
    steps = pd.DataFrame(found, columns=empty.columns)
    allowed = steps[steps["is_allowed"]].sort_values(["gap", "eta"])
    if allowed.empty:
        cheapest = steps["cost"].min()
        reason = f"every step costs more than {MOST_COST:.1%} of validation accuracy, the least {cheapest:.1%}"
        return StepChoice(rule, float("nan"), reason, steps)
    return StepChoice(rule, float(allowed["eta"].iloc[0]), "", steps)


def primary_comparison(outcomes: pd.DataFrame, none: pd.DataFrame) -> PrimaryComparison:
    """The chosen arm against none on test, by seed; each table has seed, accuracy, gap of one level, a row per seed."""
    pairs = outcomes.merge(none, on="seed", suffixes=("", "_none"))
    changes = {name: pairs[name] - pairs[f"{name}_none"] for name in ("gap", "accuracy")}
    before = float(pairs["gap_none"].mean())
    narrowing = -float(changes["gap"].mean()) / before if before else float("nan")
    return PrimaryComparison(len(pairs), before, _interval(changes["gap"]), _interval(changes["accuracy"]), narrowing)


def _pooled(rows: pd.DataFrame) -> tuple[float, float]:
    """Accuracy of all examples, and max - min of the groups' accuracies, pooled over seeds."""
    sums = rows.groupby("group", observed=True)[["correct", "n"]].sum()
    rates = sums["correct"] / sums["n"]
    return float(sums["correct"].sum() / sums["n"].sum()), float(rates.max() - rates.min())


def _interval(changes: pd.Series) -> tuple[float, float, float]:
    low, high = t_interval(changes.mean(), changes.std(ddof=1), changes.count())
    return float(changes.mean()), float(low), float(high)
