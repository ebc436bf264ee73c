"""Tran's table of mitigation beside ours: gaps of accuracies, and excessive losses in a table of their own."""

from dataclasses import dataclass

import pandas as pd

from docs.made.study import AT_ONCE, LATER, Demo, markdown
from engine.analysis.causes.cut_losses import MOMENTS, excessive_losses, violations
from engine.analysis.causes.mitigation_arms import NONE, against_none, arm_curves, arm_outcomes, groups_of_classes
from engine.analysis.columns import MODEL
from engine.store.group_losses import LOSSES
from engine.store.study import examples_name
from pages.shared import formats
from pages.shared.names import technique_name

PUBLISHED = {
    "none": ((0.546, 0.179), (0.545, 0.186), (0.529, 0.152), (0.559, 0.134)),
    "before": ((0.539, 0.189), (0.557, 0.190), (0.529, 0.174), (0.540, 0.238)),
    "after": ((0.538, 0.172), (0.532, 0.161), (0.497, 0.163), (0.472, 0.05)),
    "both": ((0.525, 0.170), (0.541, 0.144), (0.508, 0.156), (0.484, 0.073)),
}
"""Its Table 2: accuracy and max - min group accuracy when 30, 50, 70 and 90 % are pruned."""

SHOWN = (50, 90, 98)
"""Sparsities in percent that ours are shown at."""
PROTOCOL = {"arms": "at once to 30, 50", "controls": AT_ONCE}
"""Arms and controls share dense networks and training, but not all sparsities."""
CONTROL = "control, not pruned"
UNRECORDED = "not recorded"


@dataclass(frozen=True)
class Measure:
    """One quantity of a table: its column among the outcomes, its head, and its name in a sentence."""

    column: str
    head: str
    name: str


GAP = Measure("gap", "max - min group accuracy (95 %)", "the gap of accuracies")
VIOLATION = Measure("violation", "difference of excessive losses (95 %)", "the difference of excessive losses")


def mitigation_table(demo: Demo) -> str:
    """Table 2 beside ours, as the paper measures there: accuracy and max - min group accuracy of each arm."""
    published: list[tuple[str, ...]] = [
        ("Tran 2022, UTKFace, age", arm, f"{sparsity} %", formats.percent(cell[0]), f"{cell[1]:.3f}", "", "10")
        for arm, cells in PUBLISHED.items()
        for sparsity, cell in zip((30, 50, 70, 90), cells, strict=True)
        if sparsity in SHOWN
    ]
    return _table(demo, GAP, published)


def violation_table(demo: Demo) -> str:
    """The violation of the paper's Eq. 3 after retraining, for which it prints no numbers."""
    return _table(demo, VIOLATION, [])


def cut_table(demo: Demo) -> str:
    """The violation right after the cut, after retraining, and of the control, from runs that recorded it."""
    columns = ["run", *MODEL, "seed", "level", "sparsity"]
    pruned = demo.study.run_tables(demo.of(demo.levels, technique="global_unstructured")[columns], LOSSES)
    if pruned.empty:
        return (
            "None of the shipped runs recorded it: they were made before engines did. Every run made now does, in its "
            f"table `{LOSSES}`."
        )
    rows = _moments(demo, violations(excessive_losses(pruned)), "")
    controls = demo.study.run_tables(demo.control_levels[columns], LOSSES)
    rows += _moments(demo, violations(excessive_losses(controls)), CONTROL) if len(controls) else []
    heads = [
        "experiment",
        "groups",
        "network",
        "pruned",
        "right after the cut (95 %)",
        "after retraining (95 %)",
        "seeds",
    ]
    return markdown(pd.DataFrame(rows, columns=heads))


def _moments(demo: Demo, table: pd.DataFrame, name: str) -> list[tuple[str, ...]]:
    return [
        (
            *(demo.experiment_name(row), str(row["grouping"])),
            name or f"{technique_name(str(row['technique']))}, {row['treatment']}",
            formats.sparsity(row["sparsity"]) if not name else f"0 %, level {row['level']}",
            *(_interval(row[moment], row[f"{moment}_low"], row[f"{moment}_high"]) for moment in MOMENTS),
            str(int(row["n_seeds"])),
        )
        for _, row in table[table["mitigation"] == NONE].iterrows()
        if name or round(100 * row["sparsity"]) in SHOWN
    ]


def _table(demo: Demo, measure: Measure, rows: list[tuple[str, ...]]) -> str:
    judged: list[int] = []
    for dataset, grouping in (("fashion-mnist", "class"), ("qmnist", "class"), ("qmnist", "series")):
        source = f"PruneScope, {dataset}, {grouping}"
        outcomes = _outcomes(demo, dataset, grouping)
        if outcomes is None:
            rows.append((source, LATER, "", "", "", "", ""))
            continue
        changes = against_none(outcomes).set_index(["mitigation", "level"])
        for row in _shown(arm_curves(outcomes)):
            place = (row["mitigation"], row["level"])
            judged += _direction(changes, place, measure.column)
            arm = str(row["mitigation"]).removesuffix(f", by {grouping}")
            change = _change(changes, place, measure.column)
            rows.append((source, arm, *_numbers(row, measure.column), change, str(int(row["n_seeds"]))))
        rows += [(source, CONTROL, *cells) for cells in _control_rows(demo, dataset, grouping, outcomes, measure)]
    change = "change against none (95 %)"
    heads = ["source and groups", "mitigation", "pruned", "accuracy", measure.head, change, "seeds"]
    return f"{_count(judged, measure)}\n\n{markdown(pd.DataFrame(rows, columns=heads))}"


