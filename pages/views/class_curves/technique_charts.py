"""Charts of the techniques: total accuracy and unfairness against sparsity, one line per technique and treatment."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from engine.pruning.techniques import TECHNIQUES
from pages.shared import formats
from pages.shared.charts.class_look import ClassLook
from pages.shared.charts.style import DASHES, along, chart_layout, dash, ink, marker, sparsity_look, technique_colour
from pages.shared.names import measure_name, technique_name, treatment_name, variant_name
from pages.views.class_curves.charts import STANDOFF, area

MODEL_LEVEL = ["technique", "treatment", "mitigation", "level"]


def total_chart(totals: pd.DataFrame, worst: pd.DataFrame, classes: ClassLook, bands: bool) -> go.Figure:
    """Accuracy by technique and treatment; `worst` has the class with the lowest accuracy at each level."""
    worst = worst[[*MODEL_LEVEL, "class", "accuracy"]].rename(columns={"accuracy": "class_accuracy"})
    rows = totals.merge(worst, on=MODEL_LEVEL, how="left")
    texts = []
    for row in _records(rows, "accuracy", "class", "class_accuracy"):
        lines = [
            _head(row),
            f"accuracy {formats.percent(row['accuracy'])} {formats.plus_minus(row['low'], row['high'])}",
        ]
        if not pd.isna(row["class"]):
            name = classes.name(int(row["class"]))
            lines.append(f"worst class {name}: {formats.percent(row['class_accuracy'])}")
        texts.append("<br>".join([*lines, formats.seeds(row["n_seeds"])]))
    rows = rows.assign(text=texts, low=rows["low"].clip(lower=0), high=rows["high"].clip(upper=1))
    return _figure(rows, "accuracy", {"title": "accuracy", "tickformat": ".0%"}, classes, bands)


def unfairness_chart(curves: pd.DataFrame, measure: str, classes: ClassLook, bands: bool) -> go.Figure:
    """Unfairness in one measure by technique and treatment."""
    in_points = formats.in_points(measure)
    name = formats.chart_text(measure_name(measure))
    texts = [
        f"{_head(row)}<br>{name} {formats.unfairness(row['unfairness'], measure)} {_spread(row, in_points)}<br>"
        f"{formats.seeds(row['n_seeds'])}"
        for row in _records(curves, "unfairness")
    ]
    rows = curves.assign(text=texts, low=curves["low"].clip(lower=0))
    if in_points:
        rows = rows.assign(**{column: 100 * rows[column] for column in ("unfairness", "low", "high")})
    title = f"{name[:1].lower()}{name[1:]}{', points' if in_points else ''}"
    return _figure(rows, "unfairness", {"title": title}, classes, bands)


def _records(rows: pd.DataFrame, *values: str) -> list[dict[str, Any]]:
    names = [*MODEL_LEVEL, "sparsity", "low", "high", "n_seeds", *values]
    columns = [rows[name].astype(object if name in MODEL_LEVEL[:3] else float).tolist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _head(row: Mapping[str, Any]) -> str:
    model = formats.chart_text(variant_name(row))
    return f"<b>{model}</b><br>level {row['level']:.0f}, sparsity {formats.sparsity(row['sparsity'])}"


def _spread(row: Mapping[str, Any], in_points: bool) -> str:
    if in_points:
        return formats.plus_minus(row["low"], row["high"])
    return "" if math.isnan(row["low"]) else f"± {formats.number((row['high'] - row['low']) / 2)}"


def _figure(rows: pd.DataFrame, value: str, y: dict[str, Any], classes: ClassLook, bands: bool) -> go.Figure:
    """One line per technique and treatment: colour and dash; the legend names each once."""
    lines, areas = [], []
    named: set[str] = set()
    for (technique, treatment), part in _models(rows):
        x = along(part["sparsity"].to_numpy(float), classes.scale)
        colour = technique_colour(technique)
        if bands:
            band = area(x, part["low"].to_numpy(float), part["high"].to_numpy(float), colour)
            areas.append(band | {"legendgroup": technique})
        lines.append(
            _trace(technique_name(technique), colour, treatment)
            | {
                "x": x,
                "y": part[value].to_numpy(float),
                "legendgroup": technique,
                "showlegend": technique not in named,
                "text": part["text"].tolist(),
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
        named.add(technique)
    ways = sorted(map(str, rows["treatment"].unique()), key=_place(DASHES))
    keys = [_trace(treatment_name(way), ink(classes.dark), way) | {"x": [None], "y": [None]} for way in ways]
    x_axis = sparsity_look(classes.scale)
    axes: dict[str, Any] = {
        "xaxis": x_axis | {"title": {"text": x_axis["title"], "standoff": STANDOFF}},
        "yaxis": y | {"title": {"text": y["title"], "standoff": STANDOFF}},
    }
    return go.Figure([*areas, *lines, *(keys if len(ways) > 1 else ())], chart_layout(**axes))


def _trace(name: str, colour: str, treatment: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": formats.chart_text(name),
        "line": {"color": colour, "dash": dash(treatment), "width": 2},
        "marker": {"symbol": marker(treatment), "size": 6},
    }


def _models(rows: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """The rows of each technique and treatment by level, in the order of their tables, ours before others."""
    groups = rows.sort_values("level").groupby(MODEL_LEVEL[:3], observed=True)
    parts = [((str(technique), str(treatment)), part) for (technique, treatment, _), part in groups]
    technique_place, treatment_place = _place(TECHNIQUES), _place(DASHES)
    return sorted(parts, key=lambda part: (technique_place(part[0][0]), treatment_place(part[0][1])))


def _place(table: Mapping[str, Any]) -> Callable[[str], tuple[int, str]]:
    keys = list(table)
    return lambda key: (keys.index(key) if key in table else len(keys), key)
