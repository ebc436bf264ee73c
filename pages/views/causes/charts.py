"""Charts of the Causes page: what is measured of each group over sparsity, between groups, and against the bound."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.analysis.causes.relations import Correlation
from pages.shared import formats
from pages.shared.charts.style import along, faded, ink, sparsity_axis, styled
from pages.views.causes.words import QUANTITIES

PANELS = ("accuracy", "gradient_norm", "eigenvalue", "margin")
FEW = 4
"""Up to so many groups have bars beside each other."""


def curves_chart(curves: pd.DataFrame, colours: Mapping[str, str], dark: bool, scale: str) -> go.Figure:
    """Four panels over sparsity: accuracy, gradient norm, eigenvalue and margin of each group.

    With few groups bars are 95 % intervals; with many they would hide the lines.
    """
    figure = make_subplots(2, 2, horizontal_spacing=0.14, vertical_spacing=0.14)
    for place, quantity in enumerate(PANELS):
        row, column = divmod(place, 2)
        for group, colour in colours.items():
            rows = curves[curves["group"] == group].dropna(subset=quantity).sort_values("level")
            figure.add_scatter(
                x=along(rows["sparsity"], scale),
                y=rows[quantity],
                error_y=_bars(rows, quantity, colour) if len(colours) <= FEW else {"visible": False},
                mode="lines+markers",
                name=formats.chart_text(group),
                legendgroup=group,
                showlegend=not place,
                line={"color": colour, "width": 2},
                marker={"size": 6},
                text=[_hover(record) for record in rows.to_dict("records")],
                hovertemplate="%{text}<extra></extra>",
                row=row + 1,
                col=column + 1,
            )
        kind = {"tickformat": ".0%"} if quantity == "accuracy" else {}
        reach = _reach(curves[quantity])
        figure.update_yaxes(title=QUANTITIES[quantity], range=reach, **kind, row=row + 1, col=column + 1)
    styled(figure, height=560)
    sparsity_axis(figure, scale)
    return figure.update_xaxes(title="", row=1)


def relations_chart(
    rows: pd.DataFrame, correlations: Sequence[Correlation], colours: Mapping[str, str], dark: bool
) -> go.Figure:
    """One panel per relation of the paper: a point per group at one level, mean over seeds with 95 % bars."""
    titles = [f"{one.relation.figure}: {_in_words(one)}" for one in correlations]
    figure = make_subplots(2, 2, subplot_titles=titles, horizontal_spacing=0.14, vertical_spacing=0.2)
    few = len(colours) <= 12
    for place, one in enumerate(correlations):
        row, column = divmod(place, 2)
        x, y = one.relation.x, one.relation.y
        measured = rows.dropna(subset=[x, y])
        shades = [colours[str(group)] for group in measured["group"]]
        figure.add_scatter(
            x=measured[x],
            y=measured[y],
            error_x=_bars(measured, x, faded(ink(dark), 0.3)),
            error_y=_bars(measured, y, faded(ink(dark), 0.3)),
            mode="markers+text" if few else "markers",
            text=[formats.chart_text(group) for group in measured["group"]],
            textposition="top center",
            textfont={"size": 11},
            marker={"size": 11, "color": shades, "line": {"width": 1, "color": faded(ink(dark), 0.6)}},
            customdata=[_hover(record) for record in measured.to_dict("records")],
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=False,
            row=row + 1,
            col=column + 1,
        )
        for axis, quantity in ((figure.update_xaxes, x), (figure.update_yaxes, y)):
            percent = {"tickformat": ".0%"} if quantity == "accuracy" else {}
            axis(title=QUANTITIES[quantity], range=_reach(rows[quantity]), **percent, row=row + 1, col=column + 1)
    styled(figure, height=560, margin={"l": 10, "r": 10, "t": 40, "b": 10})
    return figure.update_annotations(font_size=13)


def bound_chart(groups: pd.DataFrame, colours: Mapping[str, str], dark: bool) -> go.Figure:
    """The bound against the true excessive loss of every pruned group and run; the line is where they are equal."""
    rows = groups[(groups["level"] > 0) & (groups["bound"] > 0)].dropna(subset="excessive_loss")
    figure = go.Figure()
    for group, colour in colours.items():
        of = rows[rows["group"] == group]
        figure.add_scatter(
            x=of["bound"],
            y=of["excessive_loss"],
            mode="markers",
            name=formats.chart_text(group),
            marker={"size": 8, "color": colour, "opacity": 0.8},
            text=[
                f"<b>{formats.chart_text(group)}</b>, seed {seed}<br>{formats.sparsity(sparsity)} sparsity<br>"
                f"loss rises by {formats.number(true)}, bound {formats.number(bound)}"
                for seed, sparsity, true, bound in zip(
                    of["seed"], of["sparsity"], of["excessive_loss"], of["bound"], strict=True
                )
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    if len(rows):
        most = max(float(rows["excessive_loss"].max()), 1e-3)
        line = np.geomspace(most / 30, most, 40)
        style = {"color": faded(ink(dark), 0.5), "width": 1.5, "dash": "dot"}
        figure.add_scatter(x=line, y=line, mode="lines", name="bound = truth", line=style, hoverinfo="skip")
    styled(figure, x="Theorem 1's bound (log scale)", y="true excessive loss", height=460)
    return figure.update_xaxes(type="log", exponentformat="power", dtick=1)


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


def _hover(row: Mapping[Any, Any]) -> str:
    lines = [
        f"<b>{formats.chart_text(row['group'])}</b>, {formats.sparsity(row['sparsity'])} sparsity",
        f"accuracy {formats.percent(row['accuracy'])}, margin {formats.number(row['margin'])}",
        f"gradient norm {_with_interval(row, 'gradient_norm')}, eigenvalue {_with_interval(row, 'eigenvalue')}",
        f"{formats.count(row['n'])} training examples, {formats.seeds(row['n_seeds'])}",
    ]
    return "<br>".join(lines)


def _with_interval(row: Mapping[Any, Any], quantity: str) -> str:
    low, high = row[f"{quantity}_low"], row[f"{quantity}_high"]
    spread = f" ({formats.number(low)} to {formats.number(high)})" if low == low else ""
    return formats.number(row[quantity]) + spread


def _in_words(one: Correlation) -> str:
    if one.value != one.value:
        return "no correlation"
    interval = f" ({one.low:.2f} to {one.high:.2f})" if one.low == one.low else ""
    return f"rank correlation {one.value:.2f}{interval}"
