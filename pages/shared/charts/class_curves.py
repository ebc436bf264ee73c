"""Charts of the Class curves page: accuracy of each class against sparsity, and totals and unfairness by technique."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale, unlabel_rgb
from plotly.subplots import make_subplots

from engine.techniques import TECHNIQUES
from pages.shared import formats
from pages.shared.charts.style import DASHES, along, dash, faded, ink, marker, sparsity_axis, styled, technique_colour

UNKNOWN = "#7F7F7F"
"""Colour of a class without a dense accuracy."""

REACH = {False: (0.0, 0.9), True: (0.35, 1.0)}
"""Part of viridis that stands out from the background, light and dark."""

MOST_LABELS = 20
"""Up to so many classes are named at the ends of their lines."""

FEWEST_SEEDS = 3
"""With fewer seeds a band says little and hides much; it is drawn only when asked for."""

SHARE_OF_GAP = 0.045
"""Least distance of two such names, as a share of the chart's height."""

COLUMNS = 4


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
        known = [value for value in self.dense.values() if not math.isnan(value)]
        return (min(known), max(known)) if known else (math.nan, math.nan)

    @cached_property
    def colours(self) -> dict[int, str]:
        """The colour of each class: viridis by dense accuracy, the worst dark."""
        low, high = self.span
        return {
            number: UNKNOWN if math.isnan(value) else self._shade((value - low) / (high - low) if high > low else 0.5)
            for number, value in self.dense.items()
        }

    def colour(self, number: int) -> str:
        """The colour of a class; grey if its dense accuracy is not known."""
        return self.colours.get(number, UNKNOWN)

    def name(self, number: int) -> str:
        """The name of a class, safe for a chart."""
        return formats.chart_text(self.names.get(number, str(number)))

    def colour_scale(self) -> list[list[Any]]:
        """The colours from the lowest to the highest dense accuracy, for a colour bar."""
        return [[step, self._shade(step)] for step in np.linspace(0, 1, 9).tolist()]

    def _shade(self, position: float) -> str:
        first, last = REACH[self.dark]
        red, green, blue = unlabel_rgb(sample_colorscale("Viridis", [first + position * (last - first)])[0])
        return f"#{round(red):02X}{round(green):02X}{round(blue):02X}"


def class_chart(curves: pd.DataFrame, look: ClassLook, spotlight: int | None, bands: bool) -> go.Figure:
    """One line per class of one model, its mean over seeds; the one in the spotlight is thick and has its 95 % band."""
    figure = go.Figure()
    for number, rows in _by_class(curves, spotlight):
        if bands or (number == spotlight and rows["n_seeds"].max() >= FEWEST_SEEDS):
            figure.add_trace(_band(rows, look, number))
    for number, rows in _by_class(curves, spotlight):
        figure.add_trace(_line(rows, look, number, number == spotlight))
    return _finish(figure, curves, look)


def seed_chart(models: pd.DataFrame, look: ClassLook, spotlight: int | None) -> go.Figure:
    """One line per class and seed of one model; the class in the spotlight is thick."""
    figure = go.Figure()
    for number, rows in _by_class(models, spotlight):
        parts = [_with_gap(part.sort_values("level")) for _, part in rows.groupby("seed")]
        rows = pd.concat(parts, ignore_index=True)
        trace = _line(rows, look, number, number == spotlight)
        figure.add_trace(trace.update(opacity=1 if number == spotlight else 0.55, line_width=1.2))
    return _finish(figure, models, look)


