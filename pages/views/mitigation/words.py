"""What the Mitigation page says of its facts, and its tables."""

import pandas as pd

from engine.analysis.causes.mitigation_arms import NONE
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS, RULES, arm_of
from pages.shared import formats

LABELS = {"gap": "Gap of accuracy", "violation": "Fairness violation (loss)"}
HELP = {
    "gap": "Highest minus lowest accuracy of the groups: the violation that the paper's tables and figures report.",
    "violation": "Largest difference between the groups' excessive losses: rises of the loss since dense (Eq. 3).",
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


def arm_name(words: str) -> str:
    """An arm as people say it, with what is not usual about it: "After pruning, reweighted groups, step 0.2"."""
    arm, *rest = words.split(", ")
    labels = {key: row.label.lower() for key, row in RULES.items()}
    labels |= {key: row.label.lower() for key, row in CONSTRAINTS.items()}
    plain = [labels.get(part) or _setting_name(part) for part in rest]
    return ", ".join([MITIGATIONS[arm].label if arm in MITIGATIONS else arm, *plain])


def _setting_name(words: str) -> str:
    name, _, value = words.rpartition(" ")
    return f"step {value}" if name in ("eta", "dual step") else words


def rules_help() -> str:
    """The rules of mitigation, each with its formula and its source; markdown."""
    return "\n\n".join(f"**{row.label}** ({row.source}): {row.help} `{row.formula}`" for row in RULES.values())


def negative_weight_sentence(rows: pd.DataFrame) -> str:
    """A warning where multipliers turned weights negative in the trainings of one arm; empty where none was."""
    if "weight" not in rows:
        return ""
    trainings = rows.groupby(["run", "level"], observed=True)["weight"].min() < 0
    if not trainings.any():
        return ""
    names = rows.loc[rows["weight"] < 0, "group"].astype(str).unique()
    return (
        f"**In {trainings.sum()} of {len(trainings)} trainings of this arm the multipliers made a group's weight "
        f"negative** ({formats.plain(', '.join(sorted(names)))}): training then raised its loss. A smaller step, or "
        "the rule that reweights groups, does not."
    )


def ordered_arms(words: list[str]) -> list[str]:
    """No mitigation first, then the arms in the order of their table, plain ones before others."""
    place = {key: number for number, key in enumerate(MITIGATIONS)}
    return sorted(words, key=lambda name: (place.get(arm_of(name), len(place)), name))


def difference(value: float, measure: str) -> str:
    """The size of a change: points for accuracies, a plain number for losses."""
    return formats.number(abs(value)) if measure == "violation" else formats.points_in_words(value)


def arm_sentence(curves: pd.DataFrame, changes: pd.DataFrame, measure: str, grouping: str) -> str:
    """What the arm that narrows the gap most does at this level, against no mitigation, and its price."""
    plain = curves[curves["mitigation"] == NONE]
    compared = changes.dropna(subset=measure)
    if plain.empty or compared.empty:
        return "**Nothing can be compared**: there is no run without mitigation of the same seeds."
    best = compared.loc[compared[measure].idxmin()]
    where = formats.sparsity(best["sparsity"])
    name = formats.plain(arm_name(str(best["mitigation"])))
    kind = "gap of accuracy" if measure == "gap" else "fairness violation"
    before = plain.iloc[0][measure]
    start = difference(before, measure) if measure == "violation" else formats.points(before, sign=False)
    between = "classes" if grouping == "class" else formats.plain(grouping)
    text = f"At {where} sparsity the {kind} between {between} is {start} without mitigation."
    if best[measure] >= 0:
        return f"{text} **No arm narrows it**: the best, {name.lower()}, changes it by {_changed(best, measure)}."
    price = f"{'gains' if best['accuracy'] > 0 else 'costs'} {_changed(best, 'accuracy')} of accuracy"
    seeds = formats.seeds(best["n_seeds"])
    if best[f"{measure}_high"] < 0:
        return f"{text} **{name} narrows it by {_changed(best, measure)}** and {price} ({seeds})."
    doubt = "one seed says nothing about chance" if best["n_seeds"] == 1 else "the interval includes no change"
    return (
        f"{text} **No arm clearly narrows it**: the best, {name.lower()}, does by {_changed(best, measure)} and "
        f"{price} ({seeds}; {doubt})."
    )


def arm_table(curves: pd.DataFrame, changes: pd.DataFrame, prices: pd.DataFrame) -> pd.DataFrame:
    """One row per arm at one level: accuracy, gap, violation, each with its change against none, and seconds."""
    change = changes.set_index("mitigation")
    cost = prices.set_index("mitigation")
    rows = []
    for row in curves.set_index("mitigation").loc[ordered_arms(list(curves["mitigation"].astype(str)))].itertuples():
        name = str(row.Index)
        changed = change.loc[name] if name in change.index else None
        rows.append(
            {
                "arm": arm_name(name),
                "accuracy": formats.percent(row.accuracy),
                "change of accuracy": _change(changed, "accuracy"),
                "gap": formats.points(row.gap, sign=False),
                "change of gap": _change(changed, "gap"),
                "violation": formats.number(row.violation),
                "change of violation": _change(changed, "violation"),
                "seconds a run": formats.number(cost["seconds"].get(name, float("nan"))),
                "× none": formats.fixed(cost["times"].get(name, float("nan")), 2),
                "seeds": row.n_seeds,
            }
        )
    return pd.DataFrame(rows)


def _changed(row: pd.Series, measure: str) -> str:
    half = (row[f"{measure}_high"] - row[f"{measure}_low"]) / 2
    scale = 1.0 if measure == "violation" else 100.0
    digits = 3 if measure == "violation" else 1
    spread = f" ± {scale * half:.{digits}f}" if half == half else ""
    unit = "" if measure == "violation" else " points"
    return f"{scale * abs(row[measure]):.{digits}f}{spread}{unit}"


def _change(row: pd.Series | None, measure: str) -> str:
    if row is None or row[measure] != row[measure]:
        return formats.MISSING
    half = (row[f"{measure}_high"] - row[f"{measure}_low"]) / 2
    if measure == "violation":
        return f"{row[measure]:+.3f}" + (f" ± {half:.3f}" if half == half else "")
    return formats.points(row[measure]) + (f" ± {100 * half:.1f}" if half == half else "")
