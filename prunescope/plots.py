"""The pages' charts as Plotly figures: `import prunescope as ps`, then `ps.plots.frontier(study)`.

Settings such as `dataset="qmnist"` or `technique="l1_structured"` say which runs are drawn. Where several experiments
are left, which are never averaged, it is the one of most models.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from engine.analysis.columns import CLASS, EXPERIMENT, VARIANT
from engine.analysis.curves.class_curves import class_curves as mean_curves
from engine.analysis.curves.first_to_fall import first_fall
from engine.analysis.example_columns import attribute_columns, member_columns
from engine.analysis.frontier.choice import choose
from engine.analysis.groupings import CROSSED
from engine.analysis.members.accuracy import hit_hardest, member_accuracy
from engine.analysis.unfairness import UNFAIRNESS
from engine.api.fair_between import study_points
from engine.errors import PruneScopeError, unknown_name
from engine.store.study import Study, examples_name
from pages.shared import formats
from pages.shared.charts.class_look import ClassLook
from pages.shared.names import point_hovers
from pages.views.class_curves.charts import class_chart
from pages.views.class_curves.words import in_spotlight
from pages.views.frontier.charts import frontier_chart
from pages.views.writers.charts import Look, before_after, series_colours
from pages.views.writers.words import SMALL, attribute_label, member_words, series_columns

WITHIN = 0.01
"""How far below the unpruned networks the threshold lies, unless another is asked for."""


def frontier(
    study: Study,
    *,
    fair_between: str | Sequence[str] = CLASS,
    threshold: float | None = None,
    weight: float = 10.0,
    measure: str = "max_min",
    scale: str = "kept",
    dark: bool = False,
    **settings: str,
) -> go.Figure:
    """Sparsity against unfairness: the points that reach the accuracy threshold, the frontier, and the choice.

    Without a threshold it is one point of accuracy below the unpruned networks. `scale` is "kept" or "linear".
    """
    points = _one_experiment(study_points(study, fair_between), settings).reset_index(drop=True)
    if measure not in points:
        raise unknown_name(measure, [name for name in points if f"{name}_sd" in points], "measure")
    if threshold is None:
        unpruned = points.loc[points["level"] == 0, "accuracy"]
        threshold = float((unpruned if len(unpruned) else points["accuracy"]).max()) - WITHIN
    choice = choose(points, threshold, weight, measure)
    nobody = pd.DataFrame({"point": [], "name": [], "accuracy": []})
    drawing = frontier_chart(points, choice, point_hovers(points, measure, nobody), dark, scale)
    figure = drawing.figure
    between = fair_between if isinstance(fair_between, str) else CROSSED.join(fair_between)
    if between != CLASS:
        label = f"{UNFAIRNESS[measure].label_between(between)}, between {between}"
        figure.update_yaxes(title_text=formats.chart_text(f"unfairness: {label}"))
    return figure


def class_curves(
    study: Study,
    *,
    spotlight: int | None = None,
    bands: bool = True,
    scale: str = "kept",
    dark: bool = False,
    **settings: str,
) -> go.Figure:
    """Accuracy of each class against sparsity, means over seeds; the class that falls first is drawn thick."""
    classes = _one_variant(_one_experiment(study.classes(), settings))
    curves = mean_curves(classes)
    facts = study.class_facts(_example_set(study, classes))
    dense = curves.drop_duplicates("class").set_index("class")["dense_accuracy"]
    names = dict(zip(facts["class"].astype(int), facts["name"].astype(str), strict=True))
    look = ClassLook(names, {int(number): float(value) for number, value in dense.items()}, scale, dark)
    chosen = in_spotlight(curves, first_fall(curves)) if spotlight is None else spotlight
    return class_chart(curves, look, chosen, bands).figure


def writers(
    study: Study, *, by: str | None = None, level: int | None = None, dark: bool = False, **settings: str
) -> go.Figure:
    """Accuracy of each writer, or other member of the column `by`, before against after pruning, means over seeds.

    Without a level it is the sparsest.
    """
    levels = _one_variant(_one_experiment(study.levels(), settings))
    name = _example_set(study, levels)
    examples = study.examples(name)
    columns = member_columns(examples)
    by = by or next(iter(columns), None)
    if by is None or by not in examples:
        allowed = [str(column) for column in examples if column not in ("example", "example_id", "label")]
        raise (
            unknown_name(by, allowed, f"column of {name}")
            if by
            else PruneScopeError(
                f"The examples of {name} name no writers; say by= with one of {', '.join(allowed) or 'no column'}."
            )
        )
    level = int(levels["level"].max()) if level is None else level
    before, after = _answers(study, levels, level)
    table = member_accuracy(examples, before, after, by)
    series = next(iter(series_columns(table)), None)
    words, attribute = member_words(by, str(levels["dataset"].iloc[0])), next(iter(attribute_columns(examples)), None)
    hardest = hit_hardest(table, 1)[by]
    look = Look(
        member=by,
        word=formats.chart_text(words.member),
        members=formats.chart_text(words.members),
        examples=words.examples,
        series=series,
        colour=series or attribute or "n",
        attribute=attribute,
        attribute_label=formats.chart_text(attribute_label(attribute or "")),
        colour_label=formats.chart_text(attribute_label(series or attribute or "n")),
        chosen=str(hardest.iloc[0]) if len(hardest) else None,
        small=SMALL,
        dark=dark,
    )
    return before_after(table, look, series_colours(table, series, dark)).figure


def _one_experiment(rows: pd.DataFrame, settings: dict[str, str]) -> pd.DataFrame:
    """The rows of the experiment of most rows, among those with these settings."""
    for name, value in settings.items():
        if name not in (*EXPERIMENT, *VARIANT):
            raise unknown_name(name, (*EXPERIMENT, *VARIANT), "setting of a plot")
        there = sorted(map(str, rows[name].unique()))
        if value not in there:
            raise unknown_name(str(value), there, f"{name} among these runs")
        rows = rows[(rows[name] == value).to_numpy()]
    return _most(rows, EXPERIMENT)


def _one_variant(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the technique, treatment and mitigation of most rows."""
    return _most(rows, VARIANT)


def _most(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    if rows.empty:
        raise PruneScopeError("There is no run to draw; the study has none with these settings.")
    number = rows.groupby(list(columns), observed=True, dropna=False).ngroup()
    return rows[(number == number.mode().iloc[0]).to_numpy()].reset_index(drop=True)


def _example_set(study: Study, rows: pd.DataFrame) -> str:
    return examples_name(study.run_record(str(rows["run"].iloc[0])).spec)


def _answers(study: Study, levels: pd.DataFrame, level: int) -> tuple[np.ndarray, np.ndarray]:
    """What the runs that have both answered when dense and at this level, (runs, examples) each."""
    pairs = []
    for run in levels["run"].astype(str).unique():
        numbers, answers = study.prediction_matrix(run)
        if {0, level} <= set(numbers.tolist()):
            pairs.append((answers[numbers == 0][0], answers[numbers == level][0]))
    if not pairs:
        raise PruneScopeError(
            f"No run has both a dense level and level {level}; there are {sorted(set(levels['level']))}."
        )
    before, after = (np.stack(side) for side in zip(*pairs, strict=True))
    return before, after
