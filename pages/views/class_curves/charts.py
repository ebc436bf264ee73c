"""Charts of the classes: accuracy of each against sparsity, seed by seed or as means, by technique, and class sizes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.curves.baseline import CONTROL, DENSE
from pages.shared import formats
from pages.shared.charts.class_look import ClassLook, spread_out
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.panels import panels
from pages.shared.charts.style import (
    QUIET_TEXT,
    REST,
    SPOTLIGHT,
    WORST,
    along,
    chart_layout,
    faded,
    sparsity_look,
)
from pages.shared.names import baseline_name, technique_name

MOST_LABELS = 20
"""Up to so many classes are named at the ends of their lines."""

SHARE_OF_GAP = 0.045
"""Least distance of two such names, as a share of the chart's height."""

FEWEST_SEEDS = 3
"""With fewer seeds a band says little and hides much; it is drawn only when asked for."""

COLUMNS = 4
"""Panels in a row."""

STANDOFF = 14

Curve = dict[str, np.ndarray]


@dataclass(frozen=True)
class Seen:
    """Which classes stand out from the grey of all others: the one in the spotlight, and the one that ends lowest."""

    spotlight: int | None
    lowest: int | None
    dark: bool

    def colour(self, number: int, rest: Mapping[bool, str] = REST) -> str:
        """The colour of a class; `rest` is that of all others."""
        if number == self.spotlight:
            return SPOTLIGHT[self.dark]
        return WORST[self.dark] if number == self.lowest else rest[self.dark]

    def rank(self, number: int) -> int:
        """Those of a higher rank are drawn later, and so on top."""
        return 2 * (number == self.spotlight) + (number == self.lowest)


def class_chart(
    curves: pd.DataFrame, classes: ClassLook, spotlight: int | None, bands: bool, lowest: int | None = None
) -> Drawing:
    """One line per class of one model, the average of its runs; the one in the spotlight has its 95 % band."""
    seen = Seen(spotlight, lowest, classes.dark)
    parts = _by_class(curves, ["level"], seen)
    wide = [(n, c) for n, c in parts if bands or (n == spotlight and c["n_seeds"].max() >= FEWEST_SEEDS)]
    traces = [_band(curve, classes, seen.colour(number)) for number, curve in wide]
    traces += [_line(curve, classes, number, seen) for number, curve in parts]
    return _figure(traces, curves, classes, seen)


def seed_chart(models: pd.DataFrame, classes: ClassLook, spotlight: int | None, lowest: int | None = None) -> Drawing:
    """One line per class and seed of one model; the class in the spotlight stands out."""
    traces, seen = [], Seen(spotlight, lowest, classes.dark)
    for number, curve in _by_class(models, ["seed", "level"], seen):
        ends = np.flatnonzero(np.diff(curve["seed"])) + 1
        apart = {name: np.insert(values.astype(float), ends, np.nan) for name, values in curve.items()}
        strong = number == spotlight
        line = _line(apart, classes, number, seen)
        line["line"]["width"] = 2.5 if strong else 1.2
        traces.append(line | {"opacity": 1.0 if strong else 0.55})
    return _figure(traces, models, classes, seen)


def class_histogram(facts: pd.DataFrame, classes: ClassLook) -> Drawing:
    """Training examples of each class in the classes' colours, the one best served before pruning on top."""
    facts = facts.assign(dense=[classes.dense.get(int(number), math.nan) for number in facts["class"]])
    facts = facts.sort_values(["dense", "class"], ascending=[True, False], na_position="first")
    numbers = facts["class"].astype(int).tolist()
    keys = [str(number) for number in numbers]
    bars = {
        "type": "bar",
        "x": facts["n_train"].to_numpy(),
        "y": keys,
        "orientation": "h",
        "marker": {"color": [classes.colour(number) for number in numbers]},
        "textposition": "none",
        **hover(
            "<b>class {text}</b><br>{n_train:,.0f} training examples<br>{n_test:,.0f} test examples"
            "[<br>unpruned accuracy {dense:.1f} %]",
            texts=map(classes.name, numbers),
            n_train=facts["n_train"],
            n_test=facts["n_test"],
            dense=100 * facts["dense"],
        ),
    }
    names = {"type": "category", "tickvals": keys, "ticktext": [classes.label(number) for number in numbers]}
    return Drawing(
        [bars], chart_layout(showlegend=False, bargap=0.25, xaxis={"title": _title("training examples")}, yaxis=names)
    )


