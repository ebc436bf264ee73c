"""One look for all charts: colours by meaning, markers by treatment, heights, margins, axes."""

from typing import Any

import plotly.graph_objects as go

from engine.pruning.techniques import TECHNIQUES

GROUPS = ("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#882255", "#AA4499")
"""Colours of groups: Tol's muted palette, apart from the techniques'."""

MARKERS = {"rewind": "circle", "finetune": "diamond"}
DASHES = {"rewind": "solid", "finetune": "dash"}
HEIGHT = 460


def technique_colour(key: str) -> str:
    """The colour of a technique, the same on every page; grey for one that is not ours."""
    return TECHNIQUES[key].colour if key in TECHNIQUES else "#7F7F7F"


def marker(treatment: str) -> str:
    """The marker of a treatment."""
    return MARKERS.get(treatment, "square")


def dash(treatment: str) -> str:
    """The dash of a treatment's line."""
    return DASHES.get(treatment, "dot")


def ink(dark: bool) -> str:
    """Black on light, white on dark."""
    return "#FFFFFF" if dark else "#000000"


def faded(colour: str, opacity: float) -> str:
    """A hexadecimal colour with an opacity."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


ALONE = {"displaylogo": False}
"""Settings of a figure in a file of its own: no link leads out of it."""


def chart_layout(height: int = HEIGHT, **layout: Any) -> dict[str, Any]:
    """A layout with our margins and legend; several times faster when a figure is made with it than set afterwards."""
    return {
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        "hoverlabel": {"align": "left"},
        "dragmode": "zoom",
    } | layout


def styled(figure: go.Figure, x: str = "", y: str = "", height: int = HEIGHT, **layout: Any) -> go.Figure:
    """The figure with our margins, axis titles and legend."""
    figure.update_layout(**chart_layout(height))
    figure.update_layout(**layout)
    if x:
        figure.update_xaxes(title=x)
    if y:
        figure.update_yaxes(title=y)
    figure.update_xaxes(title_standoff=14)
    figure.update_yaxes(title_standoff=14)
    return figure


def sparsity_look(scale: str) -> dict[str, Any]:
    """An axis of sparsity: linear, or the share of weights kept on a log scale from 100 % down."""
    if scale != "kept":
        return {"tickformat": ".0%", "title": "sparsity"}
    ticks = [1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
    return {
        "type": "log",
        "autorange": "reversed",
        "tickvals": ticks,
        "ticktext": [f"{100 * tick:g} %" for tick in ticks],
        "title": "weights kept",
    }


def sparsity_axis(figure: go.Figure, scale: str, **where: Any) -> go.Figure:
    """The figure with its horizontal axis as one of sparsity."""
    return figure.update_xaxes(**sparsity_look(scale), **where)


def along(sparsity: Any, scale: str) -> Any:
    """Where a sparsity lies on that axis."""
    return 1 - sparsity if scale == "kept" else sparsity