def _count(judged: list[int], measure: Measure) -> str:
    return (
        f"Found here: of {len(judged)} changes with an interval, mitigation lowers {measure.name} in "
        f"{judged.count(-1)} and raises it in {judged.count(1)}; in the other {judged.count(0)} the interval includes "
        f"no change. The intervals are not corrected for their number: about {0.05 * len(judged):.0f} would exclude 0 "
        "by chance."
    )


def _outcomes(demo: Demo, dataset: str, grouping: str) -> pd.DataFrame | None:
    """What the arms that look at this grouping came to between its groups; nothing where no run did."""
    classes = demo.of(demo.classes, dataset=dataset, protocol=PROTOCOL["arms"])
    ours = classes["mitigation"].astype(str).map(lambda arm: arm == NONE or _grouping(arm) == grouping)
    classes = classes[ours.to_numpy(bool)]
    if classes.empty or set(classes["mitigation"]) <= {NONE}:
        return None
    if grouping == "class":
        return arm_outcomes(groups_of_classes(classes))
    models = classes[["run", *MODEL, "seed", "level", "sparsity"]].drop_duplicates()
    return arm_outcomes(demo.study.run_tables(models, "groups").query("grouping == @grouping"))


def _control_rows(
    demo: Demo, dataset: str, grouping: str, outcomes: pd.DataFrame, measure: Measure
) -> list[tuple[str, ...]]:
    """The same of networks that trained as long from the same dense ones and lost no weight."""
    controls = demo.of(demo.control_classes, dataset=dataset, protocol=PROTOCOL["controls"])
    controls = controls[controls["seed"].isin(outcomes["seed"])]
    if controls.empty:
        return [("0 %", "", LATER, "", "")]
    pruned = demo.of(demo.levels, dataset=dataset, protocol=PROTOCOL["controls"], technique="global_unstructured")
    beside = pruned.groupby("level")["sparsity"].mean()
    groups = groups_of_classes(controls) if grouping == "class" else _counted(demo, controls, grouping)
    curves = arm_curves(arm_outcomes(groups))
    rows = _shown(curves.assign(sparsity=curves["level"].map(beside)))
    numbers = [(str(int(row["n_seeds"])), *_numbers(row, measure.column)) for row in rows]
    return [(f"0 %, beside {sparsity}", accuracy, value, "", seeds) for seeds, sparsity, accuracy, value in numbers]


def _counted(demo: Demo, classes: pd.DataFrame, grouping: str) -> pd.DataFrame:
    """Correct predictions of each group, for runs that recorded no table of groups; their losses are not known."""
    models = classes[["run", *MODEL, "seed", "level", "sparsity"]].drop_duplicates().astype({"run": str})
    parts = []
    for run in models["run"].unique():
        examples = demo.study.examples(examples_name(demo.study.run_record(run).spec))
        levels, predictions = demo.study.prediction_matrix(run)
        correct = pd.DataFrame((predictions == examples["label"].to_numpy()).T, columns=list(levels))
        counts = correct.groupby(examples[grouping].to_numpy()).agg(["size", "sum"]).stack(0, future_stack=True)
        parts.append(counts.rename_axis(["group", "level"]).reset_index().assign(run=run))
    table = pd.concat(parts).rename(columns={"size": "test_n", "sum": "test_correct"})
    return models.merge(table, on=["run", "level"]).assign(grouping=grouping, test_loss=float("nan"))


def _shown(curves: pd.DataFrame) -> list[pd.Series]:
    """The rows at the sparsities that are shown, arm by arm."""
    rows = curves[(curves["level"] > 0) & (100 * curves["sparsity"]).round().isin(SHOWN)]
    return [row for _, row in rows.sort_values(["mitigation", "level"]).iterrows()]


def _numbers(row: pd.Series, column: str) -> tuple[str, str, str]:
    """Sparsity, accuracy and the quantity with its interval."""
    interval = _interval(row[column], row[f"{column}_low"], row[f"{column}_high"])
    return f"{100 * row['sparsity']:.0f} %", formats.percent(row["accuracy"]), interval


def _grouping(arm: str) -> str:
    """The grouping that an arm looks at, from its name."""
    return arm.partition(", by ")[2] or "class"


def _direction(changes: pd.DataFrame, place: tuple[object, object], column: str) -> list[int]:
    """-1 where the interval of a change lies below 0, 1 above, 0 around it; nothing where there is no interval."""
    if place not in changes.index:
        return []
    low, high = changes.loc[[place]].iloc[0][[f"{column}_low", f"{column}_high"]]
    return [int(low > 0) - int(high < 0)] if low == low else []


def _change(changes: pd.DataFrame, place: tuple[object, object], column: str) -> str:
    if place not in changes.index:
        return ""
    row = changes.loc[[place]].iloc[0]
    return _interval(row[column], row[f"{column}_low"], row[f"{column}_high"], "+")


def _interval(mean: float, low: float, high: float, sign: str = "") -> str:
    if mean != mean:
        return UNRECORDED
    return f"{mean:{sign}.3f}" + (f" ({low:{sign}.3f} to {high:{sign}.3f})" if low == low else "")
