"""Charts of the Mitigation page: the arms over sparsity, and groups and their weights while training."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.specs.mitigation import arm_of
from pages.shared import formats
from pages.shared.charts.class_look import group_colours
from pages.shared.charts.style import along, ink, sparsity_axis, styled
from pages.views.mitigation.words import LABELS, TERMS, arm_name, ordered_arms

COLOURS = {"before": "#44AA99", "after": "#CC6677", "both": "#999933"}
"""Colours of the arms that mitigate; none is in ink."""

DASHES = ("solid", "dash", "dot", "dashdot")


def arm_colour(words: str, dark: bool) -> str:
    """The colour of an arm, whatever else is unusual about it."""
    return COLOURS.get(arm_of(words), ink(dark))


def arms_chart(curves: pd.DataFrame, measure: str, dark: bool, scale: str) -> go.Figure:
    """Two panels over sparsity: accuracy and the violation of each arm, mean over seeds with 95 % bars."""
    figure = make_subplots(1, 2, horizontal_spacing=0.15)
    names = ordered_arms([str(name) for name in curves["mitigation"].unique()])
    for place, name in enumerate(names):
        rows = curves[(curves["mitigation"] == name).to_numpy()].sort_values("level")
        alike = [other for other in names[:place] if arm_of(other) == arm_of(name)]
        line = {"color": arm_colour(name, dark), "width": 2, "dash": DASHES[len(alike) % len(DASHES)]}
        for column, quantity in enumerate(("accuracy", measure), 1):
            half = ((rows[f"{quantity}_high"] - rows[f"{quantity}_low"]) / 2).fillna(0)
            figure.add_scatter(
                x=along(rows["sparsity"], scale),
                y=rows[quantity],
                error_y={"array": half, "thickness": 1, "width": 3},
                mode="lines+markers",
                name=formats.chart_text(arm_name(name)),
                legendgroup=name,
                showlegend=column == 1,
                line=line,
                marker={"size": 8, "symbol": "circle" if name == "none" else "circle-open", "line": {"width": 2}},
                text=[_hover(row, measure) for row in rows.to_dict("records")],
                hovertemplate="%{text}<extra></extra>",
                row=1,
                col=column,
            )
    styled(figure, height=440)
    figure.update_yaxes(title="accuracy", tickformat=".0%", range=_reach(curves, "accuracy"), col=1)
    kind = {"tickformat": ".0%"} if measure == "gap" else {}
    figure.update_yaxes(title=LABELS[measure].lower(), range=_reach(curves, measure), **kind, col=2)
    return sparsity_axis(figure, scale)


def training_colours(groups: Sequence[str], accuracy: Mapping[str, float], dark: bool) -> dict[str, str]:
    """A colour for each group: classes by the accuracy that they had, the worst dark; others from their palette."""
    kind = "class" if accuracy else "other"
    shown = [(group, accuracy.get(group, float("nan"))) for group in groups]
    return group_colours(pd.DataFrame(shown, columns=["group", "accuracy"]).assign(level=0, grouping=kind), dark)


def training_chart(rows: pd.DataFrame, moved: str, colours: Mapping[str, str], dark: bool) -> go.Figure:
    """Two panels over the epochs of one training: each group's quantity beside that of all, and what mitigation moves.

    `rows` are of one arm, level and term, means over seeds: epoch, group, value, whole and `moved`, a column.
    """
    figure = make_subplots(1, 2, horizontal_spacing=0.15)
    for group, colour in colours.items():
        of = rows[rows["group"] == group].sort_values("epoch")
        for column, quantity in enumerate(("value", moved), 1):
            figure.add_scatter(
                x=of["epoch"],
                y=of[quantity],
                mode="lines+markers",
                name=formats.chart_text(group),
                legendgroup=group,
                showlegend=column == 1,
                line={"color": colour, "width": 2},
                hovertemplate=f"<b>{formats.chart_text(group)}</b><br>epoch %{{x}}: %{{y:.3f}}<extra></extra>",
                row=1,
                col=column,
            )
    whole = rows.drop_duplicates("epoch").sort_values("epoch")
    figure.add_scatter(
        x=whole["epoch"],
        y=whole["whole"],
        mode="lines",
        name="all examples",
        line={"color": ink(dark), "width": 3, "dash": "dot"},
        hovertemplate="<b>all examples</b><br>epoch %{x}: %{y:.3f}<extra></extra>",
        row=1,
        col=1,
    )
    term = TERMS.get(str(rows["term"].iloc[0]), str(rows["term"].iloc[0])) if len(rows) else ""
    styled(figure, x="epoch", height=440)
    figure.update_xaxes(dtick=1 if rows["epoch"].max() <= 15 else None)
    figure.update_yaxes(title=f"{term} while training", rangemode="tozero", col=1)
    title = "weight in the loss" if moved == "weight" else "multiplier in force"
    return figure.update_yaxes(title=title, rangemode="tozero", col=2)


def _reach(curves: pd.DataFrame, quantity: str) -> list[float]:
    """Range of an axis with room for the intervals, but not for values that cannot be."""
    low = curves[f"{quantity}_low"].fillna(curves[quantity]).min()
    high = curves[f"{quantity}_high"].fillna(curves[quantity]).max()
    air = 0.06 * (high - low) or 0.05
    most = float("inf") if quantity == "violation" else 1.02
    return [max(float(low - air), -0.02 * (1 if most < 2 else float(high))), min(float(high + air), most)]


def _hover(row: Mapping[Any, Any], measure: str) -> str:
    value = formats.points(row[measure], sign=False) if measure == "gap" else formats.number(row[measure])
    return "<br>".join(
        [
            f"<b>{formats.chart_text(arm_name(str(row['mitigation'])))}</b>",
            f"level {row['level']}, {formats.sparsity(row['sparsity'])} sparsity",
            f"accuracy {formats.percent(row['accuracy'])}",
            f"{LABELS[measure].lower()} {value}",
            formats.seeds(row["n_seeds"]),
        ]
    )
