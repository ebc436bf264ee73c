"""Charts of the Recall distortion page: boxes of alpha by ratio, and accuracy beside alpha."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.distortion.verdicts import HelpfulRange
from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import chart_layout, faded, ink

NEAR = (-0.5, 3.0)
"""The widest range of alpha that the near scale shows."""

FEW_BOXES = 40
"""Up to here every seed is drawn as a point."""

TALL = 420
"""Height of the charts in pixels."""


Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Look:
    """How a series is drawn: its name as a chart shows it, colour and marker."""

    name: str
    colour: str
    symbol: str


def alpha_boxes(
    models: pd.DataFrame, cells: pd.DataFrame, looks: Mapping[str, Look], near: bool, dark: bool
) -> Drawing:
    """Boxes of alpha over seeds by ratio and series, the mean with its interval, and the verdict's mark on top."""
    ratios = sorted(cells["ratio"].unique())
    ends = alpha_range(models["alpha"].to_numpy(float), near)
    width = 0.84 / max(len(looks), 1)
    few = len(cells) <= FEW_BOXES
    font = {"textfont": {"size": 16 if few else 11, "color": ink(dark)}}
    traces = []
    by_series = {str(series): _columns(rows) for series, rows in models.groupby("series", observed=True)}
    means_of = {str(series): _columns(rows) for series, rows in cells.groupby("series", observed=True)}
    for place, (series, drawn) in enumerate(looks.items()):
        if series not in by_series:
            continue
        shift = (place - (len(looks) - 1) / 2) * width
        rows, means = by_series[series], means_of[series]
        at = np.searchsorted(ratios, means["ratio"]) + shift
        traces.append(_box(rows, np.searchsorted(ratios, rows["ratio"]) + shift, drawn, width, few))
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
    return Drawing(traces, chart_layout(TALL, xaxis=x_axis | plain, yaxis=y_axis, shapes=shapes))


def alpha_range(alpha: np.ndarray, near: bool) -> tuple[float, float]:
    """Ends of the axis of alpha with 1 inside and room for marks on top; the near one leaves out what is far off."""
    finite = alpha[np.isfinite(alpha)]
    low, high = float(finite.min(initial=0.9)), float(finite.max(initial=1.1))
    if near:
        low, high = max(low, NEAR[0]), min(high, NEAR[1])
    return low - 0.04 * (high - low), high + 0.14 * (high - low)


def accuracy_beside_alpha(cells: pd.DataFrame, helpful: HelpfulRange, drawn: Look, near: bool, dark: bool) -> Drawing:
    """Accuracy (left) and alpha (right) of one series by ratio, dense accuracy and alpha = 1 on one horizontal line."""
    rows = cells.sort_values("ratio")
    dense = float(rows["dense_accuracy"].mean())
    reach_accuracy, reach_alpha = _reaches(rows, helpful, near)
    said = _cell_hover(_columns(rows), drawn)
    said["hovertemplate"] = ["<b>Dense network</b><extra></extra>", *[said["hovertemplate"]] * len(rows)]
    if "customdata" in said:
        said["customdata"] = [said["customdata"][0], *said["customdata"]]
    accuracy = rows[["change", "change_low", "change_high"]].to_numpy(float) + dense
    alpha = rows[["alpha", "low", "high"]].to_numpy(float)
    x = [1.0, *rows["ratio"]]
    traces = [
        _curve(x, dense, accuracy, ink(dark)) | {"name": "Accuracy"} | said,
        _curve(x, 1.0, alpha, drawn.colour, drawn.symbol) | {"name": f"Alpha, {drawn.name}", "yaxis": "y2"} | said,
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
    return Drawing(traces, layout)


def half(low: float, high: float) -> str:
    """Half of an interval as " ± 0.08"; empty where there is none."""
    return "" if not np.isfinite(low + high) else f" ± {formats.number((high - low) / 2, 2)}"


def _columns(rows: pd.DataFrame) -> Columns:
    return {str(name): rows[name].to_numpy() for name in rows}


def _box(rows: Columns, where: np.ndarray, drawn: Look, width: float, all_points: bool) -> dict[str, Any]:
    return {
        "type": "box",
        "x": where,
        "y": rows["alpha"],
        "name": drawn.name,
        "width": 0.86 * width,
        "boxpoints": "all" if all_points else "outliers",
        "jitter": 0.4,
        "pointpos": 0,
        "marker": {"size": 4, "color": faded(drawn.colour, 0.7), "symbol": drawn.symbol},
        "line": {"color": drawn.colour, "width": 1.5},
        "fillcolor": faded(drawn.colour, 0.25),
        "hoveron": "points",
        **hover(
            "<b>{title}</b>, seed {seed:.0f}<br>sparsity {text}[<br>alpha {alpha:.3~r}]<br>accuracy {accuracy:.1f} %",
            drawn.name,
            map(formats.sparsity, rows["sparsity"].tolist()),
            seed=rows["seed"],
            alpha=rows["alpha"],
            accuracy=100 * rows["accuracy"],
        ),
    }


def _means(cells: Columns, where: np.ndarray, drawn: Look, dark: bool) -> dict[str, Any]:
    """The means with their intervals."""
    alpha = cells["alpha"]
    return {
        "type": "scatter",
        "x": where,
        "y": alpha,
        "mode": "markers",
        "marker": {
            "symbol": drawn.symbol,
            "size": 7,
            "color": drawn.colour,
            "line": {"color": ink(dark), "width": 1.5},
        },
        "error_y": {"array": cells["high"] - alpha, "arrayminus": alpha - cells["low"]}
        | {"color": faded(ink(dark), 0.7), "thickness": 1.5, "width": 4},
        "showlegend": False,
        **_cell_hover(cells, drawn),
    }


def _marks(cells: Columns, where: np.ndarray, drawn: Look, ends: tuple[float, float]) -> dict[str, Any]:
    """The marks of the verdicts, with an arrow where the mean is out of sight."""
    low, high = ends
    arrows = np.where(cells["alpha"] > high, "<br>↑", np.where(cells["alpha"] < low, "<br>↓", ""))
    return {
        "type": "scatter",
        "x": where,
        "y": np.full(len(where), high - 0.01 * (high - low)),
        "mode": "text",
        "textposition": "bottom center",
        "text": [f"<b>{formats.chart_text(mark)}</b>{a}" for mark, a in zip(cells["mark"], arrows, strict=True)],
        "showlegend": False,
        **_cell_hover(cells, drawn),
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
    }


def _cell_hover(cells: Columns, drawn: Look) -> dict[str, Any]:
    """What hover says of a series at its ratios."""
    return hover(
        "<b>{title}</b>, ratio {ratio:.3~r}, sparsity {sparsity}[<br>alpha {alpha:.3~r}][ ± {half:.2~r}]: {verdict}"
        "[<br>all gaps {spread:.3~r} times as wide as before]"
        "<br>accuracy {accuracy:.1f} %, {change:+.1f} pt since dense<br>{seeds}"
        "[<br>{collapsed:.0f} of {n_models:.0f} models predict one class only]",
        drawn.name,
        sparsity=list(map(formats.sparsity, cells["sparsity"].tolist())),
        half=(cells["high"] - cells["low"]) / 2,
        accuracy=100 * cells["accuracy"],
        change=100 * cells["change"],
        seeds=list(map(formats.seeds, cells["n_seeds"].tolist())),
        collapsed=np.where(cells["n_collapsed"] > 0, cells["n_collapsed"], np.nan),
        **{name: cells[name] for name in ("ratio", "alpha", "verdict", "spread", "n_models")},
    )


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
