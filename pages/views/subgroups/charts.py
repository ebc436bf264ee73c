"""Charts of the Subgroups page: a rate of each group over sparsity, and before against compressed at one level."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.examples.subgroups import RATES
from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import GROUPS, GROUPS_ON_DARK, REST, along, axis, chart_layout, faded, ink, sparsity_axis
from pages.shared.names import BASELINE_LABELS, baseline_name, group_name

VALUES = {"compressed": "rate", "change": "change", "normalised": "relative change"}
FEW_LINES, NAMED_LINES, MOST_ROWS = 8, 4, 14
"""Up to how many groups have a colour each; of more, how many that lose most; and how many have a row of dots."""

COMPRESSED = "#D55E00"


def curve_chart(table: pd.DataFrame, rate: str, value: str, scale: str, dark: bool) -> Drawing:
    """One line per group over sparsity; everybody in black (white in dark)."""
    traces = []
    rows = table[(table["rate"] == rate).to_numpy()]
    keys = list(rows.drop_duplicates(["grouping", "group"])[["grouping", "group"]].itertuples(index=False, name=None))
    named = _named(rows, keys)
    palette = GROUPS_ON_DARK if dark else GROUPS
    colours = {key: palette[place % len(palette)] for place, key in enumerate(key for key in keys if key in named)}
    for grouping, group in sorted(keys, key=lambda key: (key in named, key[0] == "all")):
        mine = rows[((rows["grouping"] == grouping) & (rows["group"] == group)).to_numpy()].sort_values("sparsity")
        everybody = grouping == "all"
        name = "everybody" if everybody else formats.chart_text(group_name(grouping, group))
        traces.append(
            {
                "type": "scatter",
                "x": along(mine["sparsity"].to_numpy(float), scale),
                "y": mine[value] / (100 if value == "normalised" else 1),
                "name": name,
                "mode": "lines+markers",
                "line": {
                    "color": ink(dark) if everybody else colours.get((grouping, group), faded(REST[dark], 0.5)),
                    "width": 3 if everybody else 2 if (grouping, group) in named else 1,
                },
                "showlegend": everybody or (grouping, group) in named,
                "marker": {"size": 6, "symbol": ["circle-open" if small else "circle" for small in mine["small"]]},
                **said_of(mine, "{title}", "{text}", name),
            }
        )
    names = " or ".join(baseline_name(kind) for kind in rows["baseline"].unique())
    title = f"{RATES[rate].lower()}{'' if value == 'compressed' else f', {VALUES[value]} against {names}'}"
    layout = chart_layout(
        460,
        xaxis=sparsity_axis(scale),
        yaxis=axis(title, tickformat=".1~%"),
        legend=chart_layout()["legend"] | {"font": {"size": 11}},
    )
    return Drawing(traces, layout)


def _named(rows: pd.DataFrame, keys: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """The groups with a colour and a name in the legend: all of a few, else those whose rate grows most in the end."""
    groups = [key for key in keys if key[0] != "all"]
    if len(groups) <= FEW_LINES:
        return set(groups)
    last = rows[(rows["level"] == rows["level"].max()).to_numpy() & ~rows["small"].to_numpy(bool)]
    grown = last[(last["grouping"] != "all").to_numpy()].sort_values("change", ascending=False).head(NAMED_LINES)
    return set(grown[["grouping", "group"]].itertuples(index=False, name=None))


def change_chart(table: pd.DataFrame, rate: str, dark: bool) -> Drawing:
    """The baseline's and the compressed rate of each group with 95 % intervals, the largest growth on top; of many
    groups those that grow most."""
    rows = table[((table["rate"] == rate) & table["change"].notna()).to_numpy()].sort_values("change").tail(MOST_ROWS)
    names = [
        "everybody" if row.grouping == "all" else formats.chart_text(group_name(row.grouping, row.group))
        for row in rows.itertuples()
    ]
    sparsity = formats.sparsity(float(rows["sparsity"].mean()))
    said = said_of(rows, "{text}", sparsity) | {"text": names}
    before = " or ".join(BASELINE_LABELS[kind] for kind in rows["baseline"].unique())
    traces = [
        {
            "type": "scatter",
            "x": rows[name],
            "y": names,
            "name": label,
            "mode": "markers",
            "marker": {"size": 10, "symbol": symbol, "color": colour},
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": rows[f"{name}_high"] - rows[name],
                "arrayminus": rows[name] - rows[f"{name}_low"],
                "color": faded(colour, 0.5),
                "thickness": 1,
            },
            **said,
        }
        for name, label, colour, symbol in (
            ("before", before, ink(dark), "circle-open"),
            ("compressed", "Pruned", COMPRESSED, "circle"),
        )
    ]
    layout = chart_layout(
        max(240, min(1000, 130 + 36 * len(names))),
        xaxis=axis(RATES[rate].lower(), tickformat=".1~%", rangemode="tozero"),
        yaxis=axis(type="category"),
    )
    return Drawing(traces, layout)


def said_of(rows: pd.DataFrame, whom: str, sparsity: str, title: str = "") -> dict[str, Any]:
    """What hover says of groups: rates, change with interval, relative change, size; `whom` is the field of a name,
    `sparsity` the number or {text}, which is that of each row."""
    return hover(
        f"<b>{whom}</b>[<br>{{was:.1f}} % {{before}}][; {{compressed:.1f}} % pruned][<br>{{change:+.1f}} pt]"
        f"[ ± {{half:.1f}}][ ({{normalised:+.0f}} %)]<br>sparsity {sparsity}, {{n:,.0f}} examples{{small}}",
        title,
        map(formats.sparsity, rows["sparsity"].tolist()),
        before=[baseline_name(str(kind)) for kind in rows["baseline"]],
        was=100 * rows["before"],
        compressed=100 * rows["compressed"],
        change=100 * rows["change"],
        half=50 * (rows["high"] - rows["low"]),
        normalised=rows["normalised"],
        n=rows["n"],
        small=np.where(rows["small"], ", a small group", ""),
    )
