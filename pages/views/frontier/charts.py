"""The Frontier's first chart: operating points, the frontier with its band, the choice and its runner-up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.columns import VARIANT, is_mitigated
from engine.analysis.frontier.choice import Choice
from engine.analysis.intervals import t_interval
from pages.shared import formats
from pages.shared.charts.contrast import legible
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import along, chart_layout, faded, ink, marker, technique_colour
from pages.shared.names import technique_name
from pages.views.frontier.axes import across, axis_ends, cost_axis, gap_axis, is_sparsity

HOVER = "%{text}<extra></extra>"
SILENT = {"hoverinfo": "skip"}
STEADY = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
"""A click opens a card; it fades nothing."""
MOST_LABELS = 8
HEIGHT = 430
"""Pixels; with the answer and the controls it stands on the first screen."""
LETTER, LINE = 0.011, 0.05
"""Width of a letter and height of a line of a label, as shares of the chart."""
REJECTED, BEATEN = "Breaks a floor", "Beaten on both counts"
LEAST_NEEDED = (REJECTED, BEATEN)
"""Entries that the legend gives up first, where more than five would stand there; the caption explains them."""


@dataclass(frozen=True, eq=False)
class Extras:
    """What may be drawn beside the points."""

    second: Choice | None = None
    """The choice at the second weight."""
    band: pd.DataFrame | None = None
    """What `frontier_band` gives."""
    tested: pd.DataFrame | None = None
    """The points by the test split, where another one chooses."""
    between: str = "class"
    equal_value: bool = True
    """Whether a weight chooses, so that there are points of equal value."""
    line: bool = True
    """Whether the frontier is a line here; that of three objectives is a surface."""
    pinned: Mapping[str, int] = field(default_factory=dict)
    """Numbers of the points that are pinned or opened, by what is written beside them."""


def frontier_chart(
    points: pd.DataFrame, choice: Choice, texts: Sequence[str], dark: bool, scale: str, extras: Extras | None = None
) -> Drawing:
    """Sparsity against unfairness: all points in reach, the frontier, the choice, its runner-up, equal value.

    Axes depend on the points and the measure, so that they hold still while a slider moves.
    """
    extras = extras or Extras()
    x, y = across(points, scale), points[choice.measure].to_numpy(float)
    ends, lined = axis_ends(points, choice), is_sparsity(scale)
    seen = np.isfinite(x) & np.isfinite(y) & (y >= ends[0]) & (y <= ends[1])
    dots = _Dots(x, y, texts, points["point"].to_numpy() if "point" in points else np.arange(len(points)))
    traces = _band_traces(extras.band if lined else None, dark, scale)
    traces.append(dots.trace(np.flatnonzero(seen & ~choice.survivors), _rejected_look(dark)))
    beaten = seen & choice.survivors & ~choice.frontier
    traces += _variant_traces(points, dots, beaten, _Look(BEATEN, 7, dark))
    front = np.flatnonzero(choice.frontier & np.isfinite(x))
    front = front[np.argsort(points["sparsity"].to_numpy()[front], kind="stable")]
    line = {"color": ink(dark), "width": 1.5, "dash": "dot"}
    if extras.line and lined:
        traces.append({"x": x[front], "y": y[front], "mode": "lines", "showlegend": False, "line": line, **SILENT})
    traces += _variant_traces(points, dots, choice.frontier & np.isfinite(x), _Look("Frontier", 11, dark))
    if choice.chosen is not None:
        traces += [_equal_value(points, choice, dark, scale, ends)] if extras.equal_value and lined else []
        traces += _marks(points, choice, dots, dark, extras)
    traces += _rings(dots, extras.pinned, dark)
    where = " (validation)" if extras.tested is not None else ""
    layout = chart_layout(
        HEIGHT, xaxis=cost_axis(points, scale), yaxis=gap_axis(choice.measure, ends, extras.between, where)
    )
    layout["annotations"] = _labels(points, choice, (x, y), (scale, dark), ends)
    layout["legend"]["font"] = {"size": 12}
    for name in LEAST_NEEDED[: (extras.second is not None) + (extras.tested is not None)]:
        traces = [trace | {"showlegend": False} if trace.get("name") == name else trace for trace in traces]
    return Drawing([{"type": "scatter", "cliponaxis": False, **STEADY, **trace} for trace in traces], layout)


@dataclass(frozen=True)
class _Look:
    """How a set of points is drawn."""

    name: str
    size: float
    dark: bool


@dataclass(frozen=True, eq=False)
class _Dots:
    """Where the points lie, what hover says of each, and their numbers, which a click tells."""

    x: np.ndarray
    y: np.ndarray
    texts: Sequence[str]
    number: np.ndarray

    def trace(self, at: np.ndarray, look: dict[str, Any]) -> dict[str, Any]:
        """Some of them, looking like this."""
        shown = {"x": self.x[at], "y": self.y[at], "text": [self.texts[i] for i in at.tolist()]}
        told = {"customdata": self.number[at].tolist(), "hovertemplate": HOVER, "legendgroup": look["name"]}
        return {"mode": "markers", **shown, **told, **look}


def _variant_traces(points: pd.DataFrame, dots: _Dots, which: np.ndarray, look: _Look) -> list[dict[str, Any]]:
    """Some points in the colours of their techniques and the shapes of their treatments, one entry in the legend.

    Mitigated ones are outlined. Every colour keeps its contrast to the ground.
    """
    names = [points[name].tolist() for name in VARIANT]
    members: dict[tuple[str, str, str], list[int]] = {}
    for i in np.flatnonzero(which).tolist():
        members.setdefault((str(names[0][i]), str(names[1][i]), str(names[2][i])), []).append(i)
    traces = []
    for (technique, treatment, mitigation), places in members.items():
        drawn = {
            "color": legible(technique_colour(technique), look.dark),
            "symbol": marker(treatment) + ("" if look.name == "Frontier" else "-open"),
            "size": look.size,
            "line": {"width": 2 if is_mitigated(mitigation) else 1},
        }
        traces.append(dots.trace(np.array(places), {"name": look.name, "marker": drawn}))
    for number, trace in enumerate(traces):
        trace["showlegend"] = number == 0
    return traces


def _rejected_look(dark: bool) -> dict[str, Any]:
    return {"name": REJECTED, "marker": {"color": legible("#888888", dark), "size": 4, "symbol": "circle"}}


def _band_traces(band: pd.DataFrame | None, dark: bool, scale: str) -> list[dict[str, Any]]:
    """Where redrawn seeds put the frontier, as an area without an entry in the legend."""
    if band is None or len(band) < 2:
        return []
    x = along(band["sparsity"].to_numpy(float), scale)
    outline = {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([band["high"], band["low"][::-1]])}
    look = {"fill": "toself", "fillcolor": faded(ink(dark), 0.1), "line": {"width": 0}, "mode": "lines"}
    return [{**outline, **look, "showlegend": False, "name": "Redrawn frontiers", **SILENT}]


def _equal_value(
    points: pd.DataFrame, choice: Choice, dark: bool, scale: str, ends: tuple[float, float]
) -> dict[str, Any]:
    """The line of points that would be worth as much as the chosen one: unfairness = (sparsity - value) / weight."""
    most = min(float(points["sparsity"].max()), 0.9999)
    grid = 1 - np.geomspace(1, 1 - most, 120) if scale == "kept" else np.linspace(0, most, 120)
    line = (grid - choice.values[choice.chosen]) / choice.weight
    inside = (line >= ends[0]) & (line <= ends[1])
    drawn = {"x": along(grid[inside], scale), "y": line[inside], "line": {"color": faded(ink(dark), 0.5), "width": 1}}
    return {"mode": "lines", "name": "Equal value", "showlegend": False, **drawn, **SILENT}


def _marks(points: pd.DataFrame, choice: Choice, dots: _Dots, dark: bool, extras: Extras) -> list[dict[str, Any]]:
    """The runner-up, the second weight's choice, the choice where it is reported, and the choice; with whiskers."""
    x, y = dots.x, dots.y
    marks = [(choice.runner_up, "Runner-up", "circle-open", 20)]
    marks += [(extras.second.chosen, "Second weight", "star-diamond", 17)] if extras.second is not None else []
    marks += [(choice.chosen, "Chosen", "star", 20)]
    traces = []
    for place, name, symbol, size in marks:
        if place is None or not np.isfinite(x[place]):
            continue
        look = {"symbol": symbol, "size": size, "color": ink(dark), "line": {"width": 2, "color": ink(dark)}}
        trace = dots.trace(np.array([place]), {"name": name, "marker": look})
        whiskers = _whiskers(points, choice.measure, place, dark) if name != "Second weight" else {}
        traces.append({**trace, **whiskers})
    if extras.tested is not None:
        value = float(extras.tested[choice.measure].iloc[choice.chosen])
        look = {"symbol": "star-open", "size": 16, "color": ink(dark), "line": {"width": 2}}
        told = f"the choice on the test split: {formats.unfairness(value, choice.measure)}"
        pair = {"x": [x[choice.chosen]] * 2, "y": [y[choice.chosen], value], "mode": "lines", "showlegend": False}
        traces.append({**pair, "line": {"color": ink(dark), "width": 1, "dash": "dot"}, **SILENT})
        here = {"x": [x[choice.chosen]], "y": [value], "text": [told], "marker": look, "mode": "markers"}
        traces.append({**here, "name": "Chosen, on test", "hovertemplate": HOVER})
    return traces


