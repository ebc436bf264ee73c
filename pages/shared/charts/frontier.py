"""Charts of the Frontier page: operating points with the frontier, the classes of the choice, the weights that win."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from engine.analysis.choice import Choice
from pages.shared import formats
from pages.shared.charts.style import along, faded, ink, marker, sparsity_axis, styled, technique_colour

WEIGHTS = (0.01, 1000.0)


def point_label(point: pd.Series) -> str:
    """An operating point in a few words."""
    if point["level"] == 0:
        return "Dense network"
    extra = "" if point["mitigation"] in ("none", "") else f", mitigated ({formats.chart_text(point['mitigation'])})"
    way = formats.chart_text(formats.treatment(str(point["treatment"])))
    return f"{formats.chart_text(formats.technique(str(point['technique'])))}, {way}{extra}"


def hover(points: pd.DataFrame, measure: str, worst: pd.DataFrame) -> list[str]:
    """What hover says of each point: technique, treatment, level, sparsity, accuracy, worst class, seeds."""
    worst = worst.set_index("point")
    texts = []
    for _, row in points.iterrows():
        lines = [
            f"<b>{point_label(row)}</b>",
            f"level {row['level']}, sparsity {formats.sparsity(row['sparsity'])}",
            f"accuracy {formats.percent(row['accuracy'])} ± {100 * row['accuracy_sd']:.1f} over seeds"
            if row["n_seeds"] > 1
            else f"accuracy {formats.percent(row['accuracy'])}",
            f"{formats.measure(measure)} {formats.unfairness(row[measure], measure)}",
        ]
        if row["point"] in worst.index:
            found = worst.loc[row["point"]]
            lines.append(f"worst class {formats.chart_text(found['name'])}: {formats.percent(found['accuracy'])}")
        texts.append("<br>".join([*lines, f"{row['n_seeds']} seeds"]))
    return texts


def _series(technique: str, treatment: str) -> str:
    return f"{formats.chart_text(formats.technique(technique))}, {formats.chart_text(formats.treatment(treatment))}"


def frontier_chart(
    points: pd.DataFrame, choice: Choice, texts: Sequence[str], dark: bool, scale: str, second: Choice | None = None
) -> go.Figure:
    """Sparsity against unfairness: survivors, the frontier, the choice, its runner-up, and equal value through it."""
    figure = go.Figure()
    x = along(points["sparsity"].to_numpy(float), scale)
    y = points[choice.measure].to_numpy(float)
    known = choice.survivors & ~np.isnan(y)
    keys = points[["technique", "treatment"]].astype(str)
    for (technique, treatment), rows in keys[known].groupby(["technique", "treatment"], sort=False):
        at = rows.index.to_numpy()
        figure.add_scatter(
            x=x[at],
            y=y[at],
            mode="markers",
            name=_series(technique, treatment),
            marker={
                "color": technique_colour(technique),
                "symbol": marker(treatment),
                "size": np.where(choice.frontier[at], 11, 8),
                "opacity": np.where(choice.frontier[at], 1.0, 0.35),
            },
            text=[texts[i] for i in at],
            customdata=points["point"].to_numpy()[at],
            hovertemplate="%{text}<extra></extra>",
        )
    front = np.flatnonzero(choice.frontier)
    front = front[np.argsort(points["sparsity"].to_numpy()[front], kind="stable")]
    line = {"color": ink(dark), "width": 1.5, "dash": "dot"}
    figure.add_scatter(x=x[front], y=y[front], mode="lines", name="Frontier", line=line, hoverinfo="skip")
    if choice.chosen is not None:
        _add_indifference(figure, points, choice, dark, scale)
        if choice.runner_up is not None:
            _add_mark(figure, x, y, choice.runner_up, texts, "Runner-up", "circle-open", ink(dark), 20)
        if second is not None and second.chosen is not None:
            _add_mark(figure, x, y, second.chosen, texts, "Second stakeholder", "star-diamond", ink(dark), 17)
        _add_mark(figure, x, y, choice.chosen, texts, "Chosen", "star", ink(dark), 20)
    styled(figure, y=f"unfairness: {formats.measure(choice.measure)}", height=520)
    if choice.measure not in ("intensification", "excessive_loss_gap"):
        figure.update_yaxes(tickformat=".1%")
    figure.update_layout(legend={"font": {"size": 11}})
    return sparsity_axis(figure, scale)


def _add_mark(
    figure: go.Figure,
    x: np.ndarray,
    y: np.ndarray,
    at: int,
    texts: Sequence[str],
    name: str,
    symbol: str,
    colour: str,
    size: int,
) -> None:
    figure.add_scatter(
        x=[x[at]],
        y=[y[at]],
        mode="markers",
        name=name,
        marker={"symbol": symbol, "size": size, "color": colour, "line": {"width": 2, "color": colour}},
        text=[texts[at]],
        hovertemplate="%{text}<extra></extra>",
    )


def _add_indifference(figure: go.Figure, points: pd.DataFrame, choice: Choice, dark: bool, scale: str) -> None:
    """The line of points that would be worth as much as the chosen one: unfairness = (sparsity - value) / weight."""
    shown = points[choice.survivors]
    low, high = shown["sparsity"].min(), shown["sparsity"].max()
    grid = np.linspace(low, high, 60) if high > low else np.array([low])
    line = (grid - choice.values[choice.chosen]) / choice.weight
    most = shown[choice.measure].max()
    inside = (line >= 0) & (line <= 1.1 * most)
    figure.add_scatter(
        x=along(grid[inside], scale),
        y=line[inside],
        mode="lines",
        name="Equal value",
        line={"color": faded(ink(dark), 0.45), "width": 1},
        hoverinfo="skip",
    )


def class_chart(table: pd.DataFrame, dark: bool) -> go.Figure:
    """Each class's accuracy, dense and chosen, the largest loss on top; columns name, dense, accuracy, n."""
    rows = table.assign(change=table["accuracy"] - table["dense"]).sort_values("change", ascending=False)
    names = [formats.chart_text(name) for name in rows["name"]]
    figure = go.Figure()
    for dense, after, name in zip(rows["dense"], rows["accuracy"], names, strict=True):
        figure.add_scatter(
            x=[dense, after],
            y=[name, name],
            mode="lines",
            line={"color": faded(ink(dark), 0.35), "width": 2},
            showlegend=False,
            hoverinfo="skip",
        )
    text = [
        f"<b>{name}</b><br>dense {formats.percent(row.dense)}, chosen {formats.percent(row.accuracy)}"
        f"<br>{formats.points(row.change)}, {formats.count(row.n)} examples"
        for name, row in zip(names, rows.itertuples(), strict=True)
    ]
    shared = {"y": names, "mode": "markers", "text": text, "hovertemplate": "%{text}<extra></extra>"}
    hollow = {"symbol": "circle-open", "size": 9, "color": ink(dark)}
    figure.add_scatter(x=rows["dense"], name="Dense", marker=hollow, **shared)
    figure.add_scatter(x=rows["accuracy"], name="Chosen", marker={"size": 10, "color": "#D55E00"}, **shared)
    styled(figure, x="class accuracy", height=max(420, min(520, 120 + 36 * len(names))))
    figure.update_yaxes(type="category")
    return figure.update_xaxes(tickformat=".0%")


