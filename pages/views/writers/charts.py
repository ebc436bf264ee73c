"""Charts of the Writers page: before against after, change against an attribute, how the attribute is spread."""

from collections.abc import Iterator
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.members.lines import band, line
from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import GROUPS, axis, chart_layout, faded, ink
from pages.shared.names import group_name

ORDER = (0, 6, 5, 3, 1, 7, 2, 4, 8)
"""The palette of groups in the order in which its neighbours differ most."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MANY_POINTS = 1000
"""From here on the browser draws points on the graphics card."""

SMALL = "-open"
LIGHT = 0.68
"""Lightness, 0 to 1, that a colour has at least on a dark page."""


@dataclass(frozen=True)
class Look:
    """What the charts show of the members and how: names of columns, and what to call them."""

    member: str
    word: str
    """One member: "writer"."""
    members: str
    """Many of them: "writers"."""
    examples: str
    series: str | None
    """Column that parts the members into series; None without one."""
    colour: str
    """Column that colours the points: the series or an attribute."""
    attribute: str | None
    attribute_label: str
    colour_label: str
    chosen: str | None
    small: int
    """Below this n a member's marker is hollow."""
    dark: bool
    before: str = "the dense network"
    """What is compared with."""


def series_colours(table: pd.DataFrame, series: str | None, dark: bool) -> dict[str, str]:
    """The colour of each series, by its place among all of them; lighter on a dark page."""
    names = sorted(map(str, table[series].dropna().unique())) if series else []
    colours = [GROUPS[ORDER[i % len(ORDER)]] for i in range(len(names))]
    return dict(zip(names, map(_lighter, colours) if dark else colours, strict=True))


def before_after(table: pd.DataFrame, look: Look, colours: dict[str, str]) -> Drawing:
    """Accuracy before against after, one point a member, with y = x and a line per series; square."""
    low, high = _square(table)
    traces = [line_trace([low, high], [low, high], "no change", ink(look.dark), "dash", named=False)]
    traces += points_by_colour(table, look, colours, "before", "after")
    for name, colour, dash, rows in parts(table, look, colours):
        fit = line(rows["before"], rows["after"], name)
        if not fit.reason:
            ends = np.array([rows["before"].min(), rows["before"].max()])
            traces.append(line_trace(ends, fit.intercept + fit.slope * ends, name, colour, dash, 3, by_dash(look)))
    traces += chosen_star(table, look, "before", "after")
    same: dict[str, Any] = {"range": [low, high], "tickformat": ".0%", "constrain": "domain"}
    across, upward = axis(f"accuracy before: {look.before}", **same), axis("accuracy after pruning", **same)
    layout = chart_layout(460, dragmode="lasso", xaxis=across, yaxis=upward | {"scaleanchor": "x"})
    return Drawing(traces, layout)


def change_against(
    table: pd.DataFrame, look: Look, colours: dict[str, str], curve: pd.DataFrame | None = None
) -> Drawing:
    """Change of accuracy in points against the attribute, with a line and its 95 % band per series.

    `curve` has x and y, changes of accuracy, of one curve over all series.
    """
    assert look.attribute is not None
    table = table.assign(points=100 * table["change"])
    traces = points_by_colour(table, look, colours, look.attribute, "points")
    for name, colour, dash, rows in parts(table, look, colours):
        drawn = fitted(rows, look.attribute, name)
        if len(drawn):
            traces.append(band_trace(drawn, colour))
            traces.append(line_trace(drawn["x"], drawn["y"], name, colour, dash, 3, by_dash(look)))
    if len(colours) > 1:
        drawn = fitted(table, look.attribute, "all")
        traces.append(line_trace(drawn["x"], drawn["y"], "all", ink(look.dark), "dot", 2))
    if curve is not None and len(curve):
        traces.append(line_trace(curve["x"], 100 * curve["y"], "curve over all", ink(look.dark), "solid", 1.5))
    traces += chosen_star(table, look, look.attribute, "points")
    zero = {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "xref": "x domain", "opacity": 0.6}
    layout = chart_layout(
        460,
        xaxis=axis(f"mean {look.attribute_label} of the {look.word}"),
        yaxis=axis("change of accuracy (points)"),
        shapes=[zero | {"line": {"color": ink(look.dark), "width": 1, "dash": "dash"}}],
    )
    return Drawing(traces, layout)


