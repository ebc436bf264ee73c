"""Charts of the Subgroups page: a rate of each group over sparsity, and before against compressed at one level."""

import pandas as pd
import plotly.graph_objects as go

from engine.analysis.curves.baseline import DENSE
from engine.analysis.examples.subgroups import RATES
from pages.shared import formats
from pages.shared.charts.style import GROUPS, along, faded, ink, sparsity_axis, styled
from pages.shared.names import BASELINE_LABELS, baseline_name

VALUES = {"compressed": "rate", "change": "change", "normalised": "relative change"}
DASHES = ("solid", "dash", "dot", "dashdot")
COMPRESSED = "#D55E00"


def curve_chart(table: pd.DataFrame, rate: str, value: str, scale: str, dark: bool) -> go.Figure:
    """One line per group over sparsity; everybody in black (white in dark)."""
    figure = go.Figure()
    rows = table[table["rate"] == rate]
    keys = rows.drop_duplicates(["grouping", "group"])[["grouping", "group"]].itertuples(index=False)
    for number, (grouping, group) in enumerate(keys):
        mine = rows[(rows["grouping"] == grouping) & (rows["group"] == group)].sort_values("sparsity")
        everybody = grouping == "all"
        name = "everybody" if everybody else formats.chart_text(group)
        figure.add_scatter(
            x=along(mine["sparsity"].to_numpy(float), scale),
            y=mine[value] / (100 if value == "normalised" else 1),
            name=name,
            mode="lines+markers",
            line={
                "color": ink(dark) if everybody else GROUPS[(number - 1) % len(GROUPS)],
                "dash": "solid" if everybody else DASHES[(number - 1) // len(GROUPS) % len(DASHES)],
                "width": 3 if everybody else 2,
            },
            marker={"size": 6, "symbol": ["circle-open" if small else "circle" for small in mine["small"]]},
            text=[f"<b>{name}</b><br>{hover(row)}" for row in mine.itertuples()],
            hovertemplate="%{text}<extra></extra>",
        )
    names = " or ".join(baseline_name(kind) for kind in rows["baseline"].unique())
    title = f"{RATES[rate].lower()}{'' if value == 'compressed' else f', {VALUES[value]} against {names}'}"
    styled(figure, y=title, height=460, legend={"font": {"size": 11}})
    figure.update_yaxes(tickformat=".0%" if value != "change" else ".1%")
    return sparsity_axis(figure, scale)


def change_chart(table: pd.DataFrame, rate: str, dark: bool) -> go.Figure:
    """The baseline's and the compressed rate of each group with 95 % intervals, the largest growth on top."""
    rows = table[(table["rate"] == rate) & table["change"].notna()].sort_values("change")
    names = ["everybody" if row.grouping == "all" else formats.chart_text(row.group) for row in rows.itertuples()]
    text = [f"<b>{name}</b><br>{hover(row)}" for name, row in zip(names, rows.itertuples(), strict=True)]
    figure = go.Figure()
    before = " or ".join(BASELINE_LABELS[kind] for kind in rows["baseline"].unique())
    for name, label, colour, symbol in (
        ("before", before, ink(dark), "circle-open"),
        ("compressed", "Compressed", COMPRESSED, "circle"),
    ):
        figure.add_scatter(
            x=rows[name],
            y=names,
            name=label,
            mode="markers",
            marker={"size": 10, "symbol": symbol, "color": colour},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": rows[f"{name}_high"] - rows[name],
                "arrayminus": rows[name] - rows[f"{name}_low"],
                "color": faded(colour, 0.5),
                "thickness": 1,
            },
            text=text,
            hovertemplate="%{text}<extra></extra>",
        )
    styled(figure, x=RATES[rate].lower(), height=max(460, min(1000, 100 + 26 * len(names))))
    figure.update_yaxes(type="category")
    return figure.update_xaxes(tickformat=".0%", rangemode="tozero")


def hover(row: object) -> str:
    """What hover says of a group: rates, change with interval, relative change, size."""
    values = {name: getattr(row, name) for name in ("before", "compressed", "change", "low", "high", "normalised", "n")}
    spread = f" {formats.plus_minus(values['low'], values['high'])}".rstrip()
    relative = "" if pd.isna(values["normalised"]) else f" ({values['normalised']:+.0f} %)"
    before = baseline_name(str(getattr(row, "baseline", DENSE)))
    return (
        f"{formats.percent(values['before'])} {before}; {formats.percent(values['compressed'])} compressed"
        f"<br>{formats.points(values['change'])}{spread}{relative}"
        f"<br>sparsity {formats.sparsity(getattr(row, 'sparsity', float('nan')))}, "
        f"{formats.count(values['n'])} examples{', a small group' if getattr(row, 'small', False) else ''}"
    )
