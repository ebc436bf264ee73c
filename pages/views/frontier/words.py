"""What the Frontier page says of the choice: what it costs, how sure it is, why there may be none."""

import numpy as np
import pandas as pd

from engine.analysis.columns import VARIANT
from engine.analysis.frontier.choice import BELOW_THRESHOLD, Choice, GiveUp
from engine.analysis.frontier.confidence_set import PairedDifference
from engine.analysis.frontier.stability import Agreement
from engine.analysis.frontier.verdict import CLEAR, TOSS_UP
from pages.shared import formats
from pages.shared.names import measure_name, point_name


def choice_sentence(points: pd.DataFrame, choice: Choice, trust: Agreement) -> str:
    """How sure the choice is, the choice, and what it costs against the runner-up."""
    chosen = points.iloc[choice.chosen]
    gap = formats.unfairness(chosen[choice.measure], choice.measure)
    seeds = f"{formats.seeds(chosen['n_seeds'])}{_left_behind(points, chosen)}"
    text = f"{verdict_sentence(points, choice, trust)} The choice has accuracy {formats.percent(chosen['accuracy'])}, "
    text += f"unfairness {gap} ({measure_name(choice.measure).lower()}), mean of {seeds}."
    if choice.runner_up is not None and choice.against_runner_up is not None:
        text += f" Against the runner-up, {point_name(points.iloc[choice.runner_up])}, it "
        text += give_up(choice.against_runner_up, choice.measure) + "."
        text += paired_sentence(trust.against_runner_up, choice.measure)
    return text + _untold_sentence(choice, trust)


def verdict_sentence(points: pd.DataFrame, choice: Choice, trust: Agreement) -> str:
    """The verdict, the network, how often it wins; and who wins more often or next, where it is not clear."""
    sure, name = trust.verdict, point_name(points.iloc[choice.chosen])
    if not sure.word:
        return f"**Ship {name}**; {sure.reason}."
    share, rival_share = (formats.percent(part, 0) for part in (sure.share, sure.rival_share))
    if sure.word == TOSS_UP:
        text = f"**Toss-up: {name}** has the best mean, yet wins in only {share} of redrawn seeds."
    else:
        text = f"**{sure.word.capitalize()}: ship {name}**, which wins in {share} of redrawn seeds."
    if sure.rival is None or sure.word == CLEAR:
        return text
    how = f"more often, in {rival_share}" if sure.rival_share > sure.share else f"in {rival_share}"
    rival = point_name(points.iloc[sure.rival])
    return f"{text} {rival[0].upper()}{rival[1:]} wins {how}."


def paired_sentence(difference: PairedDifference, measure: str) -> str:
    """How far the difference of two unfairnesses may be off, seed by seed; empty where one seed cannot say."""
    if np.isnan(difference.low):
        return ""
    mean, low, high = (
        formats.points(part) if formats.in_points(measure) else formats.number(part)
        for part in (difference.mean, difference.low, difference.high)
    )
    return f" Unfairness differs by {mean} (95 %: {low} to {high}, paired by seed)."


def _untold_sentence(choice: Choice, trust: Agreement) -> str:
    """How many other networks cannot be told from the best."""
    n = len(set(trust.confidence_set) - {choice.chosen, *choice.twins})
    if not n or not trust.verdict.word:
        return ""
    others = f"{formats.count(n)} other network{'s' if n > 1 else ''}"
    return f" {others} cannot be told from the best by these seeds (95 %)."


def give_up(against: GiveUp, measure: str) -> str:
    """What a choice gains and gives up against another point."""
    gains: list[str] = []
    costs: list[str] = []
    unfair = formats.unfairness(abs(against.unfairness), measure)
    if against.sparsity:
        words = (
            f"{formats.points(abs(against.sparsity), 2 if abs(against.sparsity) < 0.01 else 1, sign=False)} of sparsity"
        )
        (gains if against.sparsity > 0 else costs).append(words)
    if against.unfairness:
        (gains if against.unfairness < 0 else costs).append(f"{unfair} of fairness")
    if abs(against.accuracy) >= 0.0005:
        words = f"{formats.points(abs(against.accuracy), sign=False)} of accuracy"
        (gains if against.accuracy > 0 else costs).append(words)
    if not gains and not costs:
        return "differs in nothing that is measured here"
    parts = [f"gains {_listed(gains)}"] if gains else []
    parts += [f"gives up {_listed(costs)}"] if costs else []
    return " and ".join(parts)


def stakeholder_sentence(points: pd.DataFrame, choice: Choice, second: Choice) -> str:
    """Whether a second stakeholder would choose the same."""
    if second.chosen is None or choice.chosen is None:
        return ""
    weight = formats.number(second.weight)
    if second.chosen in (choice.chosen, *choice.twins):
        return f"The second stakeholder, at weight {weight}, ships the same network."
    mine, theirs = points.iloc[choice.chosen], points.iloc[second.chosen]
    against = GiveUp(
        float(theirs["sparsity"] - mine["sparsity"]),
        float(theirs[choice.measure] - mine[choice.measure]),
        float(theirs["accuracy"] - mine["accuracy"]),
    )
    words = give_up(against, choice.measure)
    return f"The second stakeholder, at weight {weight}, ships **{point_name(theirs)}**, which {words}."


def no_choice(choice: Choice, points: pd.DataFrame) -> str:
    """Why nothing is chosen, and the way on."""
    if choice.reason == BELOW_THRESHOLD:
        best = formats.percent(points["accuracy"].max())
        return f"**No network reaches {formats.percent(choice.threshold)}.** The best has {best}: lower the threshold."
    return f"**Nothing can be chosen**: {choice.reason}."


def _left_behind(points: pd.DataFrame, chosen: pd.Series) -> str:
    """How many seeds of the same way of pruning have no such point, as where a run stopped before."""
    same = (points[list(VARIANT)] == chosen[list(VARIANT)]).all(axis=1)
    n = int(points.loc[same, "n_seeds"].max() - chosen["n_seeds"])
    return f" ({formats.count(n)} more {'has' if n == 1 else 'have'} no such level)" if n else ""


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
