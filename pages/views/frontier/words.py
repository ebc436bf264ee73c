"""What the Frontier page says of the choice: what it costs, how sure it is, why there may be none."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from engine.analysis.columns import CLASS, VARIANT
from engine.analysis.frontier.choice import BELOW_THRESHOLD, FLOORS_BROKEN, Choice, GiveUp
from engine.analysis.frontier.confidence_set import PairedDifference
from engine.analysis.frontier.floors import FLOORS
from engine.analysis.frontier.promised_points import PromisedPoints
from engine.analysis.frontier.stability import Agreement
from engine.analysis.frontier.tradeoffs.compromise import Compromise
from engine.analysis.frontier.validation_choice import Optimism
from engine.analysis.frontier.verdict import CLEAR, CLOSE_CALL, SURE, TOSS_UP
from pages.shared import formats
from pages.shared.names import measure_name, point_name

MOST_WORDS = 30
"""Words of the answer."""


def between_name(columns: Sequence[str]) -> str:
    """Whom networks are fair between: "Classes", "Region", "Region × sex"."""
    if tuple(columns) == (CLASS,):
        return "Classes"
    return " × ".join(name.replace("_", " ") for name in columns).capitalize()


def weight_text(weight: float) -> str:
    """A weight as the slider and the address write it: "0.0126", "1", "1000"."""
    return f"{float(f'{weight:.3g}'):g}"


def choice_sentence(points: pd.DataFrame, tested: pd.DataFrame, choice: Choice, trust: Agreement) -> str:
    """The verdict, the network, its accuracy and gap on the test split, how often it and a rival win; markdown."""
    sure, chosen = trust.verdict, tested.iloc[choice.chosen]
    numbers = f"accuracy {formats.percent(chosen['accuracy'])}, gap {_gap(chosen, choice)}"
    name = point_name(points.iloc[choice.chosen])
    if not sure.word:
        return f"**Ship {name}** ({numbers}); {sure.reason}."
    share, rival = (formats.percent(part, 0) for part in (sure.share, sure.rival_share))
    text = f"**{sure.word.capitalize()}: {name}** ({numbers}) wins in {share} of redraws"
    n_as_good = _n_untold(choice, trust)
    if sure.word == CLOSE_CALL and sure.share >= SURE and n_as_good:
        return f"{text}; {formats.count(n_as_good)} more may be as good."
    if sure.rival is None or sure.word == CLEAR:
        return f"{text}."
    more = "another more often, in" if sure.word == TOSS_UP and sure.rival_share > sure.share else "the next in"
    return f"{text}, {more} {rival}."


def _gap(point: pd.Series, choice: Choice) -> str:
    return formats.unfairness(point[choice.measure], choice.measure)


def against_sentence(points: pd.DataFrame, choice: Choice, trust: Agreement) -> str:
    """What the choice gains and gives up against the runner-up, with the interval of the gaps' difference; may be
    empty."""
    if choice.runner_up is None or choice.against_runner_up is None:
        return ""
    text = f"Against the runner-up, {point_name(points.iloc[choice.runner_up])}, it "
    text += give_up(choice.against_runner_up, choice.measure) + "."
    return text + paired_sentence(trust.against_runner_up, choice.measure)


def seed_sentence(points: pd.DataFrame, choice: Choice, trust: Agreement) -> str:
    """How many seeds the numbers are of, who else wins, and what these seeds cannot tell."""
    chosen, sure = points.iloc[choice.chosen], trust.verdict
    text = f"Averages of {formats.seeds(chosen['n_seeds'])}{_left_behind(points, chosen)}."
    if sure.word and sure.word != CLEAR and sure.rival is not None and sure.rival != choice.runner_up:
        text += f" The rival in redraws is {point_name(points.iloc[sure.rival])}."
    return text + _untold_sentence(choice, trust)


def paired_sentence(difference: PairedDifference, measure: str) -> str:
    """How far the difference of two unfairnesses may be off, seed by seed; empty where one seed cannot say."""
    if np.isnan(difference.low):
        return ""
    mean, low, high = (
        formats.points(part) if formats.in_points(measure) else formats.number(part)
        for part in (difference.mean, difference.low, difference.high)
    )
    return f" Its gap differs by {mean} (95 %: {low} to {high}, run by run)."


def _n_untold(choice: Choice, trust: Agreement) -> int:
    """How many other networks are in the confidence set of the best."""
    return len(set(trust.confidence_set) - {choice.chosen, *choice.twins})


def _untold_sentence(choice: Choice, trust: Agreement) -> str:
    """How many other networks cannot be told from the best."""
    n = _n_untold(choice, trust)
    if not n or not trust.verdict.word:
        return ""
    others = f"{formats.count(n)} other network{'s' if n > 1 else ''}"
    return f" {others} cannot be told from the best by these training runs (95 %)."


def give_up(against: GiveUp, measure: str) -> str:
    """What a choice gains and gives up against another point."""
    parts: list[str] = []
    if against.unfairness:
        way = "smaller" if against.unfairness < 0 else "larger"
        parts.append(f"has a gap {formats.unfairness(abs(against.unfairness), measure)} {way}")
    if against.sparsity:
        digits = 2 if abs(against.sparsity) < 0.01 else 1
        way = "fewer" if against.sparsity > 0 else "more"
        parts.append(f"keeps {formats.points(abs(against.sparsity), digits, sign=False)} {way} weights")
    if abs(against.accuracy) >= 0.0005:
        way = "more" if against.accuracy > 0 else "less"
        parts.append(f"is {formats.points(abs(against.accuracy), sign=False)} {way} accurate")
    return _listed(parts) if parts else "differs in nothing that is measured here"


def promise_sentence(points: pd.DataFrame, tested: pd.DataFrame, choice: Choice, risk: float) -> str:
    """The network that a promise allows; markdown."""
    chosen = tested.iloc[choice.chosen]
    numbers = f"accuracy {formats.percent(chosen['accuracy'])}, gap {_gap(chosen, choice)}"
    name = point_name(points.iloc[choice.chosen])
    return f"**Promised: {name}** ({numbers}) keeps every floor, wrong with probability at most {risk:.0%}.".replace(
        "%.", " %."
    )


def promised_words(limits: dict[str, float]) -> str:
    """What is promised, in words."""
    texts = {
        "accuracy": "accuracy at least {:.1f} %",
        "lowest": "no group below {:.1f} %",
        "loss": "no group loses more than {:.1f} points",
    }
    costs = [
        f"{FLOORS[name].label.lower()} {FLOORS[name].factor * limit:.2f} {FLOORS[name].unit}"
        for name, limit in limits.items()
        if FLOORS[name].is_cost
    ]
    return _listed([text.format(100 * limits[name]) for name, text in texts.items() if name in limits] + costs)


def no_promise(points: pd.DataFrame, found: PromisedPoints, limits: dict[str, float]) -> str:
    """Why nothing can be promised, and the way on; markdown."""
    nearest = found.table.sort_values("p", kind="stable")
    who = formats.plain(nearest["group"].iloc[0]) if len(nearest) else ""
    because = f" The nearest fails for {who} (p {nearest['p'].iloc[0]:.2f})." if who else ""
    return (
        f"**No pruned network can be shown to keep the promise**: {promised_words(limits)}.{because} "
        "Lower a floor, allow more risk, or bring more examples."
    )


def optimism_sentence(optimism: Optimism | None, measure: str, on_validation: bool, members: str) -> str:
    """Where the network was chosen, and how its gap there compares with its gap elsewhere; markdown."""
    if on_validation and optimism is not None:
        here, there = (formats.unfairness(v, measure) for v in (optimism.gap_where_chosen, optimism.gap_elsewhere))
        return f"Chosen on validation, reported on test: gap {here} where chosen, {there} on test."
    plain = "Chosen on the test split that it is reported on, since these runs kept no validation answers."
    if optimism is None or optimism.reason or np.isnan(optimism.gap_where_chosen):
        return f"{plain} Expect a larger gap on fresh data."
    here, there = (formats.unfairness(v, measure) for v in (optimism.gap_where_chosen, optimism.gap_elsewhere))
    halves = f"halves of the {formats.plain(members)}s" if members else "halves of the examples"
    same = f"{optimism.n_same} of {len(optimism.chosen)} halves choose this network"
    return f"{plain} Chosen on {halves} instead: gap {here} where chosen, {there} on the other half; {same}."


def stakeholder_sentence(points: pd.DataFrame, choice: Choice, second: Choice, middle: Compromise | None = None) -> str:
    """Whether a second weight would choose the same, and which network costs both least."""
    if second.chosen is None or choice.chosen is None:
        return ""
    weight = formats.number(second.weight)
    if second.chosen in (choice.chosen, *choice.twins):
        return f"The second weight, {weight}, would ship the same network: the two agree."
    mine, theirs = points.iloc[choice.chosen], points.iloc[second.chosen]
    against = GiveUp(
        float(theirs["sparsity"] - mine["sparsity"]),
        float(theirs[choice.measure] - mine[choice.measure]),
        float(theirs["accuracy"] - mine["accuracy"]),
    )
    words = give_up(against, choice.measure)
    text = f"The second weight, {weight}, would ship **{point_name(theirs)}**: it {words}."
    if middle is None:
        return text
    if middle.place in (choice.chosen, second.chosen):
        return f"{text} No network between the two costs both less than that."
    costs = " and ".join(formats.percent(cost, 0) for cost in middle.costs)
    return (
        f"{text} **Compromise: {point_name(points.iloc[middle.place])}** costs the two {costs} of what they would "
        "lose if the other one chose."
    )


def no_choice(choice: Choice, points: pd.DataFrame) -> str:
    """Why nothing is chosen, and the way on."""
    if choice.reason == BELOW_THRESHOLD:
        best = formats.percent(points["accuracy"].max())
        return f"**No network reaches {formats.percent(choice.threshold)}.** The best has {best}: lower the threshold."
    if choice.reason == FLOORS_BROKEN:
        return "**No network keeps every floor.** Lower a floor for groups, or the accuracy."
    return f"**Nothing can be chosen** by {measure_name(choice.measure).lower()}: {choice.reason}."


def _left_behind(points: pd.DataFrame, chosen: pd.Series) -> str:
    """How many seeds of the same way of pruning have no such point, as where a run stopped before."""
    same = np.ones(len(points), bool)
    for name in VARIANT:
        same &= (points[name] == chosen[name]).to_numpy()
    n = int(points["n_seeds"].to_numpy()[same].max() - chosen["n_seeds"])
    return f" ({formats.count(n)} more {'has' if n == 1 else 'have'} no such level)" if n else ""


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
