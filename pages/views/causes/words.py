"""What the Causes page says of its facts, and its tables."""

from collections.abc import Sequence

import pandas as pd

from engine.analysis.causes.relations import BoundFacts, Correlation, sizes_hardly_differ
from pages.shared import formats

QUANTITIES = {
    "n": "training examples",
    "accuracy": "accuracy",
    "gradient_norm": "gradient norm",
    "eigenvalue": "curvature",
    "margin": "margin",
    "closeness": "closeness to the boundary",
    "loss": "mean loss",
}
HELP = {
    "accuracy": "Accuracy: on the test side.",
    "gradient_norm": "Gradient norm: that of the group's mean loss over all trainable weights: how far the network is "
    "from serving this group as well as it could.",
    "eigenvalue": "Curvature, the largest eigenvalue of the Hessian of the group's mean loss: how fast its loss bends "
    "upwards when weights move.",
    "margin": "Margin: mean of the highest minus the second highest probability: how far from the decision boundary.",
}

SIGNS = {"gradient_norm": "gradient", "eigenvalue": "curvature"}
"""What, by the paper, marks a group that will lose; the eigenvalue is the Hessian's largest."""

LOOSE = 10
"""A bound more than so many times the truth says little."""

AT_CUT, TRAINED = "Right after the cut", "After retraining"
MOMENTS = (AT_CUT, TRAINED)
MOMENT_HELP = "Excessive loss and Theorem 1 are defined right after the cut, before the network trains again."


def worst_group(curves: pd.DataFrame, level: int) -> str | None:
    """The group whose loss rises most at this level; None where none does, or fewer than two were measured."""
    rows = curves[curves["level"] == level].dropna(subset="excessive_loss")
    if len(rows) < 2 or rows["excessive_loss"].max() <= 0:
        return None
    return str(rows["group"].iloc[int(rows["excessive_loss"].to_numpy().argmax())])


def cause_sentence(curves: pd.DataFrame, level: int) -> str:
    """Who loses most at this level, and whether gradient and curvature before pruning pointed to it."""
    rows = curves[curves["level"] == level].dropna(subset="excessive_loss").set_index("group")
    if len(rows) < 2:
        return "**Nothing can be compared**: fewer than two groups were measured."
    worst = rows["excessive_loss"].idxmax()
    where = formats.sparsity(rows.loc[worst, "sparsity"])
    if rows.loc[worst, "excessive_loss"] <= 0:
        return f"**No group's loss rises** at {where} sparsity ({formats.seeds(rows.loc[worst, 'n_seeds'])})."
    kind = "class " if (rows["grouping"] == "class").all() else ""
    name = f"{kind}{formats.plain(worst)}"
    dense = curves[curves["level"] == 0].set_index("group")
    known = {text: key for key, text in SIGNS.items() if worst in dense.index and dense[key].notna().sum() > 1}
    told = [text for text, key in known.items() if dense[key].idxmax() == worst]
    said = f"**{name[0].upper()}{name[1:]} loses most at {where} sparsity"
    if not known:
        return f"{said}.**"
    if not told:
        return f"{said}, and {_neither(list(known))} before pruning pointed to it.**"
    return f"{said}; its {' and '.join(told)} before pruning {'was' if len(told) == 1 else 'were'} the largest.**"


def standing_sentence(curves: pd.DataFrame, level: int) -> str:
    """The numbers behind it: how much the loss of that group and of the median one rises, and how it stood before."""
    rows = curves[curves["level"] == level].dropna(subset="excessive_loss").set_index("group")
    dense = curves[curves["level"] == 0].set_index("group")
    if len(rows) < 2 or rows["excessive_loss"].max() <= 0:
        return ""
    worst = rows["excessive_loss"].idxmax()
    standing = [
        f"its {text} was {_against(dense[key], worst)} the median group's"
        for key, text in SIGNS.items()
        if worst in dense.index and dense[key].notna().sum() > 1
    ]
    text = (
        f"Its loss {_moved(rows.loc[worst, 'excessive_loss'])}, the median group's "
        f"{_moved(rows['excessive_loss'].median())} ({formats.seeds(rows.loc[worst, 'n_seeds'])})."
    )
    return text + (f" Before pruning {' and '.join(standing)}." if standing else "")