def class_histogram(facts: pd.DataFrame, look: ClassLook) -> go.Figure:
    """Training examples of each class in the classes' colours, the one best served before pruning on top."""
    facts = facts.assign(dense=[look.dense.get(int(number), math.nan) for number in facts["class"]])
    facts = facts.sort_values(["dense", "class"], ascending=[True, False], na_position="first")
    numbers = facts["class"].astype(int)
    texts = [
        f"<b>class {look.name(row.class_)}</b><br>{formats.count(row.n_train)} training examples<br>"
        f"{formats.count(row.n_test)} test examples<br>unpruned accuracy {formats.percent(row.dense)}"
        for row in facts.rename(columns={"class": "class_"}).itertuples()
    ]
    figure = go.Figure(
        go.Bar(
            x=facts["n_train"],
            y=[f"{look.name(number)} " for number in numbers],
            orientation="h",
            marker={"color": [look.colour(number) for number in numbers]},
            text=texts,
            textposition="none",
            hovertemplate="%{text}<extra></extra>",
        )
    )
    styled(figure, x="training examples", showlegend=False, bargap=0.25)
    return figure.update_yaxes(type="category")


def technique_multiples(curves: pd.DataFrame, look: ClassLook, techniques: Sequence[str]) -> go.Figure:
    """The class curves of each technique side by side, on the same axes."""
    n_columns = min(COLUMNS, len(techniques))
    n_rows = math.ceil(len(techniques) / n_columns)
    figure = make_subplots(
        n_rows,
        n_columns,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=[formats.chart_text(formats.technique(key)) for key in techniques],
        horizontal_spacing=0.02,
        vertical_spacing=0.14 if n_rows > 1 else 0,
    )
    for place, technique in enumerate(techniques):
        where = {"row": place // n_columns + 1, "col": place % n_columns + 1}
        for number, rows in _by_class(curves[curves["technique"] == technique], None):
            figure.add_trace(_line(rows, look, number, False).update(mode="lines"), **where)
    sparsity_axis(figure, look.scale)
    styled(figure, height=80 + 200 * n_rows, showlegend=False)
    figure.update_xaxes(title_text="", nticks=4, tickangle=0)
    figure.update_annotations(font_size=13)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    figure.update_yaxes(title_text="class accuracy", col=1)
    title = "weights kept" if look.scale == "kept" else "sparsity"
    for column in range(1, n_columns + 1):
        last = n_rows if (n_rows - 1) * n_columns + column <= len(techniques) else n_rows - 1
        figure.update_xaxes(title_text=title, showticklabels=True, row=last, col=column)
    if look.scale == "kept":
        ticks = [1, 0.1, 0.01, 0.001]
        figure.update_xaxes(tickvals=ticks, ticktext=[f"{100 * tick:g} %" for tick in ticks])
    return figure


def total_chart(totals: pd.DataFrame, worst: pd.DataFrame, look: ClassLook, bands: bool) -> go.Figure:
    """Accuracy by technique and treatment; `worst` has the class with the lowest accuracy at each level."""
    keys = ["technique", "treatment", "mitigation", "level"]
    worst = worst[[*keys, "class", "accuracy"]].rename(columns={"accuracy": "class_accuracy"})
    rows = totals.merge(worst, on=keys, how="left")
    texts = [
        f"{_model(row)}<br>level {row['level']}, sparsity {formats.sparsity(row['sparsity'])}<br>accuracy "
        f"{formats.percent(row['accuracy'])} {formats.plus_minus(row['low'], row['high'])}<br>"
        + ("" if pd.isna(row["class"]) else f"worst class {look.name(int(row['class']))}: ")
        + ("" if pd.isna(row["class"]) else f"{formats.percent(row['class_accuracy'])}<br>")
        + formats.seeds(row["n_seeds"])
        for row in rows.to_dict("records")
    ]
    rows = rows.assign(text=texts, low=rows["low"].clip(lower=0), high=rows["high"].clip(upper=1))
    figure = _techniques(rows, "accuracy", look, bands)
    return figure.update_yaxes(title_text="accuracy", tickformat=".0%")


def unfairness_chart(curves: pd.DataFrame, measure: str, look: ClassLook, bands: bool) -> go.Figure:
    """Unfairness in one measure by technique and treatment."""
    in_points = formats.unfairness(0.0, measure).endswith("pt")
    texts = [
        f"{_model(row)}<br>level {row['level']}, sparsity {formats.sparsity(row['sparsity'])}<br>"
        f"{formats.chart_text(formats.measure(measure))} {formats.unfairness(row['unfairness'], measure)} "
        f"{_spread(row, in_points)}<br>{formats.seeds(row['n_seeds'])}"
        for row in curves.to_dict("records")
    ]
    scaled = curves.assign(text=texts, low=curves["low"].clip(lower=0))
    if in_points:
        scaled = scaled.assign(**{name: 100 * scaled[name] for name in ("unfairness", "low", "high")})
    figure = _techniques(scaled, "unfairness", look, bands)
    unit = ", points" if in_points else ""
    return figure.update_yaxes(title_text=f"{formats.chart_text(formats.measure(measure)).lower()}{unit}")


def _spread(row: Mapping[Any, Any], in_points: bool) -> str:
    if in_points:
        return formats.plus_minus(row["low"], row["high"])
    return "" if math.isnan(row["low"]) else f"± {formats.number((row['high'] - row['low']) / 2)}"


def _model(row: Mapping[Any, Any]) -> str:
    return f"<b>{formats.chart_text(formats.model(row))}</b>"


def _techniques(rows: pd.DataFrame, value: str, look: ClassLook, bands: bool) -> go.Figure:
    """One line per technique and treatment: colour and dash; the legend names each once."""
    figure = go.Figure()
    named: set[str] = set()
    parts = list(rows.groupby(["technique", "treatment", "mitigation"], observed=True))
    ways = sorted(rows["treatment"].astype(str).unique(), key=_place(DASHES))
    for (technique, treatment, _), part in sorted(parts, key=lambda pair: _order(pair[0])):
        part = part.sort_values("level")
        x = along(part["sparsity"].to_numpy(float), look.scale)
        colour, technique = technique_colour(str(technique)), str(technique)
        if bands:
            figure.add_trace(_area(x, part["low"], part["high"], colour, technique))
        figure.add_scatter(
            x=x,
            y=part[value],
            mode="lines+markers",
            name=formats.chart_text(formats.technique(technique)),
            legendgroup=technique,
            showlegend=technique not in named,
            line={"color": colour, "dash": dash(str(treatment)), "width": 2},
            marker={"symbol": marker(str(treatment)), "size": 6},
            text=part["text"],
            hovertemplate="%{text}<extra></extra>",
        )
        named.add(technique)
    for treatment in ways if len(ways) > 1 else ():
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines+markers",
            name=formats.chart_text(formats.treatment(treatment)),
            line={"color": ink(look.dark), "dash": dash(treatment), "width": 2},
            marker={"symbol": marker(treatment), "size": 6},
        )
    sparsity_axis(figure, look.scale)
    return styled(figure)


