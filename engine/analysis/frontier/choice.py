"""Which operating point does a threshold and a weight choose, and what does the choice give up?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.binary_rates import MEASURES
from engine.analysis.frontier.points import pareto_front

Floats = NDArray[np.float64]

NO_POINTS = "there is no operating point"
BELOW_THRESHOLD = "no point reaches the threshold"
FLOORS_BROKEN = "no point that reaches the threshold keeps every floor"
NOT_ESTIMATED = "no point that reaches the threshold has an estimate of this unfairness"

ROUNDING = 1e-9
"""How far a mean over seeds may fall below the threshold by rounding alone."""


@dataclass(frozen=True)
class GiveUp:
    """The chosen point minus another one, in each measure's own unit (0.01 of sparsity is one percentage point)."""

    sparsity: float
    unfairness: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Choice:
    """What one stakeholder chooses; every number of a point is its place (0, 1, ...) in the table of points."""

    threshold: float
    weight: float
    measure: str
    survivors: NDArray[np.bool_]
    """Points whose mean accuracy reaches the threshold, and that are allowed."""
    frontier: NDArray[np.bool_]
    """Survivors that no survivor dominates."""
    values: Floats
    """Value of every point, survivor or not."""
    chosen: int | None = None
    twins: tuple[int, ...] = ()
    """Points with the chosen one's sparsity and unfairness, the chosen one left out."""
    runner_up: int | None = None
    """Next best on the frontier that is no twin; where there is none, the next best survivor."""
    against_runner_up: GiveUp | None = None
    against_dense: GiveUp | None = None
    """None where the chosen model has no dense level among the points."""
    reason: str = ""
    """Why nothing is chosen."""
    allowed: NDArray[np.bool_] | None = None
    """Points that keep the floors for groups; None where no such floor is set."""


def value(sparsity: ArrayLike, unfairness: ArrayLike, weight: float) -> Floats:
    """sparsity - weight x unfairness; weight 100 says that fairness counts 100 times as much as sparsity."""
    return np.asarray(sparsity, float) - weight * np.asarray(unfairness, float)


def reaches(accuracy: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """True where the accuracy is at least the threshold, up to rounding."""
    return np.asarray(accuracy, float) >= threshold - ROUNDING


def choose(
    points: pd.DataFrame,
    threshold: float,
    weight: float,
    measure: str = "max_min",
    allowed: NDArray[np.bool_] | None = None,
) -> Choice:
    """The choice among operating points; ties go to the fairer, then the more accurate, then the first point.

    With `allowed`, as `floors.allowed` gives it, only among those.
    """
    if not 0 < weight < np.inf:
        raise ValueError(f"The weight is {weight}; it must be a number above 0.")
    columns = sparsity, accuracy, unfairness = _columns(points, measure)
    reached = reaches(accuracy, threshold)
    survivors = reached if allowed is None else reached & allowed
    frontier = np.zeros(len(points), bool)
    frontier[survivors] = pareto_front(sparsity[survivors], unfairness[survivors])
    values = value(sparsity, unfairness, weight)
    if not frontier.any():
        lacking = NOT_ESTIMATED if survivors.any() else FLOORS_BROKEN if reached.any() else BELOW_THRESHOLD
        reason = lacking if len(points) else NO_POINTS
        return Choice(threshold, weight, measure, survivors, frontier, values, reason=reason, allowed=allowed)

    def best(among: NDArray[np.bool_]) -> int | None:
        rows = np.flatnonzero(among & ~np.isnan(values))
        return int(rows[np.lexsort((-accuracy[rows], unfairness[rows], -values[rows]))[0]]) if len(rows) else None

    chosen = best(frontier)
    twin = frontier & (sparsity == sparsity[chosen]) & (unfairness == unfairness[chosen])
    runner_up = best(frontier & ~twin)
    if runner_up is None:
        runner_up = best(survivors & ~twin)
    return Choice(
        threshold,
        weight,
        measure,
        survivors,
        frontier,
        values,
        chosen,
        twins=tuple(int(row) for row in np.flatnonzero(twin) if row != chosen),
        runner_up=runner_up,
        against_runner_up=_give_up(columns, chosen, runner_up),
        against_dense=_give_up(columns, chosen, _dense(points, chosen)),
        allowed=allowed,
    )


def choices_by_measure(
    points: pd.DataFrame,
    threshold: float,
    weight: float,
    measures: Sequence[str] | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> pd.DataFrame:
    """One row per measure: measure, chosen, runner_up (places, <NA> if none), sparsity, accuracy, unfairness, reason.

    The weight is the same number for each, although the measures have different units.
    """
    keys = [key for key in MEASURES if key in points] if measures is None else measures
    choices = [choose(points, threshold, weight, key, allowed) for key in keys]
    numbers = np.array([_numbers(points, c) for c in choices]).reshape(-1, 3)
    return pd.DataFrame(
        {
            "measure": [c.measure for c in choices],
            "chosen": pd.array([c.chosen for c in choices], "Int64"),
            "runner_up": pd.array([c.runner_up for c in choices], "Int64"),
            "sparsity": numbers[:, 0],
            "accuracy": numbers[:, 1],
            "unfairness": numbers[:, 2],
            "reason": [c.reason for c in choices],
        }
    )


def _numbers(points: pd.DataFrame, choice: Choice) -> tuple[float, float, float]:
    """Sparsity, accuracy and unfairness of the chosen point; NaN if there is none."""
    if choice.chosen is None:
        return np.nan, np.nan, np.nan
    sparsity, accuracy, unfairness = (float(column[choice.chosen]) for column in _columns(points, choice.measure))
    return sparsity, accuracy, unfairness


def _columns(points: pd.DataFrame, measure: str) -> tuple[Floats, Floats, Floats]:
    sparsity, accuracy, unfairness = (points[name].to_numpy(float) for name in ("sparsity", "accuracy", measure))
    return sparsity, accuracy, unfairness


def _give_up(columns: tuple[Floats, Floats, Floats], chosen: int | None, other: int | None) -> GiveUp | None:
    if chosen is None or other is None:
        return None
    sparsity, accuracy, unfairness = (column[chosen] - column[other] for column in columns)
    return GiveUp(float(sparsity), float(unfairness), float(accuracy))


def _dense(points: pd.DataFrame, chosen: int | None) -> int | None:
    """Place of the dense level of the chosen point's model."""
    places = np.flatnonzero(points["point"].to_numpy() == points["dense"].to_numpy()[chosen])
    return int(places[0]) if len(places) else None
