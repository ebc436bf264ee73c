"""How classes and other groups look: colours, their names, and where names stand beside lines."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from plotly.colors import sample_colorscale, unlabel_rgb

from pages.shared import formats
from pages.shared.charts.style import GROUPS

UNKNOWN = "#7F7F7F"
"""Colour of a class without a dense accuracy."""

REACH = {False: (0.0, 0.9), True: (0.35, 1.0)}
"""Part of viridis that stands out from the background, light and dark."""

ORDER = (6, 2, 8, 4, 1, 5, 7, 3, 0)
"""The palette of groups, those first that show on light and dark alike."""

LONGEST = 14
"""Letters that a class may have beside its line or bar."""


@dataclass(frozen=True)
class ClassLook:
    """How classes look on the page: their names, their dense accuracy (which gives the colour), axis and theme."""

    names: Mapping[int, str]
    dense: Mapping[int, float]
    scale: str
    dark: bool

    @cached_property
    def span(self) -> tuple[float, float]:
        """Lowest and highest dense accuracy that is known; NaN if none is."""
        rated = self._rated.values()
        return (min(rated), max(rated)) if rated else (math.nan, math.nan)

    @cached_property
    def colours(self) -> dict[int, str]:
        """The colour of each class: viridis by dense accuracy, the worst dark; grey where that is not known."""
        low, high = self.span
        places = [(value - low) / (high - low) if high > low else 0.5 for value in self._rated.values()]
        return dict(zip(self._rated, self._shades(places), strict=True))

    def colour(self, number: int) -> str:
        """The colour of a class."""
        return self.colours.get(number, UNKNOWN)

    def name(self, number: int) -> str:
        """The name of a class, safe for a chart."""
        return formats.chart_text(self.names.get(number, str(number)))

    def label(self, number: int) -> str:
        """The name of a class, short enough to stand beside its line or bar."""
        name = self.names.get(number, str(number))
        return formats.chart_text(name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…")

    def colour_bar(self, x: float) -> list[dict[str, Any]]:
        """A trace that draws nothing but the bar of dense accuracies, right of the chart; none where all are equal."""
        low, high = self.span
        if not high > low:
            return []
        bar = {
            "title": {"text": "unpruned<br>accuracy"},
            "tickformat": ".1%" if high - low < 0.1 else ".0%",
            "thickness": 12,
            "x": x,
            "xanchor": "left",
            "outlinewidth": 0,
        }
        steps = np.linspace(0, 1, 9).tolist()
        scale = [[step, shade] for step, shade in zip(steps, self._shades(steps), strict=True)]
        colours = {"color": [low], "cmin": low, "cmax": high, "colorscale": scale, "colorbar": bar, "showscale": True}
        return [{"type": "scatter", "x": [None], "y": [None], "mode": "markers", "marker": colours}]

    @cached_property
    def _rated(self) -> dict[int, float]:
        return {number: value for number, value in self.dense.items() if not math.isnan(value)}

    def _shades(self, places: list[float]) -> list[str]:
        first, last = REACH[self.dark]
        samples = sample_colorscale("Viridis", [first + place * (last - first) for place in places]) if places else []
        return ["#" + "".join(f"{round(part):02X}" for part in unlabel_rgb(colour)) for colour in samples]


def group_colour(place: int) -> str:
    """The colour of the group, or other thing without a colour of its own, at this place among its like."""
    return GROUPS[ORDER[place % len(ORDER)]]


def group_colours(curves: pd.DataFrame, dark: bool) -> dict[str, str]:
    """A colour for each group: classes by their dense accuracy, the worst dark; other groups from their palette.

    `curves` has the columns group, grouping, level and accuracy.
    """
    first = curves.sort_values("level").drop_duplicates("group")
    if (first["grouping"] == "class").all():
        first = first.sort_values("accuracy")
        look = ClassLook({}, dict(enumerate(first["accuracy"].astype(float))), "linear", dark)
        return {str(group): look.colour(place) for place, group in enumerate(first["group"])}
    return {name: group_colour(place) for place, name in enumerate(sorted(map(str, first["group"])))}


def spread_out(values: np.ndarray, gap: float) -> np.ndarray:
    """Places near the values, in the same order and at least `gap` apart: the least-squares ones."""
    order = np.argsort(values, kind="stable")
    blocks: list[tuple[float, int]] = []  # mean of what its members would have without the gaps, and their number
    for rank, value in enumerate(values[order]):
        mean, n = float(value - rank * gap), 1
        while blocks and blocks[-1][0] > mean:
            before, m = blocks.pop()
            mean, n = (before * m + mean * n) / (m + n), m + n
        blocks.append((mean, n))
    places = np.empty(len(values))
    means = np.repeat([mean for mean, _ in blocks], [n for _, n in blocks])
    places[order] = means + gap * np.arange(len(values))
    return places


def within(places: np.ndarray, gap: float) -> np.ndarray:
    """Places `gap` apart, those beyond the ends of a chart from 0 to 1 moved in, with half a gap of air."""
    order, moved = np.argsort(places, kind="stable"), places.copy()
    above = 1 + gap / 2
    for at in order[::-1]:
        above = moved[at] = min(moved[at], above - gap)
    below = -gap / 2
    for at in order:
        below = moved[at] = max(moved[at], below + gap)
    return moved
