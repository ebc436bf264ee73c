"""One look for all charts: colours by meaning, markers by treatment, heights, margins, axes."""

from typing import Any

from engine.pruning.techniques import TECHNIQUES

GROUPS = ("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#882255", "#AA4499")
"""Colours of groups: Tol's muted palette, apart from the techniques'."""

GROUPS_ON_DARK = ("#9A8CF0", "#88CCEE", "#44AA99", "#4DB873", "#B5B54A", "#DDCC77", "#CC6677", "#D873A0", "#C77FC7")
"""The same hues, those lighter that a dark page would swallow."""

SPOTLIGHT = {False: "#0072B2", True: "#56B4E9"}
WORST = {False: "#B34700", True: "#FF9F4A"}
REST = {False: "#8A929B", True: "#77808A"}
QUIET_TEXT = {False: "#636B74", True: "#A6AEB7"}
"""Where one or two lines matter, on a light and on a dark page: these, all others, and the others' names."""

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
    """A layout with our margins and legend; over which `layout` goes."""
    return {
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        "hoverlabel": {"align": "left"},
        "dragmode": "zoom",
    } | layout


def axis(title: str = "", **look: Any) -> dict[str, Any]:
    """An axis with its title at our distance."""
    return {"title": {"text": title, "standoff": 14}, **look}


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


def sparsity_axis(scale: str, titled: bool = True, **look: Any) -> dict[str, Any]:
    """The horizontal axis of sparsity, with our distance of its title."""
    own = sparsity_look(scale)
    return own | axis(own["title"] if titled else "", **look)


def along(sparsity: Any, scale: str) -> Any:
    """Where a sparsity lies on that axis."""
    return 1 - sparsity if scale == "kept" else sparsity
