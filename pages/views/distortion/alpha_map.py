"""Alpha of every series at every ratio as one map: a colour where the interval decides, a number everywhere."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.distortion.verdicts import MARKS
from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import chart_layout, faded, ink
from pages.views.distortion.charts import Look, half

NARROWER, WIDER = "#0072B2", "#D55E00"
FULL = 2.0
"""Alpha of 2 to this power, or 1 over it, has the full colour."""

UNDECIDED = "undecided"


def alpha_map(cells: pd.DataFrame, looks: Mapping[str, Look], dark: bool) -> Drawing:
    """One row per series, one column per ratio: mean alpha, blue and marked below 1, orange above, neither where the
    interval holds 1. `looks` gives the order from the top."""
    ratios = sorted(cells["ratio"].unique())
    names = [series for series in looks if (cells["series"] == series).any()]
    rows = {(row.series, row.ratio): row for row in cells.itertuples()}
    grid = [[rows.get((series, ratio)) for ratio in ratios] for series in names]
    trace = {
        "type": "heatmap",
        "x": [f"{formats.number(ratio)}×<br>{formats.share(1 - 1 / ratio)}" for ratio in ratios],
        "y": [",<br>".join(looks[series].name.rsplit(", ", 1)) for series in names],
        "z": [[_depth(row) for row in line] for line in grid],
        "text": [[_shown(row) for row in line] for line in grid],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": ink(dark)},
        "hovertext": [[_told(row, looks) for row in line] for line in grid],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "hoverongaps": False,
        "zmin": -FULL,
        "zmax": FULL,
        "colorscale": [[0, faded(NARROWER, 0.6)], [0.5, faded("#7F7F7F", 0.08)], [1, faded(WIDER, 0.6)]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
    }
    x_axis = {"title": {"text": "times fewer weights, share cut", "standoff": 14}, "type": "category"}
    plain = {"showgrid": False, "zeroline": False}
    layout = chart_layout(
        max(220, 110 + 34 * len(names)),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis=x_axis | plain,
        yaxis={"autorange": "reversed", "automargin": True, "type": "category"} | plain,
    )
    return Drawing([trace], layout)


def _depth(row: Any) -> float:
    """How deep the colour is: the logarithm of alpha, 0 where nothing is decided, NaN where nothing is known."""
    if row is None or not np.isfinite(row.alpha):
        return np.nan
    if row.verdict == UNDECIDED:
        return 0.0
    return float(np.clip(np.log2(max(row.alpha, 2.0**-FULL)), -FULL, FULL))


def _shown(row: Any) -> str:
    if row is None or not np.isfinite(row.alpha):
        return ""
    mark = "" if row.verdict == UNDECIDED else f" {MARKS[row.verdict]}"
    return formats.chart_text(f"{formats.number(row.alpha, 2)}{mark}")


def _told(row: Any, looks: Mapping[str, Look]) -> str:
    if row is None:
        return ""
    return (
        f"<b>{looks[row.series].name}</b>, ratio {formats.number(row.ratio)}, {formats.sparsity(row.sparsity)} sparsity"
        f"<br>alpha {formats.number(row.alpha)}{half(row.low, row.high)}: {row.verdict}"
        f"<br>accuracy {formats.percent(row.accuracy)}, {formats.points(row.change)} since dense"
        f"<br>{formats.seeds(row.n_seeds)}"
    )
