"""What stands beside the Frontier's first chart: the groups before and after, and the weights that win."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import chart_layout, faded, ink, technique_colour
from pages.shared.names import point_label, technique_name
from pages.views.frontier.charts import HOVER, SILENT, STEADY

WEIGHTS = (0.01, 1000.0)
MOST_GROUPS = 14
"""Groups that have room; of more, those that lose most are drawn."""


def group_chart(table: pd.DataFrame, dark: bool, word: str = "class", least: float | None = None) -> Drawing:
    """Each group's accuracy, unpruned and chosen, the largest loss on top; columns name, dense, accuracy, low, high, n.

    Unpruned is the column `control` where there is one, networks that trained as long; else `dense`. Whiskers are 95 %
    over seeds. The axis begins at `least`, whatever is chosen, so that it holds still.
    """
    unpruned, label = ("control", "Unpruned") if "control" in table else ("dense", "Dense")
    rows = table.assign(before=table[unpruned], change=table["accuracy"] - table[unpruned])
    rows = rows.sort_values("change", ascending=True).head(MOST_GROUPS)[::-1]
    columns = [rows[name].tolist() for name in ("name", "n", "before", "accuracy", "low", "high", "change")]
    names = [f"{formats.chart_text(name)} ({formats.count(n)})" for name, n in zip(*columns[:2], strict=True)]
    text = [
        f"<b>{formats.chart_text(name)}</b><br>{label.lower()} {formats.percent(was)}, chosen {formats.percent(now)}"
        f"{_between(low, high)}<br>{formats.points(change)}, {formats.count(n)} examples"
        for name, n, was, now, low, high, change in zip(*columns, strict=True)
    ]
    between = {
        "x": [x for pair in zip(columns[2], columns[3], strict=True) for x in (*pair, None)],
        "y": [y for name in names for y in (name, name, None)],
        "line": {"color": faded(ink(dark), 0.5), "width": 2},
    }
    shared = {"type": "scatter", "y": names, "mode": "markers", "text": text, "hovertemplate": HOVER}
    hollow = {"symbol": "circle-open", "size": 9, "color": ink(dark)}
    after, low, high = (rows[name].to_numpy(float) for name in ("accuracy", "low", "high"))
    bars = {"array": np.minimum(high, 1) - after, "arrayminus": after - np.maximum(low, 0), "symmetric": False}
    whiskers = {"type": "data", **bars, "color": "#D55E00", "thickness": 1.2, "width": 3}
    if not np.isfinite(low).all():
        whiskers = {"visible": False}
    dots = {"marker": {"size": 10, "color": "#D55E00"}, "error_x": whiskers}
    traces = [
        {"type": "scatter", "mode": "lines", "showlegend": False, **between, **SILENT},
        {"x": rows["before"].to_numpy(), "name": label, "marker": hollow, **shared},
        {"x": after, "name": "Chosen", **dots, **shared},
    ]
    height = max(420, 120 + 24 * len(names))
    lowest = np.nanmin([np.nan if least is None else least, *rows["accuracy"], *rows["before"]]) if len(rows) else 0.0
    begin = max(0.0, np.floor(20 * (0.0 if np.isnan(lowest) else lowest - 0.02)) / 20)
    axes = {
        "xaxis": {"title": f"accuracy by {formats.chart_text(word)}", "tickformat": ".0%", "range": [begin, 1.0]},
        "yaxis": {"type": "category", "automargin": True},
    }
    beside = {"annotations": _changes(rows, names, dark), "margin": {"l": 10, "r": 70, "t": 30, "b": 10}}
    return Drawing(traces, chart_layout(height) | beside | axes)


def _changes(rows: pd.DataFrame, names: list[str], dark: bool) -> list[dict[str, Any]]:
    """What each group gains or loses, written in a column right of the chart, where nothing is drawn."""
    look = {"showarrow": False, "font": {"size": 12, "color": ink(dark)}, "xanchor": "left", "xref": "paper", "x": 1.02}
    told = zip(names, rows["change"], strict=True)
    return [{"y": name, "text": formats.points(change), **look} for name, change in told]


def _between(low: float, high: float) -> str:
    half = formats.plus_minus(low, high)
    return f" {half}" if half else ""


def weight_strip(
    wins: pd.DataFrame, points: pd.DataFrame, weights: Sequence[float], dark: bool, middle: int | None = None
) -> Drawing:
    """The weight axis with the stretch on which each point wins, and where the weights chosen stand.

    A stretch with room has its technique and sparsity written in it, a narrow one its sparsity; every one says it when
    pointed at and opens its card when clicked. That of the point at the place `middle`, a compromise, is outlined.
    """
    low, high = wins["low"].clip(lower=WEIGHTS[0]).to_numpy(float), wins["high"].clip(upper=WEIGHTS[1]).to_numpy(float)
    wide = high > low
    at = wins["position"].to_numpy()[wide]
    told = {n: points[n].to_numpy()[at] for n in ("technique", "treatment", "mitigation", "level", "sparsity")}
    won = [dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True)]
    length, is_middle_of = np.log10(high / low)[wide], [place == middle for place in at.tolist()]
    stretches = zip(wins["low"].to_numpy()[wide], wins["high"].to_numpy()[wide], strict=True)
    bars = {
        "x": length,
        "base": np.log10(low[wide]),
        "y": ["wins"] * len(won),
        "marker": {
            "color": ["#BBBBBB" if p["level"] == 0 else technique_colour(str(p["technique"])) for p in won],
            "line": {
                "color": [ink(dark) if place == middle else ink(not dark) for place in at.tolist()],
                "width": [3 if place == middle else 1.5 for place in at.tolist()],
            },
        },
        "text": [_stretch_label(point, size) for point, size in zip(won, length.tolist(), strict=True)],
        "textfont": {"size": 12},
        "hovertext": [
            f"<b>{point_label(point)}</b><br>level {point['level']}, {formats.sparsity(point['sparsity'])} sparsity"
            f"<br>wins from weight {formats.number(first)} to {formats.number(last)}{'<br>the compromise' * is_middle}"
            for point, (first, last), is_middle in zip(won, stretches, is_middle_of, strict=True)
        ],
        "customdata": points["point"].to_numpy()[at].tolist() if "point" in points else None,
    }
    bars |= {"orientation": "h", "textposition": "inside", "insidetextanchor": "middle", "showlegend": False}
    marks = {
        "type": "scatter",
        "x": np.log10(weights),
        "y": ["wins"] * len(weights),
        "mode": "markers+text" if len(weights) > 1 else "markers",
        "marker": {"symbol": "triangle-down", "size": 14, "color": ink(dark), "line": {"width": 1}},
        "text": ["first", "second"][: len(weights)],
        "textposition": "middle right",
        "hovertext": [f"weight {formats.number(weight)}" for weight in weights],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
        "yaxis": "y2",
    }
    ticks = [0.01, 0.1, 1, 10, 100, 1000]
    axis = {
        "range": [np.log10(w) for w in WEIGHTS],
        "tickvals": np.log10(ticks),
        "ticktext": [f"{tick:g}" for tick in ticks],
        "title": "points of sparsity that 1 point of gap is worth",
    }
    layout = chart_layout(
        160,
        barmode="overlay",
        uniformtext={"mode": "hide", "minsize": 10},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis=axis,
        yaxis={"visible": False, "domain": [0, 0.78]},
        yaxis2={"visible": False, "domain": [0.78, 1], "anchor": "x", "type": "category"},
    )
    bars |= {"type": "bar", "hovertemplate": "%{hovertext}<extra></extra>", **STEADY}
    bars["unselected"] = STEADY["unselected"] | {"textfont": {"color": "#000000"}}
    return Drawing([bars, marks | STEADY], layout)


def _stretch_label(point: dict[str, object], length: float) -> str:
    """What stands in a stretch: technique and sparsity, or the sparsity alone; upright or not at all without room."""
    if point["level"] == 0:
        return "dense"
    sparsity = formats.sparsity(float(str(point["sparsity"])))
    if length > 1.3:
        return f"{formats.chart_text(technique_name(str(point['technique'])))}<br>{sparsity}"
    return sparsity