def _order(model: Sequence[str]) -> tuple[tuple[int, str], tuple[int, str]]:
    """Where a technique and treatment stand in the legend: as in their tables, ours before others."""
    return _place(TECHNIQUES)(str(model[0])), _place(DASHES)(str(model[1]))


def _place(table: Mapping[str, Any]) -> Callable[[str], tuple[int, str]]:
    keys = list(table)
    return lambda key: (keys.index(key) if key in table else len(keys), key)


def _by_class(rows: pd.DataFrame, last: int | None) -> list[tuple[int, pd.DataFrame]]:
    """The rows of each class in the order of levels, the class to be drawn on top last."""
    parts = [(int(number), part.sort_values("level")) for number, part in rows.groupby("class")]
    return sorted(parts, key=lambda pair: pair[0] == last)


def _line(rows: pd.DataFrame, look: ClassLook, number: int, strong: bool) -> go.Scatter:
    return go.Scatter(
        x=along(rows["sparsity"].to_numpy(float), look.scale),
        y=rows["accuracy"],
        mode="lines+markers",
        name=look.name(number),
        line={"color": look.colour(number), "width": 4 if strong else 1.8},
        marker={"size": 7 if strong else 4},
        text=_texts(rows, look, number),
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        connectgaps=False,
    )


def _texts(rows: pd.DataFrame, look: ClassLook, number: int) -> list[str]:
    """What hover says of each point of a class: level, sparsity, accuracy, change, n, seed or seeds."""
    texts = []
    for row in rows.to_dict("records"):
        if pd.isna(row["level"]):
            texts.append("")
            continue
        spread = formats.plus_minus(row["low"], row["high"]) if "low" in row else ""
        whose = formats.seeds(row["n_seeds"]) if "n_seeds" in row else f"seed {int(row['seed'])}"
        texts.append(
            f"<b>class {look.name(number)}</b><br>level {int(row['level'])}, sparsity "
            f"{formats.sparsity(row['sparsity'])}<br>accuracy {formats.percent(row['accuracy'])} {spread}<br>"
            f"{formats.points(row['accuracy'] - row['dense_accuracy'])} since dense<br>"
            f"n {formats.count(row['n'])}, {whose}"
        )
    return texts


