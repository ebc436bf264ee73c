"""Charts of the Harmed examples page: accuracy where networks disagree, and who is over-represented there."""

from typing import Any

import numpy as np
import pandas as pd

from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import along, axis, chart_layout, faded, ink, sparsity_axis

BASELINE, COMPRESSED = "#0072B2", "#D55E00"
ACCURACY = axis("accuracy", tickformat=".0%", range=[0, 1.04])


def percentile_chart(table: pd.DataFrame, apart: pd.DataFrame, before: str) -> Drawing:
    """Accuracy on the most changed examples against how few they are; `apart` picks and scores with other networks.

    `before` names what the compressed networks are compared with.
    """
    traces, labels = [], {"baseline": before, "compressed": "Pruned"}
    for population, colour in (("baseline", BASELINE), ("compressed", COMPRESSED)):
        label = labels[population]
        rows = table[((table["population"] == population) & table["subset"].isin(["all", "taxicab"])).to_numpy()]
        traces.append(
            {
                "type": "scatter",
                "x": [_top(at) for at in rows["percentile"].fillna(0)],
                "y": rows["accuracy"],
                "name": label,
                "mode": "lines+markers",
                "line": {"color": colour, "width": 2},
                "marker": {"size": 9, "symbol": "circle" if population == "baseline" else "diamond"},
                "error_y": _whiskers(rows),
                **_hover(rows, label),
            }
        )
        others = apart[(apart["population"] == population) & (apart["subset"] == "taxicab")] if len(apart) else apart
        if len(others):
            traces.append(
                {
                    "type": "scatter",
                    "x": [_top(at) for at in others["percentile"]],
                    "y": others["accuracy"],
                    "name": f"{label}, corrected",
                    "showlegend": False,
                    "mode": "lines+markers",
                    "line": {"color": faded(colour, 0.5), "width": 1, "dash": "dot"},
                    "marker": {"size": 7, "symbol": "circle-open"},
                    **_hover(others, label, "<br>picked by the other half of the runs"),
                }
            )
    across = axis("examples, by how many votes move", type="category")
    return Drawing(traces, chart_layout(420, xaxis=across, yaxis=ACCURACY))


def sparsity_chart(table: pd.DataFrame, scale: str, level: int, percentile: float, before: str) -> Drawing:
    """Accuracy of pruned networks and of what they are compared with, named by `before`, on the examples that change
    most at each sparsity, and on all."""
    traces, labels = [], {"baseline": before, "compressed": "Pruned"}
    shown = {
        "all": table["subset"] == "all",
        f"top {100 - percentile:g} %": (table["subset"] == "taxicab") & (table["percentile"] == percentile),
    }
    for population, colour in (("baseline", BASELINE), ("compressed", COMPRESSED)):
        for name, chosen in shown.items():
            rows = table[(chosen & (table["population"] == population)).to_numpy()].sort_values("sparsity")
            traces.append(
                {
                    "type": "scatter",
                    "x": along(rows["sparsity"].to_numpy(float), scale),
                    "y": rows["accuracy"],
                    "name": f"{labels[population]}, {name}",
                    "mode": "lines+markers",
                    "line": {"color": colour, "dash": "dot" if name == "all" else "solid", "width": 2},
                    "marker": {
                        "size": np.where(rows["level"] == level, 11, 6),
                        "symbol": "circle" if name == "all" else "diamond",
                    },
                    **_hover(rows, labels[population], "<br>sparsity {text}"),
                    "text": list(map(formats.sparsity, rows["sparsity"].tolist())),
                }
            )
    legend = chart_layout()["legend"] | {"font": {"size": 11}}
    return Drawing(traces, chart_layout(420, xaxis=sparsity_axis(scale), yaxis=ACCURACY, legend=legend))


def representation_chart(table: pd.DataFrame, dark: bool) -> Drawing:
    """How much more often each group of one grouping is among the chosen examples than elsewhere, with intervals, in
    the table's order from the top; `name` is what a group is called."""
    rows = table[table["ratio"].notna().to_numpy()].iloc[::-1]
    names = [formats.chart_text(name) for name in rows["name"]]
    outside = (rows["low"] > 1) | (rows["high"] < 1)
    points = {
        "type": "scatter",
        "x": rows["ratio"],
        "y": names,
        "mode": "markers",
        "marker": {
            "size": 10,
            "symbol": np.where(rows["small"], "circle-open", "circle"),
            "color": [COMPRESSED if far else faded(ink(dark), 0.45) for far in outside],
        },
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": rows["high"] - rows["ratio"],
            "arrayminus": rows["ratio"] - rows["low"],
            "color": faded(ink(dark), 0.4),
        },
        "showlegend": False,
        **hover(
            "<b>{text}</b>{values}<br>{chosen:.1f} % of these, {share:.1f} % of all {reference} examples"
            "<br>{ratio:.2f} times ({low:.2f} to {high:.2f}), {n_chosen:,.0f} of {n:,.0f} examples{small}",
            texts=names,
            chosen=100 * rows["share_chosen"],
            share=100 * rows["share"],
            small=np.where(rows["small"], ", a small group", ""),
            values=[
                "" if name == group else f" ({formats.chart_text(group)})"
                for name, group in zip(rows["name"], rows["group"], strict=True)
            ],
            **{name: rows[name] for name in ("reference", "ratio", "low", "high", "n_chosen", "n")},
        ),
    }
    line = {"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "y domain"}
    layout = chart_layout(
        max(180, min(640, 90 + 30 * len(names))),
        xaxis=axis("times as often among these as elsewhere", rangemode="tozero"),
        yaxis=axis(type="category"),
        shapes=[line | {"line": {"color": ink(dark), "width": 1, "dash": "dot"}}],
    )
    return Drawing([points], layout)


def _top(percentile: float) -> str:
    return "all" if not percentile else f"top {100 - percentile:g} %"


def _whiskers(rows: pd.DataFrame) -> dict[str, object]:
    up, down = rows["high"] - rows["accuracy"], rows["accuracy"] - rows["low"]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1}


def _hover(rows: pd.DataFrame, population: str, more: str = "") -> dict[str, Any]:
    """What hover says of a population on each subset of the examples, and `more` at the end."""
    names = [
        {"all": "all examples"}.get(subset, _top(percentile))
        for subset, percentile in zip(rows["subset"], rows["percentile"], strict=True)
    ]
    return hover(
        "<b>{title}, {name}</b>[<br>accuracy {accuracy:.1f} %][ ± {half:.1f}]<br>{n:,.0f} examples, {seeds}" + more,
        formats.chart_text(population),
        name=names,
        accuracy=100 * rows["accuracy"],
        half=50 * (rows["high"] - rows["low"]),
        n=rows["n"],
        seeds=list(map(formats.seeds, rows["n_models"].tolist())),
    )
