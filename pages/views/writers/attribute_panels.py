"""Change of accuracy against several attributes side by side, and a drawing of what tilt is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.panels import panels
from pages.shared.charts.style import SPOTLIGHT, axis, chart_layout
from pages.views.writers.charts import (
    Look,
    band_trace,
    by_dash,
    chosen_star,
    fitted,
    line_trace,
    parts,
    points_by_colour,
)
from pages.views.writers.words import attribute_label

LEANS = ((-0.6, "leans right"), (0.0, "upright: 0"), (0.6, "leans left"))
"""Tilts of the drawing, and what each is called."""


TILT = "Tilt is how far a stroke leans from upright: below 0 to the right, above 0 to the left."


def attribute_panels(table: pd.DataFrame, look: Look, colours: dict[str, str], attributes: Sequence[str]) -> Drawing:
    """A small chart for each attribute, one dot a member, with a line and its 95 % band per series; same heights."""
    rows = table.assign(points=100 * table["change"])
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for panel, attribute in zip(panels(len(attributes), len(attributes), 0.03, 0.0), attributes, strict=True):
        label, first = formats.chart_text(attribute_label(attribute)), panel.place == 0
        axes |= panel.layout(
            axis(f"mean {label}"),
            axis("change of accuracy (points)" if first else "", matches=None if first else "y", showticklabels=first),
        )
        own = replace(look, attribute=attribute, attribute_label=label)
        drawn = points_by_colour(rows, own, colours, attribute, "points")
        for name, colour, dash, part in parts(rows, own, colours):
            line = fitted(part, attribute, name)
            if len(line):
                drawn.append(band_trace(line, colour))
                drawn.append(line_trace(line["x"], line["y"], name, colour, dash, 3, by_dash(own)))
        drawn += chosen_star(rows, own, attribute, "points")
        named = {} if first else {"showlegend": False}
        traces += [trace | named | panel.axes for trace in drawn]
    return Drawing(traces, chart_layout(360, **axes))


def tilt_drawing(dark: bool) -> str:
    """What tilt is: three strokes, each beside an upright line, and what they are called; SVG."""
    ink, stroke = ("#E8ECF0" if dark else "#1B1F24"), SPOTLIGHT[dark]
    drawn = []
    for place, (tilt, name) in enumerate(LEANS):
        middle = 60 + 120 * place
        half = 36 * tilt
        drawn.append(
            f'<line x1="{middle}" x2="{middle}" y1="6" y2="78" stroke="{ink}" stroke-opacity="0.4" '
            'stroke-dasharray="4 4"/>'
            f'<line x1="{middle - half:.0f}" y1="6" x2="{middle + half:.0f}" y2="78" stroke="{stroke}" '
            'stroke-width="7" stroke-linecap="round"/>'
            f'<text x="{middle}" y="102" fill="{ink}" font-size="14" text-anchor="middle">{name}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 110" width="360" '
        f'font-family="sans-serif">{"".join(drawn)}</svg>'
    )
