"""Charts of the Harmed examples page: accuracy by percentile and by sparsity, and who is over-represented."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.shared import formats
from pages.shared.charts.style import along, faded, ink, sparsity_axis, styled

BASELINE, COMPRESSED = "#0072B2", "#D55E00"


def percentile_chart(table: pd.DataFrame, apart: pd.DataFrame, before: str) -> go.Figure:
    """Accuracy on the most changed examples against how few they are; `apart` picks and scores with other networks.

    `before` names what the compressed networks are compared with.
    """
    figure, labels = go.Figure(), {"baseline": before, "compressed": "Compressed"}
    for population, colour in (("baseline", BASELINE), ("compressed", COMPRESSED)):
        rows = table[(table["population"] == population) & table["subset"].isin(["all", "taxicab"])]
        rows = rows.assign(percentile=rows["percentile"].fillna(0))
        figure.add_scatter(
            x=[_top(at) for at in rows["percentile"]],
            y=rows["accuracy"],
            name=labels[population],
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"size": 9, "symbol": "circle" if population == "baseline" else "diamond"},
            error_y=_whiskers(rows),
            text=[_hover(row, labels[population]) for row in rows.itertuples()],
            hovertemplate="%{text}<extra></extra>",
        )
        others = apart[(apart["population"] == population) & (apart["subset"] == "taxicab")] if len(apart) else apart
        if len(others):
            figure.add_scatter(
                x=[_top(at) for at in others["percentile"]],
                y=others["accuracy"],
                name=f"{labels[population]}, picked by other seeds",
                mode="lines+markers",
                line={"color": faded(colour, 0.5), "width": 1, "dash": "dot"},
                marker={"size": 7, "symbol": "circle-open"},
                text=[
                    f"{_hover(row, labels[population])}<br>picked by the other half of the seeds"
                    for row in others.itertuples()
                ],
                hovertemplate="%{text}<extra></extra>",
            )
    styled(figure, x="examples, by how much the networks disagree", y="accuracy", height=420)
    figure.update_xaxes(type="category")
    return figure.update_yaxes(tickformat=".0%", range=[0, 1.04])


def sparsity_chart(table: pd.DataFrame, scale: str, level: int, percentile: float, before: str) -> go.Figure:
    """Accuracy of compressed networks and of what they are compared with, named by `before`, on the exemplars of each
    sparsity, on the rest and on all."""
    figure, labels = go.Figure(), {"baseline": before, "compressed": "Compressed"}
    shown = {
        "all": (table["subset"] == "all", 1.0),
        f"top {100 - percentile:g} %": ((table["subset"] == "taxicab") & (table["percentile"] == percentile), 1.0),
        "modal": (table["subset"] == "modal", 0.45),
    }
    symbols = {"all": "circle", "modal": "x"}
    for population, colour in (("baseline", BASELINE), ("compressed", COMPRESSED)):
        for name, (chosen, opacity) in shown.items():
            rows = table[chosen & (table["population"] == population)].sort_values("sparsity")
            figure.add_scatter(
                x=along(rows["sparsity"].to_numpy(float), scale),
                y=rows["accuracy"],
                name=f"{labels[population]}, {name}",
                mode="lines+markers",
                line={"color": faded(colour, opacity), "dash": "dot" if name == "all" else "solid", "width": 2},
                marker={"size": np.where(rows["level"] == level, 11, 6), "symbol": symbols.get(name, "diamond")},
                text=[
                    f"{_hover(row, labels[population])}<br>sparsity {formats.sparsity(row.sparsity)}"
                    for row in rows.itertuples()
                ],
                hovertemplate="%{text}<extra></extra>",
            )
    styled(figure, y="accuracy", height=420, legend={"font": {"size": 11}})
    figure.update_yaxes(tickformat=".0%", range=[0, 1.04])
    return sparsity_axis(figure, scale)


def representation_chart(table: pd.DataFrame, dark: bool) -> go.Figure:
    """How much more often each group is among the exemplars than elsewhere, with intervals, the highest on top."""
    rows = table.dropna(subset="ratio").sort_values("ratio")
    names = [formats.chart_text(f"{row.grouping}: {row.group}") for row in rows.itertuples()]
    outside = (rows["low"] > 1) | (rows["high"] < 1)
    text = [
        f"<b>{name}</b><br>{formats.percent(row.share_chosen)} of the exemplars, {formats.percent(row.share)} of the "
        f"{row.reference} examples<br>{row.ratio:.2f} times ({row.low:.2f} to {row.high:.2f}), "
        f"{formats.count(row.n_chosen)} of {formats.count(row.n)} examples{', a small group' if row.small else ''}"
        for name, row in zip(names, rows.itertuples(), strict=True)
    ]
    figure = go.Figure()
    figure.add_scatter(
        x=rows["ratio"],
        y=names,
        mode="markers",
        marker={
            "size": 10,
            "symbol": np.where(rows["small"], "circle-open", "circle"),
            "color": [COMPRESSED if far else faded(ink(dark), 0.45) for far in outside],
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": rows["high"] - rows["ratio"],
            "arrayminus": rows["ratio"] - rows["low"],
            "color": faded(ink(dark), 0.4),
        },
        text=text,
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    figure.add_vline(x=1, line={"color": ink(dark), "width": 1, "dash": "dot"})
    styled(figure, x="times as often among the exemplars", height=max(420, min(900, 90 + 24 * len(names))))
    figure.update_yaxes(type="category")
    return figure


def _top(percentile: float) -> str:
    return "all" if not percentile else f"top {100 - percentile:g} %"


def _whiskers(rows: pd.DataFrame) -> dict[str, object]:
    up, down = rows["high"] - rows["accuracy"], rows["accuracy"] - rows["low"]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1}


def _hover(row: Any, population: str) -> str:
    name = {"all": "all examples", "modal": "modal exemplars"}.get(row.subset, _top(row.percentile))
    spread = f" {formats.plus_minus(row.low, row.high)}".rstrip()
    return (
        f"<b>{population}, {name}</b><br>accuracy {formats.percent(row.accuracy)}{spread}"
        f"<br>{formats.count(row.n)} examples, {formats.seeds(row.n_models)}"
    )