def _rings(dots: _Dots, pinned: Mapping[str, int], dark: bool) -> list[dict[str, Any]]:
    """Rings around points that are pinned or opened, each with its word beside it."""
    traces = []
    for word, number in pinned.items():
        at = np.flatnonzero((dots.number == number) & np.isfinite(dots.x) & np.isfinite(dots.y))
        ring = {"symbol": "circle-open", "size": 26, "color": "#D55E00", "line": {"width": 2}}
        said = {"mode": "markers+text", "text": [f"<b>{word}</b>"] * len(at), "textposition": "top center"}
        ink_of = {"textfont": {"color": ink(dark), "size": 12}, "showlegend": False, **SILENT}
        traces.append(dots.trace(at, {"name": word, "marker": ring}) | said | ink_of)
    return traces


def _whiskers(points: pd.DataFrame, measure: str, place: int, dark: bool) -> dict[str, Any]:
    """Student's 95 % interval of a point's unfairness over seeds, within what there can be; none for one seed."""
    mean, sd, n = (float(points[f"{measure}{end}"].to_numpy()[place]) for end in ("", "_sd", "_n"))
    low, high = (float(end) for end in t_interval(mean, sd, n))
    if not np.isfinite(low):
        return {}
    if formats.in_points(measure):
        low, high = max(low, min(0.0, mean)), min(high, 1.0)
    bars = {"type": "data", "symmetric": False, "array": [high - mean], "arrayminus": [mean - low]}
    return {"error_y": {**bars, "color": ink(dark), "thickness": 1.2, "width": 5}}


