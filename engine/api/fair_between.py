"""Unfairness between classes, or between the groups of any column: of one model's answers, or of a study's models."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from engine.analysis.columns import MODEL
from engine.analysis.frontier.points import operating_points
from engine.analysis.group_counts import group_counts
from engine.analysis.unfairness import UNFAIRNESS, unfairness_table
from engine.errors import PruneScopeError, unknown_name
from engine.store.study import Study, examples_name

CLASS = "class"
CROSSED = " x "
"""What stands between the names of columns that are crossed, and between those of their groups."""


def unfairness(
    labels: ArrayLike, predictions: ArrayLike, groups: ArrayLike | None = None, before: ArrayLike | None = None
) -> pd.Series:
    """Each measure's value for one model's answers: between its classes, or between groups where they are given.

    `before` are the unpruned network's answers to the same examples; measures of a change are NaN without them, and so
    are those that need losses.
    """
    truth = np.asarray(labels)
    sides = {
        "labels": truth,
        "predictions": np.asarray(predictions),
        "groups": np.asarray(truth if groups is None else groups),
    }
    if before is not None:
        sides["before"] = np.asarray(before)
    for name, values in sides.items():
        if values.shape != truth.shape or truth.ndim != 1:
            raise PruneScopeError(f"{name} has the shape {values.shape}; it should be that of labels, one row each.")
    answers = [sides["predictions"]] if before is None else [sides["before"], sides["predictions"]]
    models = pd.DataFrame({"run": "model", "level": range(2 - len(answers), 2)})
    right = np.stack([answer == truth for answer in answers])
    rows = group_counts(pd.DataFrame({"group": sides["groups"]}), models, right, ["group"])
    table = unfairness_table(_as_classes(rows.assign(**dict.fromkeys(MODEL, ""), seed=0, sparsity=0.0)))
    return table.iloc[-1][list(UNFAIRNESS)].astype(float).rename("unfairness")


def study_points(study: Study, fair_between: str | Sequence[str] = CLASS) -> pd.DataFrame:
    """The operating points of a study with every measure between classes, or between the groups of one column or more.

    Several columns are crossed. Runs whose examples lack a column are left out.
    """
    columns = (fair_between,) if isinstance(fair_between, str) else tuple(fair_between)
    levels = study.levels()
    if columns == (CLASS,):
        return operating_points(levels, unfairness_table(study.classes()))
    runs = levels[["run"]].drop_duplicates()["run"].astype(str)
    sets = {run: examples_name(study.run_record(run).spec) for run in runs}
    examples = {name: study.examples(name) for name in set(sets.values())}
    able = {name for name, table in examples.items() if set(columns) <= {*table.columns, CLASS}}
    if not able:
        named = sorted({str(c) for table in examples.values() for c in table if c not in ("example", "label")})
        lacking = next(c for c in columns if not any(c in {*table, CLASS} for table in examples.values()))
        raise unknown_name(lacking, (CLASS, *named), "group column of this study")
    groups = {name: crossed_groups(examples[name], columns) for name in able}
    parts = [
        _group_rows(study, run, examples[name]["label"].to_numpy(), groups[name])
        for run, name in sets.items()
        if name in able
    ]
    rows = levels.merge(pd.concat(parts, ignore_index=True), on=["run", "level"])
    kept = levels[levels["run"].isin(set(rows["run"]))]
    return operating_points(kept, unfairness_table(_as_classes(rows)))


def crossed_groups(examples: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """The group of each example where the columns are crossed, as text; missing where one of them is."""
    texts = [examples["label" if column == CLASS else column] for column in columns]
    crossed = texts[0].astype(str)
    for text in texts[1:]:
        crossed = crossed.str.cat(text.astype(str), sep=CROSSED)
    whole = np.logical_and.reduce([text.notna().to_numpy() for text in texts])
    return crossed.where(whole).astype("category").rename("group")


def _group_rows(study: Study, run: str, labels: np.ndarray, group: pd.Series) -> pd.DataFrame:
    """One row per level of a run and group: n, correct."""
    numbers, predictions = study.prediction_matrix(run)
    models = pd.DataFrame({"run": run, "level": numbers})
    return group_counts(group.to_frame(), models, predictions == labels, ["group"])


def _as_classes(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of groups in the columns of a table of classes; losses and predicted counts are unknown for groups."""
    return rows.rename(columns={"group": "class"}).assign(loss=np.nan, predicted=np.nan)
