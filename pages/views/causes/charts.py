"""Charts of the Causes page: what is measured of each group over sparsity, between groups, and against the bound."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.causes.relations import Correlation
from pages.shared import formats
from pages.shared.charts.class_look import group_colours, spread_out, within
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import QUIET_TEXT, REST, WORST, along, axis, chart_layout, faded, ink, sparsity_axis
from pages.views.causes.labels import label_sides
from pages.views.causes.words import QUANTITIES

FEW = 4
"""Up to so many groups have colours and a legend, and bars beside each other."""

MOST_NAMED = 20
"""Up to so many groups are named beside their points and at the ends of their lines."""

NAME_SHARE = 0.05
"""Height of a name as a share of the chart."""


def shades(curves: pd.DataFrame, worst: str | None, dark: bool) -> dict[str, str]:
    """A colour for each group, the one that loses most last: few have one each, of many only that one has."""
    colours = group_colours(curves, dark)
    if len(colours) > FEW:
        colours = {group: WORST[dark] if group == worst else REST[dark] for group in colours}
    return dict(sorted(colours.items(), key=lambda pair: pair[0] == worst))


def curves_chart(curves: pd.DataFrame, quantity: str, colours: Mapping[str, str], scale: str, dark: bool) -> Drawing:
    """One quantity of each group over sparsity.

    With few groups bars are 95 % intervals; with many they would hide the lines, which are grey but one and named at
    their ends.
    """
    rows = curves[curves[quantity].notna().to_numpy()].sort_values("level")
    few, traces, ends = len(colours) <= FEW, [], {}
    for group, colour in colours.items():
        of = rows[(rows["group"] == group).to_numpy()]
        quiet = colour == REST[dark]
        traces.append(
            {
                "type": "scatter",
                "x": along(of["sparsity"], scale),
                "y": of[quantity],
                "error_y": _bars(of, quantity, colour) if few else {"visible": False},
                "mode": "lines+markers",
                "name": formats.chart_text(group),
                "line": {"color": colour, "width": 1.3 if quiet else 3},
                "marker": {"size": 4 if quiet else 7},
                **_hover(of, "<b>{title}</b>, {text} sparsity", formats.chart_text(group)),
            }
        )
        if len(of) and (len(colours) <= MOST_NAMED or not quiet):
            ends[group] = float(of[quantity].iloc[-1])
    layout = chart_layout(420, xaxis=sparsity_axis(scale), yaxis=_axis(quantity, curves))
    if not few:
        notes = _names(ends, colours, layout["yaxis"]["range"], dark)
        right = 20 + 7 * max((len(note["text"]) for note in notes), default=0)
        layout |= {"showlegend": False, "annotations": notes, "margin": {"l": 10, "r": right, "t": 20, "b": 10}}
    return Drawing(traces, layout)


def relation_chart(rows: pd.DataFrame, one: Correlation, colours: Mapping[str, str], dark: bool) -> Drawing:
    """A relation of the paper: a point per group at one level, the average of its runs; hover has the intervals."""
    x, y = one.relation.x, one.relation.y
    at_level = formats.sparsity(float(rows["sparsity"].mean()))
    measured = rows[(rows[x].notna() & rows[y].notna()).to_numpy()]
    order = list(colours)
    measured = measured.sort_values("group", key=lambda groups: groups.map(order.index), ascending=False)
    groups = [str(group) for group in measured["group"]]
    names = list(map(formats.chart_text, groups))
    sides: list[str | None] = [None] * len(groups)
    if len(groups) <= MOST_NAMED:
        sides = label_sides(measured[x].tolist(), measured[y].tolist(), groups)
    points = {
        "type": "scatter",
        "x": measured[x],
        "y": measured[y],
        "mode": "markers",
        "marker": {
            "size": 11,
            "color": [colours[group] for group in groups],
            "line": {"width": 1, "color": faded(ink(dark), 0.6)},
        },
        "showlegend": False,
        **_hover(measured, f"<b>{{text}}</b>, {at_level} sparsity"),
        "text": names,
    }
    beside = {
        "type": "scatter",
        "x": measured[x],
        "y": measured[y],
        "mode": "markers+text",
        "marker": {"size": 11, "opacity": 0},
        "text": [name if side else "" for name, side in zip(names, sides, strict=True)],
        "textposition": [side or "top center" for side in sides],
        "textfont": {"size": 12, "color": ink(dark)},
        "cliponaxis": False,
        "showlegend": False,
        "hoverinfo": "skip",
    }
    margin = {"l": 10, "r": 10, "t": 10, "b": 10}
    return Drawing([points, beside], chart_layout(280, margin=margin, xaxis=_axis(x, rows), yaxis=_axis(y, rows)))


def bound_chart(groups: pd.DataFrame, colours: Mapping[str, str], dark: bool) -> Drawing:
    """The bound against the true excessive loss of every pruned group and run; the line is where they are equal."""
    rows = groups[((groups["level"] > 0) & (groups["bound"] > 0) & groups["excessive_loss"].notna()).to_numpy()]
    traces = []
    for group, colour in colours.items():
        of = rows[(rows["group"] == group).to_numpy()]
        traces.append(
            {
                "type": "scatter",
                "x": of["bound"],
                "y": of["excessive_loss"],
                "mode": "markers",
                "name": formats.chart_text(group),
                "showlegend": len(colours) <= FEW or colour != REST[dark],
                "marker": {"size": 8, "color": colour, "opacity": 0.8},
                **hover(
                    "<b>{title}</b>, seed {seed:.0f}<br>{text} sparsity<br>"
                    "loss rises by {loss:.3~r}, bound {bound:.3~r}",
                    formats.chart_text(group),
                    map(formats.sparsity, of["sparsity"].tolist()),
                    seed=of["seed"],
                    loss=of["excessive_loss"],
                    bound=of["bound"],
                ),
            }
        )
    if len(rows):
        most = max(float(rows["excessive_loss"].max()), 1e-3)
        line = np.geomspace(most / 30, most, 40)
        style = {"color": faded(ink(dark), 0.5), "width": 1.5, "dash": "dot"}
        same = {"x": line, "y": line, "name": "bound = truth", "line": style}
        traces.append({"type": "scatter", "mode": "lines", "hoverinfo": "skip", **same})
    bound = axis("Theorem 1's bound (log scale)", type="log", exponentformat="power", dtick=1)
    return Drawing(traces, chart_layout(460, xaxis=bound, yaxis=axis("true excessive loss")))


def _names(
    ends: Mapping[str, float], colours: Mapping[str, str], reach: list[float] | None, dark: bool
) -> list[dict[str, Any]]:
    """The names of groups at the heights at which their lines end, none on another."""
    bottom, top = reach or (0.0, 1.0)
    heights = np.clip([(end - bottom) / (top - bottom) for end in ends.values()], 0, 1)
    places = within(spread_out(heights, NAME_SHARE), NAME_SHARE)
    return [
        {
            "text": formats.chart_text(group),
            "showarrow": False,
            "x": 1.01,
            "y": place,
            "xref": "paper",
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "middle",
            "font": {"size": 13, "color": QUIET_TEXT[dark] if colours[group] == REST[dark] else colours[group]},
        }
        for group, place in zip(ends, places.tolist(), strict=True)
    ]


def _axis(quantity: str, rows: pd.DataFrame) -> dict[str, Any]:
    percent = {"tickformat": ".1~%"} if quantity == "accuracy" else {}
    return axis(QUANTITIES[quantity], range=_reach(rows[quantity]), **percent)


def _bars(rows: pd.DataFrame, quantity: str, colour: str) -> dict[str, object]:
    if f"{quantity}_high" not in rows:
        return {"visible": False}
    half = (rows[f"{quantity}_high"] - rows[f"{quantity}_low"]) / 2
    return {"array": half.fillna(0), "color": colour, "thickness": 1, "width": 2, "visible": bool(half.notna().any())}


def _reach(values: pd.Series) -> list[float] | None:
    """Range of an axis that shows these means with some air; intervals may go beyond it."""
    values = values.dropna()
    if values.empty:
        return None
    air = 0.12 * (values.max() - values.min()) or 0.1 * abs(values.max()) or 1.0
    return [float(values.min() - air), float(values.max() + 1.6 * air)]


def _hover(rows: pd.DataFrame, whom: str, title: str = "") -> dict[str, Any]:
    """What hover says of a group at its levels; `whom` begins it, with the fields of title and text."""
    numbers = ["margin", "n"]
    numbers += [f"{name}{end}" for name in ("gradient_norm", "eigenvalue") for end in ("", "_low", "_high")]
    return hover(
        f"{whom}[<br>accuracy {{accuracy:.1f}} %][, margin {{margin:.3~r}}]"
        "[<br>gradient norm {gradient_norm:.3~r}][ ({gradient_norm_low:.3~r} to {gradient_norm_high:.3~r})]"
        "[, curvature {eigenvalue:.3~r}][ ({eigenvalue_low:.3~r} to {eigenvalue_high:.3~r})]"
        "<br>{n:,.0f} training examples, {seeds}",
        title,
        map(formats.sparsity, rows["sparsity"].tolist()),
        accuracy=100 * rows["accuracy"],
        seeds=list(map(formats.seeds, rows["n_seeds"].tolist())),
        **{name: rows[name] for name in numbers},
    )
