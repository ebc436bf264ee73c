"""Charts of the techniques: total accuracy and unfairness against sparsity, one line per technique and treatment."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from engine.pruning.techniques import TECHNIQUES
from pages.shared import formats
from pages.shared.charts.class_look import ClassLook
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import DASHES, along, chart_layout, dash, ink, marker, sparsity_look, technique_colour
from pages.shared.names import measure_name, technique_name, treatment_name, variant_name
from pages.views.class_curves.charts import STANDOFF, area
from pages.views.class_curves.words import HALF

MODEL_LEVEL = ["technique", "treatment", "mitigation", "level"]


def total_chart(totals: pd.DataFrame, worst: pd.DataFrame, classes: ClassLook, bands: bool) -> Drawing:
    """Accuracy by technique and treatment; `worst` has the class with the lowest accuracy at each level."""
    worst = worst[[*MODEL_LEVEL, "class", "accuracy"]].rename(columns={"accuracy": "class_accuracy"})
    rows = totals.merge(worst, on=MODEL_LEVEL, how="left")
    rows = rows.assign(
        shown=100 * rows["accuracy"],
        half=50 * (rows["high"] - rows["low"]),
        worst=["" if number != number else classes.name(int(number)) for number in rows["class"].tolist()],
        of_worst=100 * rows["class_accuracy"],
        low=rows["low"].clip(lower=0),
        high=rows["high"].clip(upper=1),
    )
    said = "accuracy {shown:.1f} %[ ± {half:.1f}][<br>worst class {worst}: {of_worst:.1f} %]"
    return _figure(rows, "accuracy", {"title": "accuracy", "tickformat": ".0%"}, classes, bands, said)


def unfairness_chart(curves: pd.DataFrame, measure: str, classes: ClassLook, bands: bool) -> Drawing:
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
    most = 100 * HALF
    clipped = in_points and rows["unfairness"].max() > most
    y = {"title": title} | ({"range": [min(0.0, float(rows["unfairness"].min())), most]} if clipped else {})
    return _figure(rows, "unfairness", y, classes, bands, said)


def _figure(rows: pd.DataFrame, value: str, y: dict[str, Any], classes: ClassLook, bands: bool, said: str) -> Drawing:
    """One line per technique and treatment: colour and dash; the legend names each once.

    `said` is what hover says of a point, by the columns of `rows`.
    """
    lines, areas = [], []
    named: set[str] = set()
    for (technique, treatment, mitigation), part in _models(rows):
        x = along(part["sparsity"], classes.scale)
        colour = technique_colour(technique)
        if bands:
            areas.append(area(x, part["low"], part["high"], colour) | {"legendgroup": technique})
        model = {"technique": technique, "treatment": treatment, "mitigation": mitigation}
        lines.append(
            _trace(technique_name(technique), colour, treatment)
            | {"x": x, "y": part[value], "legendgroup": technique, "showlegend": technique not in named}
            | hover(
                f"<b>{{title}}</b><br>level {{level:.0f}}, sparsity {{text}}<br>{said}<br>{{seeds}}",
                formats.chart_text(variant_name(model)),
                map(formats.sparsity, part["sparsity"].tolist()),
                **part | {"seeds": [formats.seeds(n) for n in part["n_seeds"].tolist()]},
            )
        )
        named.add(technique)
    ways = sorted(map(str, rows["treatment"].unique()), key=_place(DASHES))
    keys = [_trace(treatment_name(way), ink(classes.dark), way) | {"x": [None], "y": [None]} for way in ways]
    x_axis = sparsity_look(classes.scale)
    axes: dict[str, Any] = {
        "xaxis": x_axis | {"title": {"text": x_axis["title"], "standoff": STANDOFF}},
        "yaxis": y | {"title": {"text": y["title"], "standoff": STANDOFF}},
    }
    return Drawing([*areas, *lines, *(keys if len(ways) > 1 else ())], chart_layout(**axes))


def _trace(name: str, colour: str, treatment: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": formats.chart_text(name),
        "line": {"color": colour, "dash": dash(treatment), "width": 2},
        "marker": {"symbol": marker(treatment), "size": 6},
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