def relation_sentence(correlations: Sequence[Correlation], sizes: Sequence[float]) -> str:
    """How many of the paper's patterns show here."""
    tested = [one for one in correlations if one.value == one.value]
    if not tested:
        return f"The patterns of the paper cannot be tested here: {correlations[0].reason}."
    n = sum(map(_is_clear, tested))
    text = f"{n or 'None'} of the {len(tested)} patterns in Tran et al. 2022 appear{'s' if n == 1 else ''} here."
    if sizes_hardly_differ(sizes):
        text += " Group sizes hardly differ, so the one with size (their Fig. 2) is hardly tested."
    return text


def relation_heading(one: Correlation) -> str:
    """What the paper reports, and whether it shows here."""
    claim = one.relation.claim
    return f"{claim[0].upper()}{claim[1:]}: {_verdict(one)}"


def relation_caption(one: Correlation) -> str:
    """The correlation with its interval, and the paper's figure."""
    interval = f" (95 %: {_interval(one)})" if one.low == one.low else ""
    value = f"Rank correlation {one.value:.2f}{interval}" if one.value == one.value else "No correlation"
    return f"{value}. {one.relation.figure} of the paper."


def relation_table(correlations: Sequence[Correlation]) -> pd.DataFrame:
    """One row per relation of the paper: what it says, what is found, with its interval."""
    return pd.DataFrame(
        {
            "in the paper": [f"{one.relation.figure}: {one.relation.claim}" for one in correlations],
            "rank correlation": [formats.fixed(one.value, 2) for one in correlations],
            "95 % interval": [_interval(one) for one in correlations],
            "reported sign": ["−" if one.relation.sign < 0 else "+" for one in correlations],
            "here": [_verdict(one) for one in correlations],
            "groups": [one.n_groups for one in correlations],
            "training runs": [one.n_seeds for one in correlations],
        }
    )


def bound_sentence(facts: BoundFacts) -> str:
    """How Theorem 1's bound stands to the truth."""
    if not facts.n:
        return "No pruned group was measured."
    holds = "always holds" if facts.holds == 1 else f"holds in {formats.percent(facts.holds)} of cases"
    if facts.times != facts.times:
        return f"The bound of Theorem 1 {holds}."
    size = f"the median bound is {formats.number(facts.times, 2)} times the truth"
    return f"The bound of Theorem 1 {holds}{', and says little' if facts.times > LOOSE else ''}: {size}."


def cause_table(curves: pd.DataFrame) -> pd.DataFrame:
    """The numbers behind the curves."""
    names = ["group", "level", "sparsity", "n_seeds", "n", *QUANTITIES, "excessive_loss", "bound"]
    return curves[list(dict.fromkeys(names))].sort_values(["group", "level"], ignore_index=True)


def _moved(rise: float) -> str:
    return f"{'rises' if rise >= 0 else 'falls'} by {formats.number(abs(rise))}"


def _neither(names: Sequence[str]) -> str:
    return f"neither its {names[0]} nor its {names[1]}" if len(names) > 1 else f"nothing in its {names[0]}"


def _against(values: pd.Series, group: object) -> str:
    return formats.times(float(values[group] / values.median()))


def _is_clear(one: Correlation) -> bool:
    return one.low > 0 if one.relation.sign > 0 else one.high < 0


def _interval(one: Correlation) -> str:
    return f"{one.low:.2f} to {one.high:.2f}" if one.low == one.low else formats.MISSING


def _verdict(one: Correlation) -> str:
    if one.value != one.value:
        return one.reason
    if one.low != one.low:
        return "one run cannot tell"
    return "shows here" if _is_clear(one) else "the other way here" if one.low * one.high > 0 else "not clear here"
