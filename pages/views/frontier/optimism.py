"""How much better the chosen network looks where it was chosen than elsewhere."""

import numpy as np

from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.validation_choice import Optimism, Rule, halves_choice
from engine.errors import PruneScopeError
from pages.shared.cache.between import TEST
from pages.shared.cache.half_points import half_points
from pages.views.frontier.controls import Question


def optimism_of(asked: Question, choice: Choice) -> tuple[Optimism | None, str]:
    """The chosen network's gap where it was chosen and on other examples, and whose halves those were, if any.

    Where validation chooses, the other examples are the test split. Else the same rule chooses on one half of the
    members and reports the other, then swapped, ten times; None where that cannot be counted.
    """
    if asked.between.split != TEST:
        here, there = (table.iloc[choice.chosen] for table in (asked.points, asked.tested))
        gaps, accuracies = ([float(row[name]) for row in (here, there)] for name in (asked.measure, "accuracy"))
        return Optimism((choice.chosen,), gaps[0], gaps[1], accuracies[0], accuracies[1], 1), ""
    try:
        halves = half_points(asked.between, asked.measure)
    except PruneScopeError:
        return None, ""
    if halves is None:
        return None, ""
    rows, whole = asked.points["point"].to_numpy(), int(_allowed(choice)[: choice.chosen].sum())
    rows, sparsity = (part[_allowed(choice)] for part in (rows, asked.points["sparsity"].to_numpy(float)))
    rule = Rule(choice.threshold, choice.weight)
    return halves_choice(sparsity, halves.accuracy[rows], halves.unfairness[rows], rule, whole), halves.members


def _allowed(choice: Choice) -> np.ndarray:
    return np.ones(len(choice.survivors), bool) if choice.allowed is None else choice.allowed
