"""Tran's table of mitigation beside ours."""

import pandas as pd

from docs.study import LATER, Demo, markdown
from engine.analysis.arms import against_none, arm_curves, arm_outcomes, groups_of_classes
from pages.shared import formats

PUBLISHED = {
    "none": ((0.546, 0.179), (0.545, 0.186), (0.529, 0.152), (0.559, 0.134)),
    "before": ((0.539, 0.189), (0.557, 0.190), (0.529, 0.174), (0.540, 0.238)),
    "after": ((0.538, 0.172), (0.532, 0.161), (0.497, 0.163), (0.472, 0.05)),
    "both": ((0.525, 0.170), (0.541, 0.144), (0.508, 0.156), (0.484, 0.073)),
}
"""Its Table 2: accuracy and fairness violation when 30, 50, 70 and 90 % are pruned."""


def mitigation_table(demo: Demo) -> str:
    """Accuracy and fairness violation of each arm at 50, 90 and 98 %, and the change against none by seed."""
    rows = [
        ("Tran 2022, UTKFace, age", arm, f"{sparsity} %", formats.percent(found[0]), f"{found[1]:.3f}", "", "")
        for arm, cells in PUBLISHED.items()
        for sparsity, found in zip((30, 50, 70, 90), cells, strict=True)
        if sparsity in (50, 90)
    ]
    for dataset in ("fashion-mnist", "qmnist"):
        classes = demo.of(demo.classes, dataset=dataset, protocol="at once to 30, 50")
        if classes.empty:
            rows.append((f"PruneScope, {dataset}, class", LATER, "", "", "", "", ""))
            continue
        outcomes = arm_outcomes(groups_of_classes(classes))
        changes = against_none(outcomes).set_index(["mitigation", "level"])
        for row in arm_curves(outcomes).sort_values(["mitigation", "level"]).itertuples():
            if row.level and round(100 * row.sparsity) in (50, 90, 98):
                rows.append(
                    (
                        f"PruneScope, {dataset}, class",
                        str(row.mitigation),
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
    return markdown(pd.DataFrame(rows, columns=heads))


def _change(changes: pd.DataFrame, place: tuple[object, object]) -> str:
    if place not in changes.index:
        return ""
    row = changes.loc[[place]].iloc[0]
    return _interval(row["violation"], row["violation_low"], row["violation_high"], "+")


def _interval(mean: float, low: float, high: float, sign: str = "") -> str:
    return f"{mean:{sign}.3f}" + (f" ({low:{sign}.3f} to {high:{sign}.3f})" if low == low else "")
