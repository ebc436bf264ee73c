"""Charts of the Recall distortion page: boxes of alpha by ratio, and accuracy beside alpha."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from engine.analysis.distortion.verdicts import HelpfulRange
from pages.shared import formats
from pages.shared.charts.style import chart_layout, faded, ink

NEAR = (-0.5, 3.0)
"""The widest range of alpha that the near scale shows."""

FEW_BOXES = 40
"""Up to here every seed is drawn as a point."""

TALL = 420
"""Height of the charts in pixels."""

HOVER = "%{text}<extra></extra>"


@dataclass(frozen=True)
class Look:
    """How a series is drawn: its name as a chart shows it, colour and marker."""

    name: str
    colour: str
    symbol: str


def alpha_boxes(
    models: pd.DataFrame, cells: pd.DataFrame, looks: Mapping[str, Look], near: bool, dark: bool
) -> go.Figure:
    """Boxes of alpha over seeds by ratio and series, the mean with its interval, and the verdict's mark on top."""
    ratios = sorted(cells["ratio"].unique())
    ends = alpha_range(models["alpha"].to_numpy(float), near)
    width = 0.84 / max(len(looks), 1)
    few = len(cells) <= FEW_BOXES
    font = {"textfont": {"size": 16 if few else 11, "color": ink(dark)}}
    traces = []
    for place, (series, drawn) in enumerate(looks.items()):
        shift = (place - (len(looks) - 1) / 2) * width
        where = {ratio: index + shift for index, ratio in enumerate(ratios)}
        rows, means = models[models["series"] == series], cells[cells["series"] == series]
        at = means["ratio"].map(where)
        traces.append(_box(rows, rows["ratio"].map(where), drawn, width, few))
        traces += [_means(means, at, drawn, dark), _marks(means, at, drawn, ends) | font]
    x_axis = {
        "title": {"text": "pruning ratio (weights before / after)", "standoff": 14},
        "tickvals": list(range(len(ratios))),
        "ticktext": [formats.number(ratio) for ratio in ratios],
        "range": [-0.55, len(ratios) - 0.45],
    }
    plain = {"showgrid": False, "zeroline": False}
    y_axis = {"title": {"text": "alpha", "standoff": 14}, "range": list(ends), "zeroline": False}
    borders = [_line("x", place - 0.5, faded("#7F7F7F", 0.25)) for place in range(1, len(ratios))]
    shapes = [_line("y", 1, ink(dark), "dash"), *borders]
    return go.Figure(traces, chart_layout(TALL, xaxis=x_axis | plain, yaxis=y_axis, shapes=shapes))


def alpha_range(alpha: np.ndarray, near: bool) -> tuple[float, float]:
    """Ends of the axis of alpha with 1 inside and room for marks on top; the near one leaves out what is far off."""
    finite = alpha[np.isfinite(alpha)]
    low, high = float(finite.min(initial=0.9)), float(finite.max(initial=1.1))
    if near:
        low, high = max(low, NEAR[0]), min(high, NEAR[1])
    return low - 0.04 * (high - low), high + 0.14 * (high - low)


def accuracy_beside_alpha(cells: pd.DataFrame, helpful: HelpfulRange, drawn: Look, near: bool, dark: bool) -> go.Figure:
    """Accuracy (left) and alpha (right) of one series by ratio, dense accuracy and alpha = 1 on one horizontal line."""
    rows = cells.sort_values("ratio")
    dense = float(rows["dense_accuracy"].mean())
    reach_accuracy, reach_alpha = _reaches(rows, helpful, near)
    texts = ["<b>Dense network</b>", *(_cell_text(drawn, cell) for cell in rows.to_dict("records"))]
    accuracy = rows[["change", "change_low", "change_high"]].to_numpy(float) + dense
    alpha = rows[["alpha", "low", "high"]].to_numpy(float)
    x = [1.0, *rows["ratio"]]
    traces = [
        _curve(x, dense, accuracy, ink(dark)) | {"name": "Accuracy", "text": texts},
        _curve(x, 1.0, alpha, drawn.colour, drawn.symbol)
        | {"name": f"Alpha, {drawn.name}", "text": texts, "yaxis": "y2"},
    ]
    shapes = [_line("y", dense, ink(dark), "dash")]
    if helpful.cells:
        sides = {"x0": helpful.cells[0].ratio / 1.06, "x1": helpful.cells[-1].ratio * 1.06, "y0": 0, "y1": 1}
        fill = {"fillcolor": faded(drawn.colour, 0.15), "line": {"width": 0}, "layer": "below"}
        shapes.append({"type": "rect", "xref": "x", "yref": "paper", **sides, **fill})
    layout = chart_layout(
        TALL,
        xaxis=_ratio_axis(float(rows["ratio"].max())),
        yaxis=_value_axis("accuracy", dense, reach_accuracy, ink(dark)),
        yaxis2=_value_axis("alpha", 1.0, reach_alpha, drawn.colour) | {"overlaying": "y", "side": "right"},
        shapes=shapes,
    )
    return go.Figure(traces, layout)