def _with_gap(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows and an empty one, which ends the line."""
    return rows.reindex([*rows.index, -1])


def _band(rows: pd.DataFrame, look: ClassLook, number: int) -> go.Scatter:
    x = along(rows["sparsity"].to_numpy(float), look.scale)
    return _area(x, rows["low"].clip(lower=0), rows["high"].clip(upper=1), look.colour(number), "")


def _area(x: np.ndarray, low: pd.Series, high: pd.Series, colour: str, group: str) -> go.Scatter:
    known = low.notna().to_numpy()
    return go.Scatter(
        x=np.concatenate([x[known], x[known][::-1]]),
        y=np.concatenate([high.to_numpy()[known], low.to_numpy()[known][::-1]]),
        fill="toself",
        fillcolor=faded(colour, 0.18),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        legendgroup=group,
    )


def _finish(figure: go.Figure, rows: pd.DataFrame, look: ClassLook) -> go.Figure:
    """Axes, the names of the classes at the ends of their lines, and the colour bar."""
    lowest = rows["accuracy"].min()
    bottom = 0.0 if pd.isna(lowest) else max(0.0, math.floor(20 * lowest - 0.5) / 20)
    sparsity_axis(figure, look.scale)
    styled(figure, y="class accuracy", showlegend=False)
    figure.update_xaxes(autorange=False, range=_ends(rows["sparsity"], look.scale))
    figure.update_yaxes(tickformat=".0%", range=[bottom, 1 + 0.01 * (1 - bottom)])
    _add_names(figure, rows, look, 1 - bottom)
    low, high = look.span
    if high > low:
        bar = {
            "title": {"text": "unpruned<br>accuracy"},
            "tickformat": ".1%" if high - low < 0.1 else ".0%",
            "thickness": 12,
            "x": 1.07,
            "xanchor": "left",
            "outlinewidth": 0,
        }
        scale = {"color": [low], "cmin": low, "cmax": high, "colorscale": look.colour_scale(), "colorbar": bar}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker={**scale, "showscale": True}, showlegend=False)
    return figure


def _ends(sparsity: pd.Series, scale: str) -> list[float]:
    """The axis from the first to the last level and a little more, so that names stand at the ends of their lines."""
    least, most = float(sparsity.min()), float(sparsity.max())
    first, last = (math.log10(1 - least), math.log10(max(1 - most, 1e-6))) if scale == "kept" else (least, most)
    margin = 0.015 * (last - first)
    return [first - margin, last + margin]


def _add_names(figure: go.Figure, rows: pd.DataFrame, look: ClassLook, height: float) -> None:
    last = rows[rows["level"] == rows["level"].max()].groupby("class")["accuracy"].mean().dropna()
    if len(last) > MOST_LABELS:
        return
    for (number, _), place in zip(last.items(), spread_out(last.to_numpy(), SHARE_OF_GAP * height), strict=True):
        figure.add_annotation(
            text=look.name(int(number)),
            x=1.008,
            xref="paper",
            y=place,
            xanchor="left",
            showarrow=False,
            font={"size": 12, "color": look.colour(int(number))},
        )


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
