"""Two stakeholders with a weight each: do they agree, and which network costs both least?"""

from dataclasses import dataclass

import numpy as np

from engine.analysis.frontier.choice import Choice


@dataclass(frozen=True)
class Compromise:
    """A network for two. What it costs each is a share: 0 is their own best, 1 what the other one would choose."""

    place: int
    costs: tuple[float, float]
    agrees: bool
    """Whether both would choose this one anyway."""


def compromise(one: Choice, other: Choice) -> Compromise | None:
    """The frontier's network whose larger cost is least; among equals the one whose costs sum to less.

    A cost is own best value minus the network's value, over own best minus what the other's choice is worth to one. No
    unit is compared between the two. Both choices must be among the same points; None where one of them has none.
    """
    if one.chosen is None or other.chosen is None:
        return None
    if other.chosen in (one.chosen, *one.twins):
        return Compromise(one.chosen, (0.0, 0.0), True)
    front = np.flatnonzero(one.frontier & other.frontier)
    costs = np.stack([_costs(one, other.chosen, front), _costs(other, one.chosen, front)])
    best = int(np.lexsort((costs.sum(axis=0), costs.max(axis=0)))[0])
    return Compromise(int(front[best]), (float(costs[0, best]), float(costs[1, best])), False)


def _costs(mine: Choice, theirs: int, places: np.ndarray) -> np.ndarray:
    best = mine.values[mine.chosen]
    at_stake = best - mine.values[theirs]
    costs: np.ndarray = (best - mine.values[places]) / (at_stake if at_stake > 0 else 1.0)
    return costs