def half(low: float, high: float) -> str:
    """Half of an interval as " ± 0.08"; empty where there is none."""
    return "" if not np.isfinite(low + high) else f" ± {formats.number((high - low) / 2, 2)}"


def _box(rows: pd.DataFrame, where: pd.Series, drawn: Look, width: float, all_points: bool) -> dict[str, Any]:
    return {
        "type": "box",
        "x": where.to_numpy(float),
        "y": rows["alpha"].to_numpy(float),
        "name": drawn.name,
        "width": 0.86 * width,
        "boxpoints": "all" if all_points else "outliers",
        "jitter": 0.4,
        "pointpos": 0,
        "marker": {"size": 4, "color": faded(drawn.colour, 0.7), "symbol": drawn.symbol},
        "line": {"color": drawn.colour, "width": 1.5},
        "fillcolor": faded(drawn.colour, 0.25),
        "hoveron": "points",
        "hovertemplate": HOVER,
        "text": [
            f"<b>{drawn.name}</b>, seed {row['seed']}<br>sparsity {formats.sparsity(row['sparsity'])}"
            f"<br>alpha {formats.number(row['alpha'])}<br>accuracy {formats.percent(row['accuracy'])}"
            for row in rows[["seed", "alpha", "accuracy", "sparsity"]].to_dict("records")
        ],
    }


def _means(cells: pd.DataFrame, where: pd.Series, drawn: Look, dark: bool) -> dict[str, Any]:
    """The means with their intervals."""
    alpha = cells["alpha"].to_numpy(float)
    ends = {"array": cells["high"].to_numpy(float) - alpha, "arrayminus": alpha - cells["low"].to_numpy(float)}
    return {
        "type": "scatter",
        "x": where.to_numpy(float),
        "y": alpha,
        "mode": "markers",
        "marker": {
            "symbol": drawn.symbol,
            "size": 7,
            "color": drawn.colour,
            "line": {"color": ink(dark), "width": 1.5},
        },
        "error_y": ends | {"color": faded(ink(dark), 0.7), "thickness": 1.5, "width": 4},
        "text": [_cell_text(drawn, cell) for cell in cells.to_dict("records")],
        "hovertemplate": HOVER,
        "showlegend": False,
    }


def _marks(cells: pd.DataFrame, where: pd.Series, drawn: Look, ends: tuple[float, float]) -> dict[str, Any]:
    """The marks of the verdicts, with an arrow where the mean is out of sight."""
    low, high = ends
    arrows = np.where(cells["alpha"] > high, "<br>↑", np.where(cells["alpha"] < low, "<br>↓", ""))
    return {
        "type": "scatter",
        "x": where.to_numpy(float),
        "y": np.full(len(cells), high - 0.01 * (high - low)),
        "mode": "text",
        "textposition": "bottom center",
        "text": [f"<b>{formats.chart_text(mark)}</b>{a}" for mark, a in zip(cells["mark"], arrows, strict=True)],
        "customdata": [_cell_text(drawn, cell) for cell in cells.to_dict("records")],
        "hovertemplate": "%{customdata}<extra></extra>",
        "showlegend": False,
    }


