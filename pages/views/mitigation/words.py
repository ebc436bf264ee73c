"""What the Mitigation page says of its facts, and its tables."""

import pandas as pd

from engine.analysis.causes.mitigation_arms import NONE
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS, RULES, arm_of
from pages.shared import formats
from pages.shared.names import arm_name

LABELS = {"gap": "Gap in accuracy", "violation": "Gap in loss"}
HELP = {
    "gap": "Highest minus lowest accuracy of the groups: the violation that the paper's tables and figures report.",
    "violation": "Largest difference between the groups' rises of the loss since before pruning: the paper's fairness "
    "violation, of excessive losses (Eq. 3).",
}
TERMS = {
    "loss": "mean loss",
    "gradient_norm": "gradient norm",
    "curvature": "curvature",
    "drop": "drop of the true class's probability",
}

MOVED = {
    "multiplier": "After each epoch a multiplier grows by step × the gap.",
    "weight": "Weights of the groups' mean losses sum to 1; plain training weighs each group by its share of examples.",
}
"""What mitigation moves from epoch to epoch, as a caption."""


def methods_help() -> str:
    """When methods work, what they ask for and by which rule, with formula and source; markdown."""
    when = [f"**{row.label}**: {row.help}" for row in MITIGATIONS.values()]
    asked = [f"**{row.label}** ({row.source}): {row.help}" for row in CONSTRAINTS.values()]
    rules = [f"**{row.label}** ({row.source}): {row.help} `{row.formula}`" for row in RULES.values()]
    return "\n\n".join([*when, *asked, *rules])


def negative_weight_sentence(rows: pd.DataFrame) -> str:
    """A warning where multipliers turned weights negative in the trainings of one arm; empty where none was."""
    if "weight" not in rows:
        return ""
    trainings = rows.groupby(["run", "level"], observed=True)["weight"].min() < 0
    if not trainings.any():
        return ""
    names = rows.loc[rows["weight"] < 0, "group"].astype(str).unique()
    return (
        f"**In {trainings.sum()} of {len(trainings)} trainings with this method the multipliers made a group's weight "
        f"negative** ({formats.plain(', '.join(sorted(names)))}): training then raised its loss. A smaller step, or "
        "the rule that reweights groups, does not."
    )


def ordered_arms(words: list[str]) -> list[str]:
    """No mitigation first, then the arms in the order of their table, plain ones before others."""
    place = {key: number for number, key in enumerate(MITIGATIONS)}
    return sorted(words, key=lambda name: (place.get(arm_of(name), len(place)), name))


def arm_sentence(curves: pd.DataFrame, changes: pd.DataFrame, measure: str, grouping: str) -> str:
    """What the method that narrows the gap most does at this level, against no mitigation, and its price."""
    plain = curves[curves["mitigation"] == NONE]
    compared = changes.dropna(subset=measure)
    if plain.empty or compared.empty:
        return "**Nothing can be compared**: no run without mitigation has the same seeds."
    best = compared.loc[compared[measure].idxmin()]
    name = formats.plain(arm_name(str(best["mitigation"])))
    between = f"the {LABELS[measure].lower()} between {_groups(grouping)}"
    where = f"at {formats.sparsity(best['sparsity'])} sparsity"
    seeds = f"average of {formats.seeds(best['n_seeds'])}" if best["n_seeds"] > 1 else "one training run"
    if best[measure] >= 0:
        return (
            f"**No method narrows {between}** {where}. Best try, mitigation {name.lower()}: it "
            f"{_moves(best, measure)}, {seeds}."
        )
    if best[f"{measure}_high"] < 0:
        return (
            f"**{name}: {between} {_moves(best, measure)}** {where}, and accuracy {_moves(best, 'accuracy')}, {seeds}."
        )
    doubt = "; one run says nothing about chance" if best["n_seeds"] == 1 else ""
    return (
        f"**No method clearly narrows {between}** {where}. Best try, mitigation {name.lower()}: it "
        f"{_moves(best, measure)}, {seeds}{doubt}."
    )


