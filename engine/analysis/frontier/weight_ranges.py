"""At which weights does the choice change?"""

import math

import numpy as np
import pandas as pd

from engine.analysis.frontier.choice import Choice

TIE = 1e-9
"""Relative difference up to which two change-over weights are one, so that three points in line tie."""

Point = tuple[float, float]
"""Unfairness and sparsity."""


def change_over_weights(
    points: pd.DataFrame, choice: Choice, within: tuple[float, float] | None = None
) -> pd.DataFrame:
    """One row per frontier point that wins at some weight: position, low, high, sparsity, unfairness, by rising weight.

    The point wins on [low, high]; together the intervals fill 0 to infinity, or `within`. Twins both stand there; a
    point that only ties has low = high. Computed from the hull of the frontier, not by trying weights.
    """
    position = np.flatnonzero(choice.frontier)
    unfairness = points[choice.measure].to_numpy(float)[position].tolist()
    sparsity = points["sparsity"].to_numpy(float)[position].tolist()
    hull = _hull(sorted(set(zip(unfairness, sparsity, strict=True))))
    changes = np.minimum.accumulate([math.inf, *map(_change, hull, hull[1:]), 0.0])
    lows, highs = dict(zip(hull, changes[1:], strict=False)), dict(zip(hull, changes, strict=False))
    rows = [
        (place, lows[u, s], highs[u, s], s, u)
        for place, u, s in zip(position, unfairness, sparsity, strict=True)
        if (u, s) in lows
    ]
    low, high = within or (0.0, math.inf)
    clipped = [(row[0], max(row[1], low), min(row[2], high), *row[3:]) for row in rows]
    won = sorted((row for row in clipped if row[1] <= row[2]), key=lambda row: (row[1], row[2], row[0]))
    return pd.DataFrame(won, columns=["position", "low", "high", "sparsity", "unfairness"])


def _change(fair: Point, sparse: Point) -> float:
    """Weight at which two points have the same value; above it the fairer one wins."""
    return (sparse[1] - fair[1]) / (sparse[0] - fair[0])


def _hull(points: list[Point]) -> list[Point]:
    """The points, by rising unfairness, that win at some weight; points in line between two others stay."""
    hull: list[Point] = []
    for point in points:
        while len(hull) > 1:
            before, after = _change(hull[-2], hull[-1]), _change(hull[-1], point)
            if before >= after or math.isclose(before, after, rel_tol=TIE):
                break
            hull.pop()
        hull.append(point)
    return hull