def _labels(
    points: pd.DataFrame,
    choice: Choice,
    at: tuple[np.ndarray, np.ndarray],
    look: tuple[str, bool],
    ends: tuple[float, float],
) -> list[dict[str, Any]]:
    """Sparsity beside the points of the frontier, as many as have room, the chosen one first; and the technique, where
    they have several."""
    (x, y), (scale, dark) = at, look
    front = np.flatnonzero(choice.frontier)
    first = [place for place in (choice.chosen, choice.runner_up) if place in front]
    order = [*first, *(place for place in front[np.argsort(-choice.values[front])].tolist() if place not in first)]
    spread = np.log10(np.maximum(x, 1e-6)) if scale == "kept" else x
    known = spread[np.isfinite(spread)]
    wide = max(float(np.ptp(known)) if len(known) else 0.0, 1e-9)
    techniques = points["technique"].astype(str).to_numpy()
    same = len(set(techniques[front])) == 1
    placed: list[tuple[float, float, float]] = []
    labels: list[dict[str, Any]] = []
    for place in order:
        if not np.isfinite(spread[place]) or len(labels) == MOST_LABELS:
            continue
        sparsity = formats.sparsity(points["sparsity"].iloc[place])
        name = "" if same else f"{technique_name(techniques[place])} "
        text = f"{name}{sparsity}" if points["level"].iloc[place] else "dense"
        # Below the frontier there is nothing; at its sparse end a label goes back above it.
        share = (float(spread[place]) - known.min()) / wide
        share = share if scale == "linear" else 1 - share
        ends_it, long = share > 0.75, LETTER * len(text)
        height = float(y[place] - ends[0]) / max(ends[1] - ends[0], 1e-9) + (0.03 if ends_it else -0.05)
        box = (share - long, share, height) if ends_it else (share, share + long, height)
        if any(box[0] < b and a < box[1] and abs(height - up) < LINE for a, b, up in placed):
            continue
        placed.append(box)
        labels.append(
            {
                "x": float(spread[place]),
                "y": float(y[place]),
                "text": formats.chart_text(text),
                "showarrow": False,
                "xanchor": "right" if ends_it else "left",
                "xshift": -10 if ends_it else 8,
                "yshift": 12 if ends_it else -17,
                "font": {"size": 11, "color": ink(dark)},
            }
        )
    return labels
