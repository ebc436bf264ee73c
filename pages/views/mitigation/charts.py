"""Charts of the Mitigation page: each method's change, the methods over sparsity, groups and weights while training."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from engine.specs.mitigation import arm_of
from pages.shared import formats
from pages.shared.charts.class_look import group_colours
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.panels import panels
from pages.shared.charts.style import REST, SPOTLIGHT, WORST, along, axis, chart_layout, ink, sparsity_axis
from pages.shared.names import arm_name
from pages.views.mitigation.words import LABELS, TERMS, ordered_arms

COLOURS = {"before": "#44AA99", "after": "#CC6677", "both": "#999933"}
"""Colours of the arms that mitigate; none is in ink."""

DASHES = ("solid", "dash", "dot", "dashdot")
EPOCH = "<b>%{meta}</b><br>epoch %{x}: %{y:.3f}<extra></extra>"


def arm_colour(words: str, dark: bool) -> str:
    """The colour of an arm, whatever else is unusual about it."""
    return COLOURS.get(arm_of(words), ink(dark))


def change_chart(changes: pd.DataFrame, measure: str, dark: bool) -> Drawing:
    """A dot with its interval per method: its change of a measure against no mitigation, which is the dotted line.

    Blue is a change for the better beyond chance, orange one for the worse, grey one that chance may explain.
    """
    rows = changes.set_index("mitigation").loc[ordered_arms(list(map(str, changes["mitigation"])))[::-1]].reset_index()
    scale, better = (1.0 if measure == "violation" else 100.0), (1 if measure == "accuracy" else -1)
    low, high = (better * rows[f"{measure}_{end}"] for end in (("low", "high") if better > 0 else ("high", "low")))
    grey = REST[dark]
    colours = [SPOTLIGHT[dark] if a > 0 else WORST[dark] if b < 0 else grey for a, b in zip(low, high, strict=True)]
    names = [formats.chart_text(arm_name(str(name))).replace(", ", ",<br>") for name in rows["mitigation"]]
    points = {
        "type": "scatter",
        "x": scale * rows[measure],
        "y": names,
        "mode": "markers",
        "marker": {"size": 11, "color": colours},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": (scale * (rows[f"{measure}_high"] - rows[measure])).fillna(0),
            "arrayminus": (scale * (rows[measure] - rows[f"{measure}_low"])).fillna(0),
            "color": grey,
            "thickness": 1.5,
        },
        "showlegend": False,
        **hover(
            "<b>{text}</b><br>{value:+.2f}[ ({low:+.2f} to {high:+.2f})] against no mitigation<br>{seeds}",
            texts=[formats.chart_text(arm_name(str(name))) for name in rows["mitigation"]],
            value=scale * rows[measure],
            low=scale * rows[f"{measure}_low"],
            high=scale * rows[f"{measure}_high"],
            seeds=list(map(formats.seeds, rows["n_seeds"].tolist())),
        ),
    }
    line = {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "y domain"}
    title = f"change of {'accuracy' if measure == 'accuracy' else LABELS[measure].lower()}"
    layout = chart_layout(
        max(180, 80 + 46 * len(names)),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis=axis(title if measure == "violation" else f"{title}, points"),
        yaxis=axis(type="category"),
        shapes=[line | {"line": {"color": ink(dark), "width": 1, "dash": "dot"}}],
    )
    return Drawing([points], layout)


def arms_chart(curves: pd.DataFrame, measure: str, dark: bool, scale: str) -> Drawing:
    """Two panels over sparsity: accuracy and the gap of each method, mean over seeds with 95 % bars."""
    names = ordered_arms([str(name) for name in curves["mitigation"].unique()])
    grid = tuple(zip(panels(2, 2, 0.15, 0), ("accuracy", measure), strict=True))
    traces = []
    for place, name in enumerate(names):
        rows = curves[(curves["mitigation"] == name).to_numpy()].sort_values("level")
        alike = [other for other in names[:place] if arm_of(other) == arm_of(name)]
        line = {"color": arm_colour(name, dark), "width": 2, "dash": DASHES[len(alike) % len(DASHES)]}
        said = _hover(rows, name, measure)
        for panel, quantity in grid:
            half = ((rows[f"{quantity}_high"] - rows[f"{quantity}_low"]) / 2).fillna(0)
            traces.append(
                {
                    "type": "scatter",
                    "x": along(rows["sparsity"], scale),
                    "y": rows[quantity],
                    "error_y": {"array": half, "thickness": 1, "width": 3},
                    "mode": "lines+markers",
                    "name": formats.chart_text(arm_name(name)),
                    "legendgroup": name,
                    "showlegend": not panel.place,
                    "line": line,
                    "marker": {
                        "size": 8,
                        "symbol": "circle" if name == "none" else "circle-open",
                        "line": {"width": 2},
                    },
                    **said,
                    **panel.axes,
                }
            )
    percent = {"tickformat": ".0%"}
    looks = (
        axis("accuracy", range=_reach(curves, "accuracy"), **percent),
        axis(LABELS[measure].lower(), range=_reach(curves, measure), **(percent if measure == "gap" else {})),
    )
    axes: dict[str, Any] = {}
    for (panel, _), look in zip(grid, looks, strict=True):
        axes |= panel.layout(sparsity_axis(scale), look)
    return Drawing(traces, chart_layout(440, **axes))


def training_colours(groups: Sequence[str], accuracy: Mapping[str, float], dark: bool) -> dict[str, str]:
    """A colour for each group: classes by the accuracy that they had, the worst dark; others from their palette."""
    kind = "class" if accuracy else "other"
    shown = [(group, accuracy.get(group, float("nan"))) for group in groups]
    return group_colours(pd.DataFrame(shown, columns=["group", "accuracy"]).assign(level=0, grouping=kind), dark)


def training_chart(rows: pd.DataFrame, moved: str, colours: Mapping[str, str], dark: bool) -> Drawing:
    """Two panels over the epochs of one training: each group's quantity beside that of all, and what mitigation moves.

    `rows` are of one arm, level and term, means over seeds: epoch, group, value, whole and `moved`, a column.
    """
    left, right = panels(2, 2, 0.15, 0)
    rows = rows.sort_values("epoch")
    traces = []
    for group, colour in colours.items():
        of = rows[(rows["group"] == group).to_numpy()]
        for panel, quantity in ((left, "value"), (right, moved)):
            traces.append(
                {
                    "type": "scatter",
                    "x": of["epoch"].to_numpy(float),
                    "y": of[quantity],
                    "mode": "lines+markers",
                    "name": formats.chart_text(group),
                    "legendgroup": group,
                    "showlegend": panel is left,
                    "line": {"color": colour, "width": 2},
                    "meta": formats.chart_text(group),
                    "hovertemplate": EPOCH,
                    **panel.axes,
                }
            )
    whole = rows.drop_duplicates("epoch")
    traces.append(
        {
            "type": "scatter",
            "x": whole["epoch"].to_numpy(float),
            "y": whole["whole"],
            "mode": "lines",
            "name": "all examples",
            "line": {"color": ink(dark), "width": 3, "dash": "dot"},
            "meta": "all examples",
            "hovertemplate": EPOCH,
            **left.axes,
        }
    )
    term = TERMS.get(str(rows["term"].iloc[0]), str(rows["term"].iloc[0])) if len(rows) else ""
    epochs = axis("epoch", dtick=1 if rows["epoch"].max() <= 15 else None)
    axes = left.layout(epochs, axis(f"{term} while training", rangemode="tozero"))
    axes |= right.layout(
        epochs, axis("weight in the loss" if moved == "weight" else "multiplier in force", rangemode="tozero")
    )
    return Drawing(traces, chart_layout(440, **axes))


def _reach(curves: pd.DataFrame, quantity: str) -> list[float]:
    """Range of an axis with room for the intervals, but not for values that cannot be."""
    low = curves[f"{quantity}_low"].fillna(curves[quantity]).min()
    high = curves[f"{quantity}_high"].fillna(curves[quantity]).max()
    air = 0.06 * (high - low) or 0.05
    most = float("inf") if quantity == "violation" else 1.02
    return [max(float(low - air), -0.02 * (1 if most < 2 else float(high))), min(float(high + air), most)]


def _hover(rows: pd.DataFrame, arm: str, measure: str) -> dict[str, Any]:
    in_points = measure == "gap"
    value = "{value:.1f} pt" if in_points else "{value:.3~r}"
    return hover(
        f"<b>{{title}}</b><br>level {{level:.0f}}, {{text}} sparsity<br>accuracy {{accuracy:.1f}} %<br>"
        f"{LABELS[measure].lower()}[ {value}]<br>{{seeds}}",
        formats.chart_text(arm_name(arm)),
        map(formats.sparsity, rows["sparsity"].tolist()),
        level=rows["level"],
        accuracy=100 * rows["accuracy"],
        value=(100 if in_points else 1) * rows[measure],
        seeds=list(map(formats.seeds, rows["n_seeds"].tolist())),
    )
