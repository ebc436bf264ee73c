"""The Frontier's axes: what it costs along, unfairness up; both hold still while a slider moves."""

from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.tradeoffs.point_costs import COSTS
from pages.shared import formats
from pages.shared.charts.style import along, sparsity_look
from pages.shared.names import measure_name

AXES = {
    "kept": "weights kept",
    "linear": "sparsity",
    "macs": "multiplications",
    "bytes": "bytes",
    "bytes_zipped": "bytes, zipped",
    "milliseconds": "milliseconds",
    "bits": "bits of a weight",
    "params": "parameters",
}
"""What the horizontal axis may be; costs only where they were recorded."""
REACH = 0.1
"""Accuracy below the best up to which points decide how far the axes go: what a floor's slider covers."""


def known_axes(points: pd.DataFrame) -> list[str]:
    """The axes that these points have numbers for."""
    return [name for name in AXES if name not in COSTS or (name in points and points[name].notna().any())]


def across(points: pd.DataFrame, scale: str) -> np.ndarray:
    """Where each point lies on the horizontal axis; NaN where its cost was not recorded."""
    place: np.ndarray = (
        points[scale].to_numpy(float) if scale in COSTS else along(points["sparsity"].to_numpy(float), scale)
    )
    return place


def is_sparsity(scale: str) -> bool:
    """Whether the axis is one of sparsity, on which lines of equal value can be drawn."""
    return scale not in COSTS


def cost_axis(points: pd.DataFrame, scale: str) -> dict[str, Any]:
    """The horizontal axis, from the network that costs most to the one that costs least."""
    if scale in COSTS:
        most = float(np.nanmax(points[scale].to_numpy(float), initial=0.0)) or 1.0
        return {"title": AXES[scale], "range": [1.03 * most, 0.0], "tickformat": "~s"}
    look, most = sparsity_look(scale), min(float(points["sparsity"].max()), 1.0)
    if scale != "kept":
        return look | {"range": [0.0, min(max(most * 1.02, 0.1), 1.0)]}
    least = max(1 - most, 1e-4)
    look.pop("autorange", None)
    return look | {"range": [0.02, np.log10(min(least, 0.9)) - 0.05]}


def gap_axis(measure: str, ends: tuple[float, float], between: str, where: str) -> dict[str, Any]:
    """The axis of unfairness; `where` says on which examples, if not on those of the test."""
    label = measure_name(measure)
    words = f"{label[0].lower()}{label[1:]}"
    words = words if between == "class" else words.replace("class", "group")
    ticks = {"tickformat": ".1%"} if formats.in_points(measure) else {}
    return {"title": f"unfairness: {words}{where}", "range": list(ends), **ticks}


def axis_ends(points: pd.DataFrame, choice: Choice) -> tuple[float, float]:
    """Where the axis of unfairness begins and ends.

    It reaches the worst that a frontier may have at any threshold of the slider, which is the sparsest network that
    this leaves, or the one of fewest bits, and half of all networks in reach. A difference of rates never goes beyond
    1, nor below 0 where nothing does.
    """
    measure = choice.measure
    near = points["accuracy"].to_numpy() >= min(points["accuracy"].max() - REACH, choice.threshold)
    near &= points[measure].notna().to_numpy()
    values = points[measure].to_numpy(float)
    if not near.any():
        return 0.0, 1.0
    rows = np.flatnonzero(near)
    rows = rows[np.lexsort((values[rows], -points["accuracy"].to_numpy(float)[rows]))]
    furthest = _records(points["sparsity"].to_numpy(float)[rows])
    if "bits" in points:
        furthest |= _records(-points["bits"].to_numpy(float)[rows])
    low = float(min(values[rows].min(), 0.0))
    high = max(values[rows][furthest].max(), float(np.median(values[rows])), *values[choice.frontier], low + 0.01)
    high += 0.12 * (high - low)
    return low, min(high, 1.0) if formats.in_points(measure) else high


def _records(values: np.ndarray) -> np.ndarray:
    """Which values are above all before them; the first is."""
    return np.append(True, values[1:] > np.fmax.accumulate(values)[:-1])


def beyond(points: pd.DataFrame, choice: Choice, scale: str = "kept") -> str:
    """How many networks are not on the chart, for its caption."""
    n = int((points[choice.measure] > axis_ends(points, choice)[1]).sum())
    text = f", {formats.count(n)} lie above the chart" if n else ""
    unknown = int(np.isnan(across(points, scale)).sum())
    return f"{text}, {formats.count(unknown)} have no record of their {AXES[scale]}" if unknown else text
