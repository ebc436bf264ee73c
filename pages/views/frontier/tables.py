"""Tables of the Frontier page, and its decision record filled with what the page shows."""

from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.binary_rates import MEASURES
from engine.analysis.columns import CLASS, MODEL, VARIANT
from engine.analysis.curves.baseline import CONTROL
from engine.analysis.example_columns import group_columns
from engine.analysis.frontier.floors import FLOORS
from engine.analysis.frontier.point_losses import GROUP_LOSSES, group_losses
from engine.analysis.frontier.promised_points import PromisedPoints
from engine.analysis.group_counts import group_counts
from engine.analysis.groupings import CROSSED
from engine.errors import PruneScopeError
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.pairs import Asked, pair
from pages.shared.frame import Frame
from pages.shared.names import point_short, technique_name, treatment_name
from pages.shared.training_note import training_sentence
from pages.views.frontier.controls import FLOOR_KEYS, Question
from pages.views.frontier.words import between_name, weight_text


def group_table(frame: Frame, point: pd.Series) -> pd.DataFrame:
    """Each group of few members at a point: grouping, group, n, dense, accuracy, low, high, change.

    Where the frame's baseline is the control and the point has one, `control` stands beside dense, as in `class_rows`.
    """
    examples = catalog.examples(frame.source, catalog.example_set(frame.source, frame.experiment))
    groupings = group_columns(examples)
    models, right = [], []
    runs = tuple(runs_of(frame, point)["run"].astype(str)) if groupings else ()
    for run in runs:
        levels, predicted = catalog.predictions(frame.source, run)
        for at in np.flatnonzero(np.isin(levels, (0, point["level"]))):
            models.append((run, levels[at]))
            right.append(predicted[at] == examples["label"].to_numpy())
    if not models:
        return pd.DataFrame(columns=list(GROUP_LOSSES))
    counts = group_counts(examples, pd.DataFrame(models, columns=["run", "level"]), np.stack(right), groupings)
    beside, controls = pair(Asked(frame.source, frame.experiment, runs, frame.baseline), int(point["level"])), None
    if beside is not None and beside.kind == CONTROL:
        right_before = beside.before == examples["label"].to_numpy()
        controls = group_counts(examples, pd.DataFrame({"run": beside.runs}), right_before, groupings)
    return group_losses(counts, int(point["level"]), controls)


def runs_of(frame: Frame, point: pd.Series) -> pd.DataFrame:
    """The runs whose mean a point is."""
    levels = catalog.levels(frame.source, frame.experiment)
    same = levels["level"] == point["level"]
    for name in MODEL:
        same &= levels[name] == point[name]
    return levels[same].sort_values("seed")


def measures_table(points: pd.DataFrame, choices: pd.DataFrame, grouping: str = CLASS) -> pd.DataFrame:
    """The choice under each measure between the groups of a column, in words."""
    rows, named = [], {name: points[name].to_numpy() for name in (*VARIANT, "level")}
    for row in choices.itertuples():
        measure = MEASURES[row.measure].label_between(grouping)
        if row.chosen is pd.NA:
            continue
        name = point_short({column: values[row.chosen] for column, values in named.items()})
        gap = formats.unfairness(row.unfairness, row.measure)
        rows.append((measure, name, formats.sparsity(row.sparsity), formats.percent(row.accuracy), gap))
    return pd.DataFrame(rows, columns=["measure", "chosen", "sparsity", "accuracy", "unfairness"])


def measures_left_out(choices: pd.DataFrame, grouping: str = CLASS) -> str:
    """The measures by which nothing can be chosen, and why; empty where there are none."""
    rows = [row for row in choices.itertuples() if row.chosen is pd.NA]
    return " ".join(f"None by {MEASURES[row.measure].label_between(grouping)}: {row.reason}." for row in rows)


def technique_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Is this technique ever Pareto-optimal: the rows of `techniques_on_front` in words, those that are first."""
    rows = verdicts.sort_values(["is_optimal", "n_on_front"], ascending=False, kind="stable")
    spans = [
        formats.MISSING if not n else formats.sparsity(low) if n == 1 else f"{_ends(low, high)} ({n} levels)"
        for low, high, n in zip(rows["lowest"], rows["highest"], rows["sparsities"].map(len), strict=True)
    ]
    return pd.DataFrame(
        {
            "technique": [technique_name(str(key)) for key in rows["technique"]],
            "ever Pareto-optimal": ["yes" if yes else "never" for yes in rows["is_optimal"]],
            "at sparsities": spans,
            "networks": [f"{a} of {b}" for a, b in zip(rows["n_on_front"], rows["n_points"], strict=True)],
        }
    )


def _ends(low: float, high: float) -> str:
    return f"{formats.sparsity(low)} to {formats.sparsity(high)}"


def promise_table(points: pd.DataFrame, found: PromisedPoints) -> pd.DataFrame:
    """Of each technique and treatment the sparsest network that keeps the promise, and who stopped the next."""
    sparsity = points["sparsity"].to_numpy(float)
    table = found.table.assign(at=[-1.0 if place is pd.NA else sparsity[place] for place in found.table["kept"]])
    rows = table.sort_values("at", ascending=False, kind="stable")
    shown = [formats.MISSING if place is pd.NA else formats.sparsity(sparsity[place]) for place in rows["kept"]]
    stops = [formats.MISSING if place is pd.NA else formats.sparsity(sparsity[place]) for place in rows["stopped"]]
    return pd.DataFrame(
        {
            "technique": [technique_name(str(key)) for key in rows["technique"]],
            "treatment": [treatment_name(str(key)) for key in rows["treatment"]],
            "promised up to": shown,
            "fails at": stops,
            "because of": rows["group"].to_numpy(),
            "p": rows["p"].to_numpy(),
        }
    )


def caution(frame: Frame, points: pd.DataFrame, point: pd.Series, measure: str) -> str:
    """What to know of a point before comparing it with the dense network; may be empty."""
    dense = points["level"] == 0
    for name in MODEL:
        dense &= points[name] == point[name]
    gain = float(point["accuracy"] - points.loc[dense, "accuracy"].mean())
    variant = (str(point["technique"]), str(point["treatment"]), str(point["mitigation"]))
    return training_sentence(frame.source, frame.experiment, variant, int(point["level"]), gain, measure)


def groups_of(frame: Frame, point: pd.Series) -> tuple[pd.DataFrame, str]:
    """The table of groups, and why it is empty where it is."""
    try:
        table = group_table(frame, point)
    except PruneScopeError as error:
        return pd.DataFrame(), f"the groups cannot be read: {error}".rstrip(".")
    return table, "" if len(table) else catalog.NO_GROUPS


def link(frame: Frame, asked: Question) -> str:
    """The address that shows this choice again, every setting written out."""
    base = str(st.context.url or "").split("?")[0]
    set_to = {name: FLOORS[name].factor * limit for name, limit in asked.limits.items()}
    own = {
        FLOOR_KEYS[name]: f"{limit:.4f}" if FLOORS[name].is_cost else f"{limit:.1f}" for name, limit in set_to.items()
    }
    own |= {"weight": weight_text(asked.weight), "rule": asked.rule.capitalize()}
    fixed: dict[str, list[str]] = frame.settings | {key: [text] for key, text in own.items()}
    columns = CROSSED.join(asked.between.columns)
    fixed["measure"] = [MEASURES[asked.measure].label_between(columns)]
    fixed["fair"] = [between_name(asked.between.columns)]
    others = {key: st.query_params.get_all(key) for key in st.query_params if key not in fixed}
    return f"{base}?{urlencode(fixed | others, doseq=True)}"
