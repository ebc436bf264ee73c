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
    by_point = dict(list(means.groupby("point")))
    kept, rows = np.zeros(len(points), bool), []
    for variant, places in variants.items():
        pruned = places[points["level"].to_numpy()[places] > 0]
        order = pruned[np.argsort(points["sparsity"].to_numpy()[pruned], kind="stable")]
        tests = [_tests(by_point.get(number), limits) for number in points["point"].to_numpy()[order].tolist()]
        width = max((len(p) for p, _ in tests), default=0)
        p_values = np.array([np.pad(p, (0, width - len(p)), constant_values=1.0) for p, _ in tests]).reshape(-1, width)
        found = fixed_sequence(p_values, delta / len(variants))
        last = -1 if found.chosen is None else found.chosen
        kept[order[: last + 1]] = True
        stop = found.stopped
        failed = ("", np.nan) if stop is None else _failed(tests[stop], found.worst_group)
        rows.append((*variant, pd.NA if last < 0 else order[last], pd.NA if stop is None else order[stop], *failed))
    table = pd.DataFrame(rows, columns=[*VARIANT, "kept", "stopped", "group", "p"])
    table = table.astype({"kept": "Int64", "stopped": "Int64"})
    candidates = np.flatnonzero(kept)
    best = np.lexsort((-points["accuracy"].to_numpy()[candidates], -points["sparsity"].to_numpy()[candidates]))
    chosen = int(candidates[best[0]]) if len(candidates) else None
    return PromisedPoints(chosen, kept, table, delta / max(len(variants), 1))


def _tests(rows: pd.DataFrame | None, limits: Limits) -> tuple[Floats, list[str]]:
    """P-values that a floor is broken, and whose; a group without examples or a baseline fails."""
    if rows is None or not limits:
        return np.ones(1), [EVERYBODY]
    rows = rows[rows["n"] > 0]
    n, after, before = (rows[name].to_numpy(float) for name in ("n", "accuracy", "dense_accuracy"))
    names = rows["name"].astype(str).tolist()
    parts: list[tuple[Floats, list[str]]] = []
    if "accuracy" in limits:
        total = np.array([(after * n).sum() / n.sum()])
        parts.append((hoeffding_bentkus_p_value(1 - total, n.sum(), 1 - limits["accuracy"]), [EVERYBODY]))
    if "lowest" in limits:
        parts.append((hoeffding_bentkus_p_value(1 - after, n, 1 - limits["lowest"]), names))
    if "loss" in limits:
        # An example's loss is 1, 0 or -1, moved into 0 to 1.
        parts.append((hoeffding_bentkus_p_value((1 + before - after) / 2, n, (1 + limits["loss"]) / 2), names))
    p = np.concatenate([part for part, _ in parts])
    return np.where(np.isnan(p), 1.0, p), [name for _, some in parts for name in some]


def _failed(tests: tuple[Floats, list[str]], worst: int | None) -> tuple[str, float]:
    p, names = tests
    place = min(worst or 0, len(names) - 1)
    return names[place], float(p[place])
