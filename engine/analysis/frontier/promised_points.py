"""Which is the sparsest operating point that surely keeps its floors: learn then test, technique by technique."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.columns import VARIANT
from engine.analysis.frontier.floors import Limits
from engine.analysis.frontier.promise import fixed_sequence, hoeffding_bentkus_p_value

Floats = NDArray[np.float64]

EVERYBODY = "everybody"


@dataclass(frozen=True, eq=False)
class PromisedPoints:
    """What a promise allows, wrong with probability at most delta over the draw of the examples."""

    chosen: int | None
    """Place of the sparsest point that keeps it; among equally sparse ones the most accurate."""
    kept: NDArray[np.bool_]
    """Points that were shown to keep it."""
    table: pd.DataFrame
    """One row per technique, treatment and mitigation: these, `kept` (place of the last point that keeps the promise,
    <NA> without), `stopped` (of the first that cannot be shown to, <NA> without), `group` (whose promise failed there),
    `p` (its p-value)."""
    delta: float
    """Of each sequence: the whole over their number."""


def promised_points(points: pd.DataFrame, means: pd.DataFrame, limits: Limits, delta: float = 0.10) -> PromisedPoints:
    """The sparsest point of which every floor of `limits` (accuracy, lowest, loss) holds, wrong with probability at
    most delta.

    Each variant is a sequence of rising sparsity, tested until one fails at delta over the number of variants, so that
    all sequences together are wrong in at most delta. A point is the mean of its seeds; a mean of bounded losses is
    judged by Hoeffding and Bentkus with the examples of one seed, which holds however seeds go together. `means` has
    point, class, name, n, accuracy and dense_accuracy (the baseline's); the examples must not have trained or chosen
    the networks.
    """
    variants = points.groupby(list(VARIANT), observed=True, sort=False).indices
    p_values, names = _p_values(points, means, limits)
    kept, rows = np.zeros(len(points), bool), []
    level, sparsity = points["level"].to_numpy(), points["sparsity"].to_numpy(float)
    for variant, places in variants.items():
        pruned = places[level[places] > 0]
        order = pruned[np.argsort(sparsity[pruned], kind="stable")]
        found = fixed_sequence(p_values[order], delta / len(variants))
        last, stop, worst = -1 if found.chosen is None else found.chosen, found.stopped, found.worst_group
        kept[order[: last + 1]] = True
        failed = ("", np.nan) if stop is None or worst is None else (names[worst], p_values[order[stop], worst])
        rows.append((*variant, pd.NA if last < 0 else order[last], pd.NA if stop is None else order[stop], *failed))
    table = pd.DataFrame(rows, columns=[*VARIANT, "kept", "stopped", "group", "p"])
    table = table.astype({"kept": "Int64", "stopped": "Int64"})
    candidates = np.flatnonzero(kept)
    best = np.lexsort((-points["accuracy"].to_numpy()[candidates], -sparsity[candidates]))
    chosen = int(candidates[best[0]]) if len(candidates) else None
    return PromisedPoints(chosen, kept, table, delta / max(len(variants), 1))


def _p_values(points: pd.DataFrame, means: pd.DataFrame, limits: Limits) -> tuple[Floats, list[str]]:
    """P-values that a point (row) breaks a floor for a group (column), and the columns' groups.

    A group without a baseline, and a point of which nothing is known, fail; a group without examples is not asked.
    """
    wide = means.pivot(index="point", columns="class", values=["n", "accuracy", "dense_accuracy"])
    wide = wide.reindex(points["point"])
    n, after, before = (wide[name].to_numpy(float) for name in ("n", "accuracy", "dense_accuracy"))
    named = means.drop_duplicates("class").set_index("class")["name"]
    names = [str(named[place]) for place in wide["n"].columns]
    total = np.nansum(n, axis=1, keepdims=True)
    parts, columns = [np.where(total > 0, 0.0, 1.0)], [EVERYBODY]
    if "accuracy" in limits:
        with np.errstate(invalid="ignore", divide="ignore"):
            everybody = np.nansum(after * n, axis=1, keepdims=True) / total
        parts.append(hoeffding_bentkus_p_value(1 - everybody, total, 1 - limits["accuracy"]))
        columns.append(EVERYBODY)
    if "lowest" in limits:
        parts.append(hoeffding_bentkus_p_value(1 - after, n, 1 - limits["lowest"]))
        columns += names
    if "loss" in limits:
        # An example's loss is 1, 0 or -1, moved into 0 to 1.
        parts.append(hoeffding_bentkus_p_value((1 + before - after) / 2, n, (1 + limits["loss"]) / 2))
        columns += names
    if not limits:
        return np.ones((len(points), 1)), [EVERYBODY]
    empty = [n == 0 if part.shape == n.shape else np.zeros(part.shape, bool) for part in parts]
    p = np.where(np.concatenate(empty, axis=1), 0.0, np.concatenate(parts, axis=1))
    return np.where(np.isnan(p), 1.0, p), columns
