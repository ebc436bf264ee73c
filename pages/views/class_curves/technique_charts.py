"""Charts of the techniques: total accuracy and unfairness against sparsity, one line per technique and treatment.

Techniques are named at the ends of their lines, in their colours; one of them may be in the spotlight.
"""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.pruning.techniques import TECHNIQUES
from pages.shared import formats
from pages.shared.charts.class_look import ClassLook, spread_out, within
from pages.shared.charts.contrast import legible
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import DASHES, along, chart_layout, dash, ink, marker, sparsity_look, technique_colour
from pages.shared.names import measure_name, technique_name, treatment_name, variant_name
from pages.views.class_curves.charts import STANDOFF, area
from pages.views.class_curves.words import HALF

MODEL_LEVEL = ["technique", "treatment", "mitigation", "level"]

MOST_NAMED = 10
"""Up to so many techniques are named at the ends of their lines; more stand in a legend."""

NAME_SHARE = 0.096
"""Height of such a name, of two lines, as a share of the chart."""

TEXT_CONTRAST = 4.5
"""What text needs by WCAG."""


@dataclass(frozen=True)
class Look:
    """How these charts look: as the classes do, with bands or without, and the technique in the spotlight."""

    classes: ClassLook
    bands: bool
    spotlight: str = ""


def total_chart(totals: pd.DataFrame, worst: pd.DataFrame, look: Look) -> Drawing:
    """Accuracy by technique and treatment; `worst` has the class with the lowest accuracy at each level."""
    worst = worst[[*MODEL_LEVEL, "class", "accuracy"]].rename(columns={"accuracy": "class_accuracy"})
    rows = totals.merge(worst, on=MODEL_LEVEL, how="left")
    rows = rows.assign(
        shown=100 * rows["accuracy"],
        half=50 * (rows["high"] - rows["low"]),
        worst=["" if number != number else look.classes.name(int(number)) for number in rows["class"].tolist()],
        of_worst=100 * rows["class_accuracy"],
        low=rows["low"].clip(lower=0),
        high=rows["high"].clip(upper=1),
    )
    said = "accuracy {shown:.1f} %[ ± {half:.1f}][<br>worst class {worst}: {of_worst:.1f} %]"
    y = {"title": "accuracy", "tickformat": ".0%", "range": [0.0, 1.02]}
    return _figure(rows, "accuracy", y, look, said)


def unfairness_chart(curves: pd.DataFrame, measure: str, look: Look) -> Drawing:
    """Unfairness in one measure by technique and treatment."""
    name, unit, form = formats.chart_text(measure_name(measure)), "", ".3~r"
    if in_points := formats.in_points(measure):
        unit, form = " pt", ".1f"
        curves = curves.assign(**{column: 100 * curves[column] for column in ("unfairness", "low", "high")})
    rows = curves.assign(
        shown=curves["unfairness"], half=(curves["high"] - curves["low"]) / 2, low=curves["low"].clip(lower=0)
    )
    said = f"{name}[ {{shown:{form}}}{unit}][ ± {{half:{form}}}]"
    title = f"{name[:1].lower()}{name[1:]}{', points' if in_points else ''}"
    drawn, most = rows["unfairness"].dropna(), 100 * HALF
    bottom, top = (min(0.0, float(drawn.min())), float(drawn.max())) if len(drawn) else (0.0, 1.0)
    top = most if in_points and top > most else 1.05 * top or 1.0
    return _figure(rows, "unfairness", {"title": title, "range": [bottom, top]}, look, said)