def weight_strip(wins: pd.DataFrame, points: pd.DataFrame, weights: Sequence[float], dark: bool) -> go.Figure:
    """The weight axis with the stretch on which each point wins, and where the stakeholders stand."""
    figure = go.Figure()
    for row in wins.itertuples():
        point = points.iloc[row.position]
        low, high = max(row.low, WEIGHTS[0]), min(row.high, WEIGHTS[1])
        if high <= low:
            continue
        dense = point["level"] == 0
        wide = np.log10(high / low) > 0.35
        figure.add_bar(
            x=[np.log10(high / low)],
            base=[np.log10(low)],
            y=["wins"],
            orientation="h",
            marker={
                "color": "#BBBBBB" if dense else technique_colour(str(point["technique"])),
                "line": {"color": "#FFFFFF", "width": 1},
            },
            text=["dense" if dense else formats.sparsity(point["sparsity"])] if wide else [""],
            textposition="inside",
            insidetextanchor="middle",
            hovertemplate=(
                f"<b>{point_label(point)}</b><br>level {point['level']}, {formats.sparsity(point['sparsity'])}"
                f"<br>wins from weight {formats.number(row.low)} to {formats.number(row.high)}<extra></extra>"
            ),
            showlegend=False,
        )
    for number, weight in enumerate(weights):
        figure.add_vline(
            x=np.log10(weight), line={"color": ink(dark), "width": 3, "dash": "solid" if not number else "dot"}
        )
    ticks = [0.01, 0.1, 1, 10, 100, 1000]
    styled(figure, height=130, barmode="overlay", margin={"l": 10, "r": 10, "t": 10, "b": 10})
    figure.update_xaxes(
        range=[np.log10(w) for w in WEIGHTS],
        tickvals=np.log10(ticks),
        ticktext=[f"{tick:g}" for tick in ticks],
        title="fairness counts so many times as much as sparsity",
    )
    return figure.update_yaxes(visible=False)


def space_chart(points: pd.DataFrame, choice: Choice, texts: Sequence[str], dark: bool) -> go.Figure:
    """Accuracy, sparsity and unfairness in three dimensions; the frontier's points are crossed."""
    figure = go.Figure()
    keys = points[["technique", "treatment"]].astype(str)
    for (technique, treatment), rows in keys.groupby(["technique", "treatment"], sort=False):
        at = rows.index.to_numpy()
        shown = points.iloc[at].sort_values("level")
        figure.add_scatter3d(
            x=shown["sparsity"],
            y=shown[choice.measure],
            z=shown["accuracy"],
            mode="lines+markers",
            name=_series(technique, treatment),
            marker={"size": 3, "color": technique_colour(technique)},
            line={"color": technique_colour(technique), "width": 3},
            text=[texts[i] for i in at],
            hovertemplate="%{text}<extra></extra>",
        )
    front = points[choice.frontier]
    figure.add_scatter3d(
        x=front["sparsity"],
        y=front[choice.measure],
        z=front["accuracy"],
        mode="markers",
        name="Frontier",
        marker={"symbol": "x", "size": 5, "color": ink(dark)},
        hoverinfo="skip",
    )
    styled(figure, height=560, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    return figure.update_layout(
        scene={
            "xaxis": {"title": "sparsity", "tickformat": ".0%"},
            "yaxis": {"title": formats.measure(choice.measure)},
            "zaxis": {"title": "accuracy", "tickformat": ".0%"},
        }
    )
