"""Tran's table of mitigation beside ours."""

import pandas as pd

from docs.made.study import LATER, Demo, markdown
from engine.analysis.causes.mitigation_arms import NONE, against_none, arm_curves, arm_outcomes, groups_of_classes
from engine.analysis.columns import MODEL
from pages.shared import formats

PUBLISHED = {
    "none": ((0.546, 0.179), (0.545, 0.186), (0.529, 0.152), (0.559, 0.134)),
    "before": ((0.539, 0.189), (0.557, 0.190), (0.529, 0.174), (0.540, 0.238)),
    "after": ((0.538, 0.172), (0.532, 0.161), (0.497, 0.163), (0.472, 0.05)),
    "both": ((0.525, 0.170), (0.541, 0.144), (0.508, 0.156), (0.484, 0.073)),
}
"""Its Table 2: accuracy and fairness violation when 30, 50, 70 and 90 % are pruned."""


def mitigation_table(demo: Demo) -> str:
    """Accuracy and fairness violation of each arm at 50, 90 and 98 %, the change against none by seed, and a count."""
    judged: list[int] = []
    rows = [
        ("Tran 2022, UTKFace, age", arm, f"{sparsity} %", formats.percent(found[0]), f"{found[1]:.3f}", "", "")
        for arm, cells in PUBLISHED.items()
        for sparsity, found in zip((30, 50, 70, 90), cells, strict=True)
        if sparsity in (50, 90)
    ]
    for dataset, grouping in (("fashion-mnist", "class"), ("qmnist", "class"), ("qmnist", "series")):
        source = f"PruneScope, {dataset}, {grouping}"
        outcomes = _outcomes(demo, dataset, grouping)
        if outcomes is None:
            rows.append((source, LATER, "", "", "", "", ""))
            continue
        changes = against_none(outcomes).set_index(["mitigation", "level"])
        for row in arm_curves(outcomes).sort_values(["mitigation", "level"]).itertuples():
            if row.level and round(100 * row.sparsity) in (50, 90, 98):
                judged += _direction(changes, (row.mitigation, row.level))
                rows.append(
                    (
                        source,
                        str(row.mitigation).removesuffix(f", by {grouping}"),
                        f"{100 * row.sparsity:.0f} %",
                        formats.percent(row.accuracy),
                        _interval(row.violation, row.violation_low, row.violation_high),
                        _change(changes, (row.mitigation, row.level)),
                        str(row.n_seeds),
                    )
                )
    heads = [
        "source and groups",
        "mitigation",
        "pruned",
        "accuracy",
        "violation (95 %)",
        "change against none",
        "seeds",
    ]
    found = (
        f"Found here: of {len(judged)} changes with an interval, mitigation lowers the violation in {judged.count(-1)} "
        f"and raises it in {judged.count(1)}; in the other {judged.count(0)} the interval includes no change. "
        f"The intervals are not corrected for their number: about {0.05 * len(judged):.0f} would exclude 0 by chance."
    )
    return f"{found}\n\n{markdown(pd.DataFrame(rows, columns=heads))}"


def _outcomes(demo: Demo, dataset: str, grouping: str) -> pd.DataFrame | None:
    """What the arms that look at this grouping came to between its groups; nothing where no run did."""
    classes = demo.of(demo.classes, dataset=dataset, protocol="at once to 30, 50")
    ours = classes["mitigation"].astype(str).map(lambda arm: arm == NONE or _grouping(arm) == grouping)
    classes = classes[ours.to_numpy(bool)]
    if classes.empty or set(classes["mitigation"]) <= {NONE}:
        return None
    if grouping == "class":
        return arm_outcomes(groups_of_classes(classes))
    models = classes[["run", *MODEL, "seed", "level", "sparsity"]].drop_duplicates()
    return arm_outcomes(demo.study.run_tables(models, "groups").query("grouping == @grouping"))


def _grouping(arm: str) -> str:
    """The grouping that an arm looks at, from its name."""
    return arm.partition(", by ")[2] or "class"


def _direction(changes: pd.DataFrame, place: tuple[object, object]) -> list[int]:
    """-1 where the interval of a change lies below 0, 1 above, 0 around it; nothing where there is no interval."""
    if place not in changes.index:
        return []
    low, high = changes.loc[[place]].iloc[0][["violation_low", "violation_high"]]
    return [int(low > 0) - int(high < 0)] if low == low else []


def _change(changes: pd.DataFrame, place: tuple[object, object]) -> str:
    if place not in changes.index:
        return ""
    row = changes.loc[[place]].iloc[0]
    return _interval(row["violation"], row["violation_low"], row["violation_high"], "+")


def _interval(mean: float, low: float, high: float, sign: str = "") -> str:
    return f"{mean:{sign}.3f}" + (f" ({low:{sign}.3f} to {high:{sign}.3f})" if low == low else "")