def _figure(rows: pd.DataFrame, value: str, y: dict[str, Any], look: Look, said: str) -> Drawing:
    """One line per technique and treatment: colour and dash; techniques named at their ends, treatments in the legend.

    `said` is what hover says of a point, by the columns of `rows`.
    """
    lines, areas = [], []
    models, dark = _models(rows), look.classes.dark
    ends: dict[str, float] = {}
    for (technique, treatment, mitigation), part in models:
        x = along(part["sparsity"], look.classes.scale)
        colour = legible(technique_colour(technique), dark)
        if look.bands:
            areas.append(area(x, part["low"], part["high"], colour) | {"legendgroup": technique})
        model = {"technique": technique, "treatment": treatment, "mitigation": mitigation}
        lines.append(
            _trace(technique_name(technique), colour, treatment, strong=technique == look.spotlight)
            | {"x": x, "y": part[value], "legendgroup": technique, "showlegend": technique not in ends}
            | hover(
                f"<b>{{title}}</b><br>level {{level:.0f}}, sparsity {{text}}<br>{said}<br>{{seeds}}",
                formats.chart_text(variant_name(model)),
                map(formats.sparsity, part["sparsity"].tolist()),
                **part | {"seeds": [formats.seeds(n) for n in part["n_seeds"].tolist()]},
            )
        )
        known = part[value][~np.isnan(part[value])]
        ends.setdefault(technique, float(known[-1]) if len(known) else y["range"][0])
    ways = sorted(map(str, rows["treatment"].unique()), key=_place(DASHES))
    keys = [_trace(treatment_name(way), ink(dark), way) | {"x": [None], "y": [None]} for way in ways]
    x_axis = sparsity_look(look.classes.scale) | {"tickangle": 0}
    if look.classes.scale == "kept":
        x_axis |= {name: x_axis[name][::2] for name in ("tickvals", "ticktext")}
    axes: dict[str, Any] = {
        "xaxis": x_axis | {"title": {"text": x_axis["title"], "standoff": STANDOFF}},
        "yaxis": y | {"title": {"text": y["title"], "standoff": STANDOFF}},
    }
    if len(ends) <= MOST_NAMED:
        names = _names(ends, y["range"], look)
        longest = max((len(word) for note in names for word in note["text"].split("<br>")), default=0)
        axes |= {"annotations": names, "margin": {"l": 10, "r": 20 + 7 * longest, "t": 30, "b": 10}}
        lines = [line | {"showlegend": False} for line in lines]
    return Drawing([*areas, *lines, *(keys if len(ways) > 1 else ())], chart_layout(**axes))


def _names(ends: Mapping[str, float], reach: list[float], look: Look) -> list[dict[str, Any]]:
    """The names of the techniques right of the chart, at the height at which their lines end, none on another."""
    bottom, top = reach
    heights = np.clip([(end - bottom) / (top - bottom) for end in ends.values()], 0, 1)
    places = within(spread_out(heights, NAME_SHARE), NAME_SHARE)
    notes = []
    for technique, place in zip(ends, places.tolist(), strict=True):
        text = technique_name(technique)
        halves = textwrap.wrap(text, max(10, len(text) // 2 + 2)) or [text]
        name = "<br>".join(formats.chart_text(half) for half in [halves[0], " ".join(halves[1:])] if half)
        notes.append(
            {
                "text": f"<b>{name}</b>" if technique == look.spotlight else name,
                "showarrow": False,
                "align": "left",
                "x": 1.015,
                "y": place,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "middle",
                "font": {
                    "size": 12,
                    "color": legible(technique_colour(technique), look.classes.dark, TEXT_CONTRAST),
                },
            }
        )
    return notes


def _trace(name: str, colour: str, treatment: str, strong: bool = False) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": formats.chart_text(name),
        "line": {"color": colour, "dash": dash(treatment), "width": 3 if strong else 1.5},
        "marker": {"symbol": marker(treatment), "size": 7 if strong else 4},
    }


def _models(rows: pd.DataFrame) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """The columns of each technique, treatment and mitigation by level, in the order of their tables, ours first."""
    rows = rows.sort_values("level")
    columns = {str(name): rows[name].to_numpy() for name in rows if name not in MODEL_LEVEL[:3]}
    parts = [
        (tuple(map(str, model)), {name: values[places] for name, values in columns.items()})
        for model, places in rows.groupby(MODEL_LEVEL[:3], observed=True).indices.items()
    ]
    technique_place, treatment_place = _place(TECHNIQUES), _place(DASHES)
    return sorted(parts, key=lambda part: (technique_place(part[0][0]), treatment_place(part[0][1])))


def _place(table: Mapping[str, Any]) -> Callable[[str], tuple[int, str]]:
    keys = list(table)
    return lambda key: (keys.index(key) if key in table else len(keys), key)
