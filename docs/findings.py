"""What the study that ships shows: findings on QMNIST's writers, with numbers and seeds."""

import pandas as pd

from docs.control import training_finding
from docs.study import PAPER, SHORT, Demo
from engine.analysis.choice import choose
from engine.analysis.frontier import operating_points
from engine.analysis.overview import red_flags
from engine.analysis.slopes import within_slopes
from engine.analysis.writers import member_facts
from engine.unfairness import unfairness_table
from pages.shared import formats
from pages.shared.members import change_words

THRESHOLD, WEIGHTS = 0.925, (1.0, 100.0)


def findings(demo: Demo) -> str:
    """The findings as a numbered list; one for which runs are missing is left out."""
    lines = [
        line for line in (_classes(demo), _writers(demo), _tilt(demo), training_finding(demo), _frontier(demo)) if line
    ]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _classes(demo: Demo) -> str:
    wanted = {"dataset": "qmnist", "protocol": SHORT["protocol"], "technique": "l1_structured", "treatment": "rewind"}
    flags = red_flags(demo.of(demo.levels, **wanted), demo.of(demo.classes, **wanted))
    if flags.empty or pd.isna(flags.iloc[0]["class"]):
        return ""
    row = flags.iloc[0]
    return (
        f"**The total hides the classes.** Cutting channels by L1 (rewind) to {formats.sparsity(row['sparsity'])} "
        f"changes accuracy by {formats.points(row['accuracy'] - row['dense_accuracy'])}, while digit {row['class']} "
        f"changes by {formats.points(row['class_change'])} ({formats.count(row['class_n'])} test digits, "
        f"{formats.seeds(row['n_seeds'])})."
    )


def _writers(demo: Demo) -> str:
    table = demo.writers(20, **SHORT)
    if table is None:
        return ""
    facts = member_facts(table)
    assert facts.worst_before is not None and facts.worst_after is not None
    return (
        f"**Some writers pay for all.** Global magnitude pruning to 98.85 % with rewinding changes accuracy by "
        f"{formats.points(_mean_change(table))}, but {facts.n_losing} of {facts.n_members} writers lose more than 5 "
        f"points, and writer {facts.worst} falls from {formats.percent(facts.worst_before)} to "
        f"{formats.percent(facts.worst_after)} on {facts.worst_n} digits (mean of {_seeds(demo, SHORT)})."
    )


def _tilt(demo: Demo) -> str:
    table = demo.writers(20, **PAPER)
    if table is None:
        return ""
    slope = within_slopes(table, "abs_tilt", "series")
    more = "lose more" if slope.high < 0 else "lose less" if slope.low > 0 else "may lose more or less"
    return (
        f"**Writers who lean {more}.** Under Paganini's protocol in full ({PAPER['protocol']}) the same pruning "
        f"changes accuracy by {formats.points(_mean_change(table))}; within a series, 0.1 more of mean absolute tilt "
        f"goes with a further {change_words(slope, 0.1)}; {formats.count(slope.n)} writers, mean of "
        f"{_seeds(demo, PAPER)}."
    )


def _mean_change(table: pd.DataFrame) -> float:
    """Change of accuracy over all examples, from a table of members."""
    return float((table["change"] * table["n"]).sum() / table["n"].sum())


def _seeds(demo: Demo, protocol: dict[str, str]) -> str:
    return formats.seeds(demo.of(demo.levels, dataset="qmnist", **protocol)["seed"].nunique())


def _frontier(demo: Demo) -> str:
    wanted = {"dataset": "qmnist", "protocol": SHORT["protocol"]}
    points = operating_points(demo.of(demo.levels, **wanted), unfairness_table(demo.of(demo.classes, **wanted)))
    names = []
    for weight in WEIGHTS:
        chosen = choose(points, THRESHOLD, weight).chosen
        if chosen is None:
            return ""
        row = points.iloc[chosen]
        what = f"{formats.technique(row['technique'])} ({row['treatment']})" if row["level"] else "the dense network"
        gap = formats.points(row["max_min"], sign=False)
        names.append(f"at weight {weight:g} {what} at {formats.sparsity(row['sparsity'])} with a gap of {gap}")
    fewest, most = int(points["n_seeds"].min()), int(points["n_seeds"].max())
    return (
        f"**What fairness is worth decides.** With accuracy at least {formats.percent(THRESHOLD)}, the frontier "
        f"chooses {', and '.join(names)} ({most if fewest == most else f'{fewest} to {most}'} seeds a point)."
    )