def attribute_grid(table: pd.DataFrame, look: Look) -> np.ndarray:
    """Values over the range of the attribute at which a curve is drawn."""
    return np.linspace(table[look.attribute].min(), table[look.attribute].max(), 80)


def attribute_histogram(table: pd.DataFrame, look: Look, colours: dict[str, str]) -> Drawing:
    """How many members have which value of the attribute, series over series on the same bins."""
    assert look.attribute is not None
    values = table[look.attribute].dropna().to_numpy(float)
    edges = np.histogram_bin_edges(values, min(40, max(10, round(2 * np.sqrt(len(values))))))
    traces = []
    for name, colour, _, rows in parts(table, look, colours, plain=True):
        counts, _ = np.histogram(rows[look.attribute].dropna(), edges)
        traces.append(
            {
                "type": "bar",
                "x": (edges[:-1] + edges[1:]) / 2,
                "y": counts,
                "width": np.diff(edges),
                "name": f"{name} (n = {len(rows)})",
                "marker": {"color": faded(colour, 0.55), "line": {"color": colour, "width": 1.5}},
                **hover(
                    f"<b>{{title}}</b><br>{{low:.3~r}} to {{high:.3~r}}: {{n:.0f}} {look.members}",
                    name,
                    low=edges[:-1],
                    high=edges[1:],
                    n=counts,
                ),
            }
        )
    layout = chart_layout(
        400,
        xaxis=axis(f"mean {look.attribute_label} of the {look.word}"),
        yaxis=axis(look.members),
        barmode="overlay",
        bargap=0,
        showlegend=True,
    )
    return Drawing(traces, layout)


def member_hover(table: pd.DataFrame, look: Look) -> dict[str, Any]:
    """What hover says of each member: who, how many examples, before, after, change, the attributes looked at.

    A member's name comes first in its row of customdata.
    """
    shown = {look.attribute: look.attribute_label}
    if look.colour != look.series:
        shown[look.colour] = look.colour_label
    known = [(name, label) for name, label in shown.items() if name in table]
    series = f"<br>{formats.chart_text(look.series)} {{series}}" if look.series else ""
    attributes = "".join(f"[<br>mean {label} {{attribute{i}:.3~r}}]" for i, (_, label) in enumerate(known))
    return hover(
        f"<b>{look.word} {{member}}</b>{series}<br>{{n:,.0f}} {look.examples}{{few}}"
        "<br>before {before:.1f} %[ ± {before_half:.1f}]<br>after {after:.1f} %[ ± {after_half:.1f}]"
        f"<br>change {{change:+.1f}} pt{attributes}",
        member=[formats.chart_text(name) for name in table[look.member].tolist()],
        series=[formats.chart_text(group_name(look.series, str(name))) for name in table[look.series].tolist()]
        if look.series
        else (),
        n=table["n"],
        few=np.where(table["n"] < look.small, " (few)", ""),
        change=100 * table["change"],
        **{when: 100 * table[when] for when in ("before", "after")},
        **{f"{when}_half": 50 * (table[f"{when}_high"] - table[f"{when}_low"]) for when in ("before", "after")},
        **{f"attribute{i}": table[name] for i, (name, _) in enumerate(known)},
    )


def parts(
    table: pd.DataFrame, look: Look, colours: dict[str, str], plain: bool = False
) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Name, colour, dash and rows of each series that has members; one part without series.

    Where the points' colours mean an attribute, lines are told apart by their dashes; `plain` keeps the colours.
    """
    dashed = by_dash(look) and not plain
    if not look.series:
        yield "all", ink(look.dark) if look.colour else _alone(look.dark), "solid", table
        return
    names = table[look.series].astype(str)
    for number, (name, colour) in enumerate(colours.items()):
        rows = table[(names == name).to_numpy()]
        if len(rows):
            dash = DASHES[number % len(DASHES)] if dashed else "solid"
            yield formats.chart_text(group_name(look.series, name)), ink(look.dark) if dashed else colour, dash, rows


def by_dash(look: Look) -> bool:
    """Whether lines are told apart by their dashes, since the points' colour means something else."""
    return look.series is not None and look.colour != look.series