def _curve(x: list[float], start: float, values: np.ndarray, colour: str, symbol: str = "square") -> dict[str, Any]:
    """A line through the start (dense) and the first column of the values, with the other two as its interval."""
    mean, low, high = values.T
    ends = {"array": [np.nan, *(high - mean)], "arrayminus": [np.nan, *(mean - low)]}
    return {
        "type": "scatter",
        "x": x,
        "y": [start, *mean],
        "mode": "lines+markers",
        "line": {"color": colour, "width": 2.5},
        "marker": {"size": 8, "symbol": symbol, "color": colour},
        "error_y": ends | {"thickness": 1, "width": 3, "color": faded(colour, 0.45)},
        "hovertemplate": HOVER,
    }


def _cell_text(drawn: Look, cell: Mapping[Any, Any]) -> str:
    """What hover says of a series at a ratio."""
    lines = [
        f"<b>{drawn.name}</b>, ratio {formats.number(cell['ratio'])}, sparsity {formats.sparsity(cell['sparsity'])}",
        f"alpha {formats.number(cell['alpha'])}{half(cell['low'], cell['high'])}: {cell['verdict']}",
        f"all gaps {formats.number(cell['spread'])} times as wide as before",
        f"accuracy {formats.percent(cell['accuracy'])}, {formats.points(cell['change'])} since dense",
        formats.seeds(cell["n_seeds"]),
    ]
    if cell["n_collapsed"]:
        lines.append(f"{cell['n_collapsed']} of {cell['n_models']} models predict one class only")
    return "<br>".join(lines)


def _reaches(rows: pd.DataFrame, helpful: HelpfulRange, near: bool) -> tuple[float, float]:
    """How far the axes of accuracy and of alpha go from their line: to the first ratio beyond the range, or to all."""
    if near:
        end = helpful.beyond.ratio if helpful.beyond else np.inf
        rows = rows[(rows["ratio"] <= end).to_numpy()]
        names = (["change"], ["alpha"])
    else:
        names = (["change", "change_low", "change_high"], ["alpha", "low", "high"])
    accuracy, alpha = (
        np.abs(rows[columns].to_numpy(float) - centre) for columns, centre in zip(names, (0, 1), strict=True)
    )
    return 1.25 * np.fmax.reduce(accuracy, axis=None, initial=0.004), 1.25 * np.fmax.reduce(
        alpha, axis=None, initial=0.04
    )


def _ratio_axis(end: float) -> dict[str, Any]:
    ticks = [digit * 10**power for power in range(6) for digit in (1, 2, 5) if digit * 10**power <= 1.05 * end]
    return {
        "title": {"text": "pruning ratio (log)", "standoff": 14},
        "type": "log",
        "range": [-0.04 * np.log10(end), 1.06 * np.log10(end)],
        "tickvals": ticks,
        "ticktext": [formats.count(tick) for tick in ticks],
        "tickangle": 0,
        "showgrid": False,
    }


def _value_axis(title: str, centre: float, reach: float, colour: str) -> dict[str, Any]:
    """An axis that goes equally far up and down from its centre, with round steps from there."""
    power = 10 ** np.floor(np.log10(reach / 2))
    step = power * next(size for size in (5, 2.5, 2, 1) if size * power <= reach / 2)
    ticks = [float(centre + k * step) for k in range(-4, 5) if abs(k) * step <= reach]
    return {
        "title": {"text": title, "font": {"color": colour}, "standoff": 14},
        "range": [centre - reach, centre + reach],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [formats.percent(tick) if title == "accuracy" else formats.number(tick, 4) for tick in ticks],
        "showgrid": False,
        "zeroline": False,
    }


def _line(axis: str, at: float, colour: str, dash: str = "solid") -> dict[str, Any]:
    """A line through the whole chart at a value of an axis, "x" or "y"."""
    other = "y" if axis == "x" else "x"
    ends = {f"{axis}0": at, f"{axis}1": at, f"{other}0": 0, f"{other}1": 1}
    line = {"color": colour, "width": 1, "dash": dash}
    return {"type": "line", f"{axis}ref": axis, f"{other}ref": f"{other} domain", **ends, "line": line}