def technique_panels(
    curves: pd.DataFrame, classes: ClassLook, techniques: Sequence[str], spotlight: int | None = None
) -> Drawing:
    """The class curves of each technique side by side, on the same axes, in rows as even as they can be."""
    n_rows = math.ceil(len(techniques) / COLUMNS)
    n_columns = math.ceil(len(techniques) / n_rows)
    kept = 1 - curves["sparsity"].max()
    traces, titles = [], []
    seen = Seen(spotlight, None, classes.dark)
    axes: dict[str, Any] = {}
    grid = panels(len(techniques), n_columns, 0.03, 0.38 / n_rows if n_rows > 1 else 0.0)
    for panel, technique in zip(grid, techniques, strict=True):
        is_first = panel.place % n_columns == 0
        axes |= panel.layout(
            _panel_axis(classes.scale, kept, panel.place == (n_rows - 1) * n_columns)
            | {"matches": "x" if panel.place else None},
            {
                "matches": "y" if panel.place else None,
                "tickformat": ".0%",
                "range": [0, 1.02],
                "showticklabels": is_first,
                "title": _title("class accuracy" if is_first else ""),
            },
        )
        name = "<br>".join(formats.chart_text(technique_name(technique)).split(" ", 1))
        middle = sum(panel.across) / 2
        titles.append(_note(name, (middle, panel.upward[1]), "center") | {"yref": "paper", "yanchor": "bottom"})
        for number, curve in _by_class(curves[curves["technique"] == technique], ["level"], seen):
            traces.append(_line(curve, classes, number, seen) | {"mode": "lines"} | panel.axes)
    margin = {"l": 10, "r": 10, "t": 48, "b": 10}
    return Drawing(traces, chart_layout(90 + 215 * n_rows, showlegend=False, annotations=titles, margin=margin, **axes))


def _panel_axis(scale: str, kept: float, titled: bool) -> dict[str, Any]:
    """The axis of a panel: few marks, so short that they stand beside each other on a phone; the last of them is where
    the levels end."""
    axis = sparsity_look(scale) | {"tickangle": 0}
    axis["title"] = _title(f"{axis['title']}, %" if titled else "")
    if scale != "kept":
        return axis | {"tickvals": [0, 0.5, 1], "ticktext": ["0", "50", "100"]}
    marks = [tick for tick in axis["tickvals"] if tick >= kept]
    ticks = sorted({1, *(tick for tick in (0.1, 0.01) if tick > 2 * marks[-1]), marks[-1]}, reverse=True)
    return axis | {"tickvals": ticks, "ticktext": [f"{100 * tick:g}" for tick in ticks]}


def _by_class(rows: pd.DataFrame, order: list[str], seen: Seen) -> list[tuple[int, Curve]]:
    """The columns of each class, its rows in order; the class to be drawn on top comes last."""
    names = ("level", "sparsity", "accuracy", "low", "high", "dense_accuracy", "controlled", "n", "n_seeds", "seed")
    rows = rows.sort_values(["class", *order])
    columns = {name: rows[name].to_numpy() for name in names if name in rows}
    numbers, starts = np.unique(rows["class"].to_numpy(), return_index=True)
    stops = [*starts[1:], len(rows)]
    parts = [
        (int(number), {name: values[start:stop] for name, values in columns.items()})
        for number, start, stop in zip(numbers, starts, stops, strict=True)
    ]
    return sorted(parts, key=lambda part: seen.rank(part[0]))


def _line(curve: Curve, classes: ClassLook, number: int, seen: Seen) -> dict[str, Any]:
    strong = number == seen.spotlight
    return {
        "type": "scatter",
        "x": along(curve["sparsity"], classes.scale),
        "y": curve["accuracy"],
        "mode": "lines+markers",
        "name": classes.name(number),
        "line": {"color": seen.colour(number), "width": (1.3, 3, 4)[min(seen.rank(number), 2)]},
        "marker": {"size": 7 if strong else 4},
        **_hover(curve, classes.name(number)),
    }


