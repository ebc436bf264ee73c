"""Charts of the Regression page: coefficients by group, fitted against observed, residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.regression.residuals import BIN, NARROW, Residuals
from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import chart_layout, faded, ink

ROW = 17
"""Height of a coefficient's row in pixels."""

MOST_ROWS = 30
BESIDE = "#CC79A7"
"""Colour of the second kind of errors."""

HOVER = "%{text}<extra></extra>"
SILENT: dict[str, Any] = {"hoverinfo": "skip"}


@dataclass(frozen=True)
class Look:
    """How coefficients are drawn."""

    errors: str
    """Name of the chosen errors."""
    beside: str
    """Name of the errors drawn beside them."""
    unit: str
    dark: bool


def coefficient_chart(table: pd.DataFrame, beside: pd.DataFrame, show: Look) -> Drawing:
    """Coefficients with 95 % intervals under the headings of their groups; hollow where the interval includes 0.

    `table` has label, group, coefficient, low, high, text, published; `beside` the same columns with other errors.
    """
    places, ticks = _places(table["group"], table["label"])
    y, value = np.array(places, float), table["coefficient"].to_numpy(float)
    certain = (table["low"] > 0) | (table["high"] < 0)
    dots = {"size": 8, "color": ink(show.dark), "symbol": np.where(certain, "circle", "circle-open")}
    traces = [
        {**_intervals(beside, y + 0.22, faded(BESIDE, 0.9), 4), "name": f"95 %, {show.beside}"},
        {**_intervals(table, y, ink(show.dark), 1.5), "name": f"95 %, {show.errors}"},
        {"x": value, "y": y, "mode": "markers", "marker": dots, "text": table["text"], "name": "coefficient"},
    ]
    published = table["published"].notna().to_numpy()
    if published.any():
        diamonds = {"symbol": "diamond-open", "size": 10, "color": "#E69F00", "line": {"width": 2}}
        shown = {"x": table["published"].to_numpy(float)[published], "y": y[published], "marker": diamonds}
        text = [f"the paper: {formats.fixed(number, 4)}" for number in shown["x"]]
        traces.append({"mode": "markers", "name": "the paper", "text": text, **shown})
    lines = [{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": _dashes(show.dark)}]
    axis = {
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
        "range": [max(ticks) + 0.7, -0.7],
        "zeroline": False,
    }
    layout = chart_layout(
        max(420, ROW * len(ticks) + 90),
        xaxis={"title": show.unit, "zeroline": False},
        yaxis=axis | {"tickfont": {"size": 11}, "showgrid": False, "automargin": True},
        shapes=lines,
        hovermode="closest",
    )
    return Drawing([{"type": "scatter", "hovertemplate": HOVER, **trace} for trace in traces], layout)


def _places(groups: Sequence[str], labels: Sequence[str]) -> tuple[list[int], dict[int, str]]:
    """Row of each coefficient, and what stands at every row, headings in between."""
    places: list[int] = []
    ticks: dict[int, str] = {}
    before = ""
    for group, label in zip(groups, labels, strict=True):
        if group != before:
            ticks[len(ticks)] = f"<b>{formats.chart_text(group)}</b>"
            before = group
        places.append(len(ticks))
        ticks[len(ticks)] = formats.chart_text(label)
    return places, ticks


def _intervals(table: pd.DataFrame, y: np.ndarray, colour: str, width: float) -> dict[str, Any]:
    """All intervals as one broken line."""
    low, high = table["low"].to_numpy(float), table["high"].to_numpy(float)
    gap = np.full(len(y), np.nan)
    line = {"color": colour, "width": width}
    return {"x": _woven(low, high, gap), "y": _woven(y, y, gap), "mode": "lines", "line": line, **SILENT}


def _woven(*parts: np.ndarray) -> np.ndarray:
    return np.stack(parts, axis=1).ravel()


def fitted_chart(residuals: Residuals, dark: bool) -> Drawing:
    """Fitted against observed accuracy, as the share of each observed bin (after the paper's Figure 14)."""
    traces = [
        _heat(residuals.fitted, "fitted"),
        {"x": [0, 1], "y": [0, 1], "mode": "lines", "name": "fitted = observed", "line": _dashes(dark), **SILENT},
        _mean_line(residuals.means, "fitted"),
    ]
    layout = chart_layout(
        420,
        xaxis={"title": "observed class accuracy", "tickformat": ".0%"},
        yaxis={"title": "fitted class accuracy", "tickformat": ".0%"},
    )
    return Drawing([{"type": "scatter", **trace} for trace in traces], layout)


def residual_chart(residuals: Residuals, dark: bool) -> Drawing:
    """Residuals against observed accuracy, as the share of each observed bin (after the paper's Figure 15b)."""
    traces = [_heat(residuals.by_target, "residual"), _mean_line(residuals.means, "residual")]
    zero = {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": _dashes(dark)}
    layout = chart_layout(
        420,
        xaxis={"title": "observed class accuracy", "tickformat": ".0%"},
        yaxis={"title": "observed - fitted", "tickformat": ".0%"},
        shapes=[zero],
    )
    return Drawing([{"type": "scatter", **trace} for trace in traces], layout)


def residual_histogram(residuals: Residuals, dark: bool) -> Drawing:
    """How many rows are off by how much, with the bell of the same spread (after the paper's Figure 15a)."""
    rows, spread = residuals.histogram, residuals.spread
    n_rows = int(rows["n"].sum())
    grid = np.linspace(-4 * spread, 4 * spread, 121)
    bell = n_rows * NARROW * np.exp(-((grid / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi)) if spread else 0 * grid
    text = [
        f"off by {formats.points(value - NARROW / 2, 0)} to {formats.points(value + NARROW / 2, 0)}"
        f"<br>{formats.count(n)} rows"
        for value, n in zip(rows["residual"], rows["n"], strict=True)
    ]
    bars = {"x": rows["residual"], "y": rows["n"], "width": NARROW, "marker": {"color": "#0072B2"}, "text": text}
    line = {"color": ink(dark), "width": 1.5, "dash": "dash"}
    traces = [
        {"type": "bar", "name": "rows", "hovertemplate": HOVER, "textposition": "none", **bars},
        {"type": "scatter", "x": grid, "y": bell, "mode": "lines", "name": "normal", "line": line, **SILENT},
    ]
    axes = {"xaxis": {"title": "observed - fitted", "tickformat": ".0%"}, "yaxis": {"title": "rows"}}
    return Drawing(traces, chart_layout(420, bargap=0) | axes)


def _heat(cells: pd.DataFrame, name: str) -> dict[str, Any]:
    """Shares of the observed bins as a heat map; cells that are empty stay clear."""
    x = np.round(cells["observed"] / BIN - 0.5).astype(int).to_numpy()
    y = np.round(cells[name] / BIN - 0.5).astype(int).to_numpy()
    low, shape = y.min(), (y.max() - y.min() + 1, round(1 / BIN))
    share, n = np.full(shape, np.nan), np.zeros(shape, int)
    share[y - low, x], n[y - low, x] = cells["share"], cells["n"]
    bar = {"tickformat": ".0%", "thickness": 8, "tickfont": {"size": 10}, "xpad": 4}
    return {
        "type": "heatmap",
        "x": (np.arange(shape[1]) + 0.5) * BIN,
        "y": (np.arange(shape[0]) + low + 0.5) * BIN,
        "z": share,
        "customdata": n,
        "colorscale": "Viridis",
        "zmin": 0,
        "colorbar": bar,
        "hovertemplate": f"observed %{{x:.1%}}, {name} %{{y:.1%}}<br>%{{z:.0%}} of the bin, %{{customdata:,}} rows"
        "<extra></extra>",
        "showlegend": False,
    }


def _mean_line(means: pd.DataFrame, name: str) -> dict[str, Any]:
    dots = {"size": 7, "color": "#FFFFFF", "line": {"color": "#000000", "width": 1.5}}
    text = [
        f"observed near {formats.percent(row.observed)}: mean {name} {formats.percent(getattr(row, name))}"
        f"<br>{formats.count(row.n)} rows"
        for row in means.itertuples()
    ]
    return {
        "x": means["observed"],
        "y": means[name],
        "mode": "markers",
        "name": f"mean {name}",
        "marker": dots,
        "text": text,
        "hovertemplate": HOVER,
    }


def _dashes(dark: bool) -> dict[str, Any]:
    return {"color": ink(dark), "width": 1, "dash": "dash"}
