"""What the Frontier page says of the choice: what it costs, how sure it is, why there may be none."""

import pandas as pd

from engine.analysis.columns import VARIANT
from engine.analysis.frontier.choice import BELOW_THRESHOLD, Choice, GiveUp
from engine.analysis.frontier.stability import Agreement
from pages.shared import formats
from pages.shared.names import measure_name, point_name


def choice_sentence(points: pd.DataFrame, choice: Choice, trust: Agreement) -> str:
    """The choice, what it costs against the runner-up, and how sure it is."""
    chosen = points.iloc[choice.chosen]
    gap = formats.unfairness(chosen[choice.measure], choice.measure)
    seeds = f"{formats.seeds(chosen['n_seeds'])}{_left_behind(points, chosen)}"
    text = (
        f"**Ship {point_name(chosen)}**: accuracy {formats.percent(chosen['accuracy'])}, "
        f"unfairness {gap} ({measure_name(choice.measure).lower()}), mean of {seeds}."
    )
    if choice.runner_up is not None and choice.against_runner_up is not None:
        text += f" Against the runner-up, {point_name(points.iloc[choice.runner_up])}, it "
        text += give_up(choice.against_runner_up, choice.measure) + "."
    share = trust.table.loc[trust.table["position"] == choice.chosen, "share"]
    if len(share) and share.notna().all():
        text += (
            f" Of {trust.n_resamples} resamples of the seeds, {formats.percent(float(share.iloc[0]), 0)} choose it too."
        )
    return text


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