def points_by_colour(table: pd.DataFrame, look: Look, colours: dict[str, str], x: str, y: str) -> list[dict[str, Any]]:
    """The points of each series in its colour, or all of them coloured by an attribute."""
    if look.colour == look.series:
        return [
            _points(rows, look, x, y, {"color": colour}, f"{name} (n = {len(rows)})")
            for name, colour, _, rows in parts(table, look, colours)
        ]
    if look.colour in table:
        bar = {"title": {"text": look.colour_label, "side": "right"}, "thickness": 12, "len": 0.8}
        scale = {"color": table[look.colour], "colorscale": "Viridis", "colorbar": bar}
    else:
        scale = {"color": _alone(look.dark)}
    return [_points(table, look, x, y, scale, look.members)]


def _points(rows: pd.DataFrame, look: Look, x: str, y: str, marker: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        "type": "scattergl" if len(rows) > MANY_POINTS else "scatter",
        "x": rows[x],
        "y": rows[y],
        "mode": "markers",
        "name": name,
        "marker": {
            "size": 8,
            "symbol": np.where(rows["n"] < look.small, f"circle{SMALL}", "circle"),
            "opacity": 0.7,
            "line": {"width": 0.5, "color": faded(ink(look.dark), 0.5)},
        }
        | marker,
        "selected": {"marker": {"opacity": 0.7}},
        "unselected": {"marker": {"opacity": 0.7}},
        **member_hover(rows, look),
    }


def chosen_star(table: pd.DataFrame, look: Look, x: str, y: str) -> list[dict[str, Any]]:
    """The star of the member that is looked at."""
    rows = table[(table[look.member].astype(str) == look.chosen).to_numpy()]
    if not len(rows):
        return []
    edge = {"color": ink(not look.dark), "width": 1.5}
    star = {"symbol": "star", "size": 17, "color": ink(look.dark), "opacity": 1, "line": edge}
    name = f"{look.word} {formats.chart_text(look.chosen)}"
    return [_points(rows, look, x, y, star, name) | {"selected": None, "unselected": None}]


def line_trace(
    x: Any, y: Any, name: str, colour: str, dash: str, width: float = 1.5, named: bool = True
) -> dict[str, Any]:
    """A line that hover passes over."""
    style = {"color": colour, "width": width, "dash": dash}
    look = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": style}
    return {"x": x, "y": y, "name": name, "showlegend": named, **look}


def fitted(rows: pd.DataFrame, attribute: str, name: str) -> pd.DataFrame:
    """The line of points on the attribute over the range of its members, with its band; empty where there is none."""
    fit = line(rows[attribute], rows["points"], name)
    n = 0 if fit.reason else 50
    return band(fit, np.linspace(rows[attribute].min(), rows[attribute].max(), n))


def band_trace(drawn: pd.DataFrame, colour: str) -> dict[str, Any]:
    """The 95 % band of a fitted line."""
    return {
        "type": "scatter",
        "x": np.concatenate([drawn["x"], drawn["x"][::-1]]),
        "y": np.concatenate([drawn["high"], drawn["low"][::-1]]),
        "fill": "toself",
        "fillcolor": faded(colour, 0.18),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _square(table: pd.DataFrame) -> tuple[float, float]:
    """One range for both axes that holds every point."""
    values = table[["before", "after"]].to_numpy(float)
    low, high = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else (0.0, 1.0)
    margin = 0.04 * max(high - low, 0.05)
    return float(low - margin), float(high + margin)


def _alone(dark: bool) -> str:
    """The colour of members without series."""
    return _lighter(GROUPS[0]) if dark else GROUPS[0]


def _lighter(colour: str) -> str:
    """The same hue, as light as a dark page needs."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    parts = hls_to_rgb(hue, max(lightness, LIGHT), saturation)
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)
