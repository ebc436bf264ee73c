"""What the page answers to a question: the choice, how sure it is, who pays, in numbers and words; kept by question."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from engine.analysis.curves.baseline import compared
from engine.analysis.frontier.choice import Choice, choose
from engine.analysis.frontier.floors import FLOORS, allowed, broken
from engine.analysis.frontier.promised_points import PromisedPoints, promised_points
from engine.analysis.frontier.stability import Agreement, agreement
from engine.analysis.frontier.three_objectives import pareto_front_3d
from engine.analysis.frontier.tradeoffs.compromise import Compromise, compromise
from engine.analysis.frontier.weight_ranges import change_over_weights
from pages.shared.cache.between import tally
from pages.shared.cache.kept import kept
from pages.shared.cache.points import by_seed, by_seed_and_point, group_means, group_rows, payers
from pages.shared.frame import Frame
from pages.views.frontier import side_charts, tables, words
from pages.views.frontier.chosen.front_table import frontier_places, frontier_table
from pages.views.frontier.controls import BY_PROMISE, BY_THREE, Question
from pages.views.frontier.payers import payer_sentence, warning_sentence
from pages.views.frontier.sureness import winners_table


@dataclass(frozen=True, eq=False)
class Answer:
    """The choice and all that is said of it; without a chosen point, only that and the promise."""

    choice: Choice
    promise: PromisedPoints | None
    second: Choice | None = None
    middle: Compromise | None = None
    trust: Agreement | None = None
    wins: pd.DataFrame | None = None
    """The weights at which each point wins."""
    winners: pd.DataFrame | None = None
    unbeaten: np.ndarray | None = None
    """Points that no other beats in three objectives, where these are asked for."""
    number: int = -1
    """The chosen point's."""
    groups: pd.DataFrame | None = None
    """Each group at the chosen point."""
    texts: tuple[str, ...] = ()
    """The answer, against the runner-up, who pays, seeds; some may be empty."""
    warning: str = ""
    caution: str = ""
    stakeholders: str = ""
    broken: tuple[str, ...] = ()
    """The floor that each point breaks, if any."""
    front: pd.DataFrame | None = None
    front_numbers: tuple[int, ...] = ()
    """Rows of the frontier, and the points' numbers."""


def answer_to(frame: Frame, asked: Question) -> Answer:
    """The answer, made once for each question to a study as it is."""
    return kept(frame.source, "frontier answer", asked.key, lambda: _answer(frame, asked))


def chosen_at(asked: Question, weight: float) -> Choice:
    """The choice at this weight."""
    return choose(asked.points, asked.limits["accuracy"], weight, asked.measure, asked.allowed)


def _promised(frame: Frame, asked: Question) -> PromisedPoints:
    """What learn-then-test allows of the points, by what chooses; floors on costs are no matter of chance."""
    means = compared(group_means(asked.between), frame.baseline)
    names = tally(asked.between).names
    means = means.assign(name=[names.get(int(n), str(n)) for n in means["class"]])
    risky = {name: limit for name, limit in asked.limits.items() if not FLOORS[name].is_cost}
    found = promised_points(asked.points, means, risky, asked.risk)
    cheap = allowed(asked.points, {n: limit for n, limit in asked.limits.items() if n not in risky})
    if found.chosen is None or cheap[found.chosen]:
        return found
    left = np.flatnonzero(found.kept & cheap)
    sparsity, accuracy = (asked.points[name].to_numpy(float)[left] for name in ("sparsity", "accuracy"))
    best = int(left[np.lexsort((-accuracy, -sparsity))[0]]) if len(left) else None
    return replace(found, chosen=best)


def _answer(frame: Frame, asked: Question) -> Answer:
    points, tested, measure = asked.points, asked.tested, asked.measure
    choice = chosen_at(asked, asked.weight)
    promise = _promised(frame, asked) if asked.rule == BY_PROMISE else None
    if promise is not None:
        if promise.chosen is None:
            return Answer(choice, promise)
        choice = replace(choice, chosen=promise.chosen, twins=(), runner_up=None, against_runner_up=None)
    if choice.chosen is None:
        return Answer(choice, promise)
    second = chosen_at(asked, asked.second_weight) if asked.second_weight and promise is None else None
    middle = compromise(choice, second) if second is not None else None
    grid = by_seed_and_point(asked.between, measure)
    trust = agreement(points, by_seed(asked.between), choice, grid=grid)
    wins = change_over_weights(points, choice, side_charts.WEIGHTS)
    winners = winners_table(points, grid, choice, trust) if trust.verdict.word and promise is None else None
    unbeaten = None
    if asked.rule == BY_THREE:
        unbeaten = pareto_front_3d(points["sparsity"], points[measure], points["accuracy"])
        choice = replace(choice, frontier=unbeaten & choice.survivors)
    number = int(points["point"].to_numpy()[choice.chosen])
    paying = payers(asked.between, number, frame.baseline)
    if promise is None:
        texts = (
            words.choice_sentence(points, tested, choice, trust),
            words.against_sentence(points, choice, trust),
            payer_sentence(paying),
            words.seed_sentence(points, choice, trust),
        )
    else:
        texts = (words.promise_sentence(points, tested, choice, asked.risk), "", payer_sentence(paying), "")
    front = frontier_places(points, choice)
    return Answer(
        choice,
        promise,
        second,
        middle,
        trust,
        wins,
        winners,
        unbeaten,
        number,
        group_rows(asked.between.on_test(), number, frame.baseline),
        texts,
        warning_sentence(paying, asked.between, asked.warning),
        tables.caution(frame, tested, tested.iloc[choice.chosen], measure),
        words.stakeholder_sentence(points, choice, second, middle) if second is not None else "",
        tuple(broken(points, asked.limits)),
        frontier_table(points, choice, wins, trust),
        tuple(points["point"].to_numpy()[front].tolist()),
    )
