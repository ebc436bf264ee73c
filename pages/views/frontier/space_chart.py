"""Accuracy, sparsity and unfairness at once, in three dimensions."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from engine.analysis.columns import VARIANT
from engine.analysis.frontier.choice import Choice
from pages.shared.charts.style import chart_layout, ink, technique_colour
from pages.shared.names import legend_label, measure_name
from pages.views.frontier.charts import HOVER, SILENT


def space_chart(points: pd.DataFrame, choice: Choice, texts: Sequence[str], dark: bool) -> go.Figure:
    """Accuracy, sparsity and unfairness in three dimensions; the frontier's points are crossed."""
    places = dict(zip("xyz", ("sparsity", choice.measure, "accuracy"), strict=True))
    keys = points[list(VARIANT)].astype(str)
    traces = []
    for (technique, treatment, mitigation), rows in keys.groupby(list(keys), sort=False):
        at = rows.index[points["level"].iloc[rows.index].argsort(kind="stable")]
        colour = technique_colour(technique)
        drawn = {"marker": {"size": 3, "color": colour}, "line": {"color": colour, "width": 3}}
        shown = {axis: points[name].to_numpy()[at] for axis, name in places.items()} | {"text": [texts[i] for i in at]}
        name = legend_label(technique, mitigation, treatment)
        traces.append({"mode": "lines+markers", "name": name, **shown, **drawn})
    crossed = {axis: points[name].to_numpy()[choice.frontier] for axis, name in places.items()}
    crosses = {"marker": {"symbol": "x", "size": 5, "color": ink(dark)}}
    front = {"type": "scatter3d", "mode": "markers", "name": "Frontier", **crossed, **crosses, **SILENT}
    scene = {
        "xaxis": {"title": "sparsity", "tickformat": ".0%"},
        "yaxis": {"title": measure_name(choice.measure)},
        "zaxis": {"title": "accuracy", "tickformat": ".0%"},
    }
    layout = chart_layout(560, margin={"l": 0, "r": 0, "t": 0, "b": 0}, scene=scene)
    return go.Figure([*({"type": "scatter3d", "hovertemplate": HOVER, **trace} for trace in traces), front], layout)
