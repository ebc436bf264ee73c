"""Charts of the Frontier page: operating points with the frontier, the classes of the choice, the weights that win."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from engine.analysis.columns import VARIANT, is_mitigated
from engine.analysis.frontier.choice import Choice
from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import along, chart_layout, faded, ink, marker, sparsity_look, technique_colour
from pages.shared.names import legend_label, measure_name, point_label, treatment_name

WEIGHTS = (0.01, 1000.0)
HOVER = "%{text}<extra></extra>"
SILENT = {"hoverinfo": "skip"}


def frontier_chart(
    points: pd.DataFrame, choice: Choice, texts: Sequence[str], dark: bool, scale: str, second: Choice | None = None
) -> Drawing:
    """Sparsity against unfairness: survivors, the frontier, the choice, its runner-up, and equal value through it."""
    x = along(points["sparsity"].to_numpy(float), scale)
    y = points[choice.measure].to_numpy(float)
    traces = _survivor_traces(points, choice, texts, x, y, dark)
    front = np.flatnonzero(choice.frontier)
    front = front[np.argsort(points["sparsity"].to_numpy()[front], kind="stable")]
    line = {"color": ink(dark), "width": 1.5, "dash": "dot"}
    traces.append({"x": x[front], "y": y[front], "mode": "lines", "name": "Frontier", "line": line, **SILENT})
    if choice.chosen is not None:
        traces.append(_indifference_trace(points, choice, dark, scale))
        marks = [(choice.runner_up, "Runner-up", "circle-open", 20)]
        marks += [(second.chosen, "Second stakeholder", "star-diamond", 17)] if second is not None else []
        marks += [(choice.chosen, "Chosen", "star", 20)]
        for at, name, symbol, size in marks:
            if at is not None:
                mark = {"symbol": symbol, "size": size, "color": ink(dark), "line": {"width": 2, "color": ink(dark)}}
                shown = {"x": [x[at]], "y": [y[at]], "text": [texts[at]], "marker": mark}
                traces.append({"mode": "markers", "name": name, "hovertemplate": HOVER, **shown})
    in_points = formats.in_points(choice.measure)
    axis = {"title": f"unfairness: {measure_name(choice.measure)}", "tickformat": ".1%" if in_points else ""}
    layout = chart_layout(520, xaxis=sparsity_look(scale), yaxis=axis)
    layout["legend"]["font"] = {"size": 11}
    return Drawing([{"type": "scatter", **trace} for trace in traces], layout)


def _survivor_traces(
    points: pd.DataFrame, choice: Choice, texts: Sequence[str], x: np.ndarray, y: np.ndarray, dark: bool
) -> list[dict[str, Any]]:
    """The points that reach the threshold, one trace for each technique, treatment and mitigation.

    Mitigated ones are outlined. The legend names techniques by colour and treatments by shape, to stay short.
    """
    names = list(zip(*(points[name].tolist() for name in VARIANT), strict=True))
    members: dict[tuple[str, str, str], list[int]] = {}
    for i in np.flatnonzero(choice.survivors & ~np.isnan(y)).tolist():
        members.setdefault(names[i], []).append(i)
    traces: list[dict[str, Any]] = []
    for (technique, treatment, mitigation), at in members.items():
        dots = {
            "color": technique_colour(technique),
            "symbol": marker(treatment),
            "size": np.where(choice.frontier[at], 11, 8),
            "opacity": np.where(choice.frontier[at], 1.0, 0.35),
            "line": {"width": 2 if is_mitigated(mitigation) else 0, "color": ink(dark)},
        }
        shown = {"x": x[at], "y": y[at], "text": [texts[i] for i in at], "marker": dots}
        name = legend_label(technique, mitigation)
        legend = {"legendgroup": name, "showlegend": name not in {trace["name"] for trace in traces}}
        traces.append({"mode": "markers", "name": name, "hovertemplate": HOVER, **shown, **legend})
    ways = dict.fromkeys(treatment for _, treatment, _ in members)
    for way in ways if len(ways) > 1 else ():
        shape = {"symbol": marker(way), "size": 8, "color": faded(ink(dark), 0.6)}
        name = formats.chart_text(treatment_name(way))
        traces.append({"mode": "markers", "name": name, "x": [None], "y": [None], "marker": shape, **SILENT})
    return traces


def _indifference_trace(points: pd.DataFrame, choice: Choice, dark: bool, scale: str) -> dict[str, Any]:
    """The line of points that would be worth as much as the chosen one: unfairness = (sparsity - value) / weight."""
    sparsity = points["sparsity"].to_numpy(float)[choice.survivors]
    most = np.fmax.reduce(points[choice.measure].to_numpy(float)[choice.survivors])
    low, high = sparsity.min(), sparsity.max()
    grid = np.linspace(low, high, 60) if high > low else np.array([low])
    line = (grid - choice.values[choice.chosen]) / choice.weight
    inside = (line >= 0) & (line <= 1.1 * most)
    drawn = {"x": along(grid[inside], scale), "y": line[inside], "line": {"color": faded(ink(dark), 0.45), "width": 1}}
    return {"mode": "lines", "name": "Equal value", **drawn, **SILENT}


def class_chart(table: pd.DataFrame, dark: bool) -> Drawing:
    """Each class's accuracy, unpruned and chosen, the largest loss on top; columns name, dense, accuracy, n.

    Unpruned is the column `control` where there is one, networks that trained as long; else `dense`.
    """
    unpruned, label = ("control", "Unpruned") if "control" in table else ("dense", "Dense")
    rows = table.assign(before=table[unpruned], change=table["accuracy"] - table[unpruned])
    rows = rows.sort_values("change", ascending=False)
    names = [formats.chart_text(name) for name in rows["name"]]
    text = [
        f"<b>{name}</b><br>{label.lower()} {formats.percent(row.before)}, chosen {formats.percent(row.accuracy)}"
        f"<br>{formats.points(row.change)}, {formats.count(row.n)} examples"
        for name, row in zip(names, rows.itertuples(), strict=True)
    ]
    between = {
        "x": [x for row in rows.itertuples() for x in (row.before, row.accuracy, None)],
        "y": [y for name in names for y in (name, name, None)],
        "line": {"color": faded(ink(dark), 0.35), "width": 2},
    }
    shared = {"type": "scatter", "y": names, "mode": "markers", "text": text, "hovertemplate": HOVER}
    hollow = {"symbol": "circle-open", "size": 9, "color": ink(dark)}
    traces = [
        {"type": "scatter", "mode": "lines", "showlegend": False, **between, **SILENT},
        {"x": rows["before"].to_numpy(), "name": label, "marker": hollow, **shared},
        {"x": rows["accuracy"].to_numpy(), "name": "Chosen", "marker": {"size": 10, "color": "#D55E00"}, **shared},
    ]
    height = max(420, min(520, 120 + 36 * len(names)))
    axes = {"xaxis": {"title": "class accuracy", "tickformat": ".0%"}, "yaxis": {"type": "category"}}
    return Drawing(traces, chart_layout(height) | axes)


def weight_strip(wins: pd.DataFrame, points: pd.DataFrame, weights: Sequence[float], dark: bool) -> Drawing:
    """The weight axis with the stretch on which each point wins, and where the stakeholders stand."""
    low, high = wins["low"].clip(lower=WEIGHTS[0]).to_numpy(float), wins["high"].clip(upper=WEIGHTS[1]).to_numpy(float)
    wide = high > low
    at = wins["position"].to_numpy()[wide]
    told = {n: points[n].to_numpy()[at] for n in ("technique", "treatment", "mitigation", "level", "sparsity")}
    won = [dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True)]
    length = np.log10(high / low)[wide]
    stretches = zip(wins["low"].to_numpy()[wide], wins["high"].to_numpy()[wide], strict=True)
    names = ["dense" if point["level"] == 0 else formats.sparsity(point["sparsity"]) for point in won]
    bars = {
        "x": length,
        "base": np.log10(low[wide]),
        "y": ["wins"] * len(won),
        "marker": {
            "color": ["#BBBBBB" if p["level"] == 0 else technique_colour(str(p["technique"])) for p in won],
            "line": {"color": "#FFFFFF", "width": 1},
        },
        "text": [name if length > 0.35 else "" for name, length in zip(names, length, strict=True)],
        "hovertext": [
            f"<b>{point_label(point)}</b><br>level {point['level']}, {formats.sparsity(point['sparsity'])}"
            f"<br>wins from weight {formats.number(first)} to {formats.number(last)}"
            for point, (first, last) in zip(won, stretches, strict=True)
        ],
    }
    bars |= {"orientation": "h", "textposition": "inside", "insidetextanchor": "middle", "showlegend": False}
    lines = [
        {"type": "line", "yref": "y domain", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": {"width": 3, "dash": dash}}
        for at, dash in zip(np.log10(weights), ("solid", "dot"), strict=False)
    ]
    ticks = [0.01, 0.1, 1, 10, 100, 1000]
    axis = {
        "range": [np.log10(w) for w in WEIGHTS],
        "tickvals": np.log10(ticks),
        "ticktext": [f"{tick:g}" for tick in ticks],
        "title": "fairness counts so many times as much as sparsity",
    }
    layout = chart_layout(
        130,
        barmode="overlay",
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        shapes=[line | {"line": line["line"] | {"color": ink(dark)}} for line in lines],
        xaxis=axis,
        yaxis={"visible": False},
    )
    return Drawing([{"type": "bar", "hovertemplate": "%{hovertext}<extra></extra>", **bars}], layout)


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
