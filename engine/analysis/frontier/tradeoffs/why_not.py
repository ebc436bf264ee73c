"""Why is this operating point not chosen?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.frontier.choice import Choice

CHOSEN, EQUAL, BREAKS, UNKNOWN, BEATEN, OTHER_WEIGHTS, NEVER = (
    "chosen",
    "equal to the chosen one",
    "breaks a floor",
    "unfairness not estimated",
    "beaten on both counts",
    "would win at other weights",
    "on the frontier, best at no weight",
)


@dataclass(frozen=True)
class WhyNot:
    """Why a point is not chosen: one of the reasons above, and what goes with it."""

    reason: str
    broken: str = ""
    """The floor that it breaks."""
    beaten_by: int | None = None
    """Place of the fairest frontier point that is at least as sparse."""
    weights: tuple[float, float] | None = None
    """Between which weights it would win."""
    behind: float = 0.0
    """Value of the chosen point minus its own."""


def why_not(points: pd.DataFrame, choice: Choice, wins: pd.DataFrame, broken: Sequence[str], place: int) -> WhyNot:
    """Why the point at this place is not chosen; `wins` comes from `change_over_weights`, `broken` from `floors`."""
    sparsity, unfairness = points["sparsity"].to_numpy(float), points[choice.measure].to_numpy(float)
    behind = 0.0 if choice.chosen is None else float(choice.values[choice.chosen] - choice.values[place])
    if place == choice.chosen:
        return WhyNot(CHOSEN)
    if place in choice.twins:
        return WhyNot(EQUAL)
    if not choice.survivors[place]:
        return WhyNot(BREAKS, broken=broken[place], behind=behind)
    if np.isnan(unfairness[place]) or np.isnan(sparsity[place]):
        return WhyNot(UNKNOWN)
    if not choice.frontier[place]:
        front = np.flatnonzero(choice.frontier & (sparsity >= sparsity[place]) & (unfairness <= unfairness[place]))
        return WhyNot(BEATEN, beaten_by=int(front[np.argmin(unfairness[front])]), behind=behind)
    row = wins[wins["position"] == place]
    if len(row) and row["low"].iloc[0] < row["high"].iloc[0]:
        return WhyNot(OTHER_WEIGHTS, weights=(float(row["low"].iloc[0]), float(row["high"].iloc[0])), behind=behind)
    return WhyNot(NEVER, behind=behind)