def gap_heading(changes: pd.DataFrame, measure: str) -> str:
    """How many methods narrow the gap more than chance explains, and how many widen it."""
    wider = int((changes[f"{measure}_low"] > 0).sum())
    rest = f", {formats.count(wider)} widen{'s' if wider == 1 else ''} it" if wider else ""
    return f"{_how_many(changes, f'{measure}_high', 'narrow')} the gap{rest}"


def accuracy_heading(changes: pd.DataFrame) -> str:
    """How many methods cost accuracy more than chance explains."""
    return f"{_how_many(changes, 'accuracy_high', 'cost')} accuracy"


def _how_many(changes: pd.DataFrame, end: str, verb: str) -> str:
    n, of = int((changes[end] < 0).sum()), len(changes)
    if of == 1:
        return f"The method {'clearly' if n else 'does not clearly'} {verb}{'s' if n else ''}"
    return f"None of {of} methods clearly {verb}s" if not n else f"{n} of {of} methods clearly {verb}{'s' * (n == 1)}"


def change_caption(plain: pd.DataFrame, measure: str) -> str:
    """What zero stands for in the chart of changes."""
    if plain.empty:
        return "Change against no mitigation, with 95 % intervals."
    value = plain.iloc[0][measure]
    told = formats.number(value) if measure == "violation" else formats.points(value, sign=False)
    told = formats.percent(value) if measure == "accuracy" else told
    return f"Dotted line: no mitigation, {told}. Each dot is the change against it, with its 95 % interval."


def _groups(grouping: str) -> str:
    return "classes" if grouping == "class" else formats.plain(grouping)


def _moves(row: pd.Series, measure: str) -> str:
    """A change in a sentence: "falls by 0.3 points (between -0.8 and +0.2)"."""
    scale, digits, unit = (1.0, 3, "") if measure == "violation" else (100.0, 1, " points")
    value = round(scale * row[measure], digits)
    size = f"{abs(value):.{digits}f}{unit}"
    low, high = (scale * row[f"{measure}_{end}"] for end in ("low", "high"))
    within = f" (95 %: {low:+.{digits}f} to {high:+.{digits}f})" if low == low else ""
    return f"{'falls' if value < 0 else 'rises'} by {size}{within}" if value else f"stays as it is{within}"


def arm_table(curves: pd.DataFrame, changes: pd.DataFrame, prices: pd.DataFrame) -> pd.DataFrame:
    """One row per method at one level: accuracy, gap, violation, each with its change against none, and seconds."""
    change = changes.set_index("mitigation")
    cost = prices.set_index("mitigation")
    rows = []
    for row in curves.set_index("mitigation").loc[ordered_arms(list(curves["mitigation"].astype(str)))].itertuples():
        name = str(row.Index)
        changed = change.loc[name] if name in change.index else None
        rows.append(
            {
                "method": arm_name(name),
                "accuracy": formats.percent(row.accuracy),
                "change of accuracy": _change(changed, "accuracy"),
                "gap": formats.points(row.gap, sign=False),
                "change of gap": _change(changed, "gap"),
                "gap in loss": formats.number(row.violation),
                "change of it": _change(changed, "violation"),
                "seconds a run": formats.number(cost["seconds"].get(name, float("nan"))),
                "time vs none": formats.times(cost["times"].get(name, float("nan"))),
                "training runs": row.n_seeds,
            }
        )
    return pd.DataFrame(rows)


def _change(row: pd.Series | None, measure: str) -> str:
    if row is None or row[measure] != row[measure]:
        return formats.MISSING
    half = (row[f"{measure}_high"] - row[f"{measure}_low"]) / 2
    if measure == "violation":
        return f"{row[measure]:+.3f}" + (f" ± {half:.3f}" if half == half else "")
    return formats.points(row[measure]) + (f" ± {100 * half:.1f}" if half == half else "")
