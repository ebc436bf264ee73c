"""What the Causes page says of its facts, and its tables."""

from collections.abc import Sequence

import pandas as pd

from engine.analysis.causes.relations import BoundFacts, Correlation, sizes_hardly_differ
from pages.shared import formats

QUANTITIES = {
    "n": "training examples",
    "accuracy": "accuracy",
    "gradient_norm": "gradient norm",
    "eigenvalue": "largest Hessian eigenvalue",
    "margin": "mean margin",
    "closeness": "closeness to the boundary",
    "loss": "mean loss",
}
HELP = {
    "accuracy": "On the test side.",
    "gradient_norm": "Norm of the gradient of the group's mean loss over all trainable weights: how far the network is "
    "from serving this group as well as it could.",
    "eigenvalue": "Largest eigenvalue of the Hessian of the group's mean loss: how fast its loss bends upwards when "
    "weights move.",
    "margin": "Mean of the highest minus the second highest probability: how far from the decision boundary.",
}

AT_CUT, TRAINED = "Right after the cut", "After retraining"
MOMENTS = (AT_CUT, TRAINED)
MOMENT_HELP = "Excessive loss and Theorem 1 are defined right after the cut, before the network trains again."


def cause_sentence(curves: pd.DataFrame, level: int) -> str:
    """Who loses most at this level, and how it stood before pruning."""
    rows = curves[curves["level"] == level].dropna(subset="excessive_loss").set_index("group")
    dense = curves[curves["level"] == 0].set_index("group")
    if len(rows) < 2:
        return "**Nothing can be compared**: fewer than two groups were measured."
    worst = rows["excessive_loss"].idxmax()
    kind = "class " if (rows["grouping"] == "class").all() else ""
    name, seeds = f"{kind}{formats.plain(worst)}", formats.seeds(rows.loc[worst, "n_seeds"])
    where = formats.sparsity(rows.loc[worst, "sparsity"])
    if rows.loc[worst, "excessive_loss"] <= 0:
        return f"**No group's loss rises** at {where} sparsity ({seeds})."
    standing = [
        f"its {QUANTITIES[key]} was {_against(dense[key], worst)} the median group's"
        for key in ("gradient_norm", "eigenvalue")
        if worst in dense.index and dense[key].notna().sum() > 1
    ]
    text = (
        f"At {where} sparsity **{name} loses most**: its loss {_moved(rows.loc[worst, 'excessive_loss'])}, that of the "
        f"median group {_moved(rows['excessive_loss'].median())} ({seeds})."
    )
    return text + (f" Before pruning {' and '.join(standing)}." if standing else "")


def relation_sentence(correlations: Sequence[Correlation], sizes: Sequence[float]) -> str:
    """How many of the paper's relations show here, each with its correlation and interval."""
    tested = [one for one in correlations if one.value == one.value]
    if not tested:
        return f"The relations of the paper cannot be tested here: {correlations[0].reason}."
    clear = [one for one in tested if _is_clear(one)]
    text = (
        f"Of {len(tested)} relations that Tran et al. report, {len(clear) or 'none'} "
        f"{'show' if len(clear) > 1 else 'shows'} between these {tested[0].n_groups} groups with an interval on the "
        "reported side of 0."
    )
    if sizes_hardly_differ(sizes):
        text += " Group sizes hardly differ here, so the one with size (their Fig. 2) is hardly tested."
    return text


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
            "seeds": [one.n_seeds for one in correlations],
        }
    )


def bound_sentence(facts: BoundFacts) -> str:
    """How Theorem 1's bound stands to the truth."""
    if not facts.n:
        return "No pruned group was measured."
    share, n = formats.percent(facts.holds), formats.count(facts.n)
    text = f"The bound of Theorem 1 holds for {share} of {n} pruned groups and runs"
    if facts.times == facts.times:
        text += f"; where a loss rises, the median bound is {formats.number(facts.times, 2)} times the truth"
    return text + "."


def cause_table(curves: pd.DataFrame) -> pd.DataFrame:
    """The numbers behind the curves."""
    names = ["group", "level", "sparsity", "n_seeds", "n", *QUANTITIES, "excessive_loss", "bound"]
    return curves[list(dict.fromkeys(names))].sort_values(["group", "level"], ignore_index=True)


def _moved(rise: float) -> str:
    return f"{'rises' if rise >= 0 else 'falls'} by {formats.number(abs(rise))}"


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
        return "one seed: no interval"
    return "as reported" if _is_clear(one) else "the other way" if one.low * one.high > 0 else "not clear"