def _hover(curve: Curve, name: str) -> dict[str, Any]:
    """What hover says of each point of a class: level, sparsity, accuracy, change, n, seed or seeds.

    Curves that do not say `controlled` are compared with dense.
    """
    accuracy, unknown = 100 * curve["accuracy"], np.full(len(curve["level"]), np.nan)
    low, high = (100 * curve.get(end, unknown) for end in ("low", "high"))
    controlled = curve.get("controlled", np.zeros(len(unknown))) == 1
    change = accuracy - 100 * curve["dense_accuracy"]
    return hover(
        "<b>class {title}</b><br>level {level:.0f}, sparsity {text}<br>accuracy {accuracy:.1f} %[ ± {half:.1f}]<br>"
        f"[{{control:+.1f}} pt against {baseline_name(CONTROL)}][{{dense:+.1f}} pt against {baseline_name(DENSE)}]<br>"
        "n {n:,.0f}, {whose}",
        name,
        map(formats.sparsity, curve["sparsity"].tolist()),
        level=curve["level"],
        accuracy=accuracy,
        half=(high - low) / 2,
        control=np.where(controlled, change, np.nan),
        dense=np.where(controlled, np.nan, change),
        n=curve["n"],
        whose=[formats.seeds(n) for n in curve["n_seeds"].tolist()]
        if "n_seeds" in curve
        else [f"seed {seed:.0f}" for seed in curve["seed"].tolist()],
    )


def _band(curve: Curve, classes: ClassLook, colour: str) -> dict[str, Any]:
    x = along(curve["sparsity"], classes.scale)
    return area(x, np.maximum(curve["low"], 0), np.minimum(curve["high"], 1), colour)


def area(x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> dict[str, Any]:
    """The trace of a band between two lines; where an end is not known there is none."""
    both = ~(np.isnan(low) | np.isnan(high))
    return {
        "type": "scatter",
        "x": np.concatenate([x[both], x[both][::-1]]),
        "y": np.concatenate([high[both], low[both][::-1]]),
        "fill": "toself",
        "fillcolor": faded(colour, 0.18),
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _figure(traces: list[dict[str, Any]], rows: pd.DataFrame, classes: ClassLook, seen: Seen) -> Drawing:
    """The traces with axes, and the names of the classes at the ends of their lines."""
    lowest = rows["accuracy"].min()
    bottom = 0.0 if pd.isna(lowest) else max(0.0, math.floor(20 * lowest - 0.5) / 20)
    last = rows[rows["level"] == rows["level"].max()].groupby("class")["accuracy"].mean().dropna()
    last = last if len(last) <= MOST_LABELS else last[:0]
    places = spread_out(last.to_numpy(), SHARE_OF_GAP * (1 - bottom))
    names = [
        _note(classes.label(int(number)), (1.008, place), "left", seen.colour(int(number), QUIET_TEXT))
        for number, place in zip(last.index, places, strict=True)
    ]
    longest = max((len(note["text"]) for note in names), default=0)
    x = sparsity_look(classes.scale) | {"autorange": False, "range": _ends(rows["sparsity"], classes.scale)}
    y = {"title": _title("class accuracy"), "tickformat": ".0%", "range": [bottom, 1 + 0.01 * (1 - bottom)]}
    layout = chart_layout(showlegend=False, annotations=names, xaxis=x | {"title": _title(x["title"])}, yaxis=y) | {
        "margin": {"l": 10, "r": 20 + 8 * longest, "t": 30, "b": 10}
    }
    return Drawing(traces, layout)


def _ends(sparsity: pd.Series, scale: str) -> list[float]:
    """The axis from the first to the last level and a little more, so that names stand at the ends of their lines."""
    least, most = float(sparsity.min()), float(sparsity.max())
    first, last = (math.log10(1 - least), math.log10(max(1 - most, 1e-6))) if scale == "kept" else (least, most)
    margin = 0.015 * (last - first)
    return [first - margin, last + margin]


def _note(text: str, at: tuple[float, float], anchor: str, colour: str | None = None) -> dict[str, Any]:
    font = {"size": 13} | ({"color": colour} if colour else {})
    place = {"x": at[0], "y": at[1], "xref": "paper", "xanchor": anchor}
    return {"text": text, "showarrow": False, "font": font} | place


def _title(text: str) -> dict[str, Any]:
    return {"text": text, "standoff": STANDOFF}
