"""Charts of the Recall distortion page: alpha by ratio, accuracy beside alpha, balances before against after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.analysis.verdicts import HelpfulRange
from pages.shared import formats
from pages.shared.charts.style import faded, ink, styled

NEAR = (-0.5, 3.0)
"""The widest range of alpha that the near scale shows."""

FEW_BOXES = 40
"""Up to here every seed is drawn as a point."""

MANY_POINTS = 5000
"""From here on the browser draws points on the graphics card."""

TALL = 420
"""Height of the charts of the first screen in pixels."""

ROW = 175
"""Height of a row of the scatter matrix in pixels."""


@dataclass(frozen=True)
class Look:
    """How a series is drawn: its name as a chart shows it, colour and marker."""

    name: str
    colour: str
    symbol: str


def alpha_boxes(
    models: pd.DataFrame, cells: pd.DataFrame, looks: Mapping[str, Look], near: bool, dark: bool
) -> go.Figure:
    """Boxes of alpha over seeds by ratio and series, the mean with its interval, and the verdict's mark on top."""
    ratios = sorted(cells["ratio"].unique())
    low, high = alpha_range(models["alpha"].to_numpy(float), near)
    width = 0.84 / max(len(looks), 1)
    figure = go.Figure()
    figure.add_hline(y=1, line={"color": ink(dark), "width": 1, "dash": "dash"})
    for place, (series, look) in enumerate(looks.items()):
        shift = (place - (len(looks) - 1) / 2) * width
        where = {ratio: index + shift for index, ratio in enumerate(ratios)}
        rows, found = models[models["series"] == series], cells[cells["series"] == series]
        _add_box(figure, rows, rows["ratio"].map(where), look, width, len(cells) <= FEW_BOXES)
        _add_means(figure, found, found["ratio"].map(where), look, (low, high), dark)
    styled(figure, "pruning ratio (weights before / after)", "alpha", TALL)
    figure.update_xaxes(
        tickvals=list(range(len(ratios))),
        ticktext=[formats.number(ratio) for ratio in ratios],
        range=[-0.55, len(ratios) - 0.45],
        showgrid=False,
        zeroline=False,
    )
    for border in range(1, len(ratios)):
        figure.add_vline(x=border - 0.5, line={"color": faded("#7F7F7F", 0.25), "width": 1})
    figure.update_yaxes(range=[low, high], zeroline=False)
    return figure


def alpha_range(alpha: np.ndarray, near: bool) -> tuple[float, float]:
    """Ends of the axis of alpha with 1 inside and room for marks on top; the near one leaves out what is far off."""
    known = alpha[np.isfinite(alpha)]
    low, high = min(known.min(initial=0.9), 0.9), max(known.max(initial=1.1), 1.1)
    if near:
        low, high = max(low, NEAR[0]), min(high, NEAR[1])
    return low - 0.04 * (high - low), high + 0.14 * (high - low)


def accuracy_beside_alpha(cells: pd.DataFrame, found: HelpfulRange, look: Look, near: bool, dark: bool) -> go.Figure:
    """Accuracy (left) and alpha (right) of one series by ratio, dense accuracy and alpha = 1 on one horizontal line."""
    rows = cells.sort_values("ratio")
    dense = float(rows["dense_accuracy"].mean())
    up_accuracy, up_alpha = _half_heights(rows, found, near)
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    change = rows["change"].to_numpy(float)
    lines = (
        ("Accuracy", dense + change, rows["change_low"] + dense, rows["change_high"] + dense, ink(dark), dense, False),
        (f"Alpha, {look.name}", rows["alpha"], rows["low"], rows["high"], look.colour, 1.0, True),
    )
    texts = [_cell_text(look, cell) for cell in rows.to_dict("records")]
    for name, y, low, high, colour, start, second in lines:
        values = np.array([start, *y])
        below, above = np.array([np.nan, *(y - low)]), np.array([np.nan, *(high - y)])
        figure.add_scatter(
            x=[1, *rows["ratio"]],
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2.5},
            marker={"size": 8, "symbol": look.symbol if second else "square", "color": colour},
            error_y={"array": above, "arrayminus": below, "thickness": 1, "width": 3, "color": faded(colour, 0.6)},
            text=["<b>Dense network</b>", *texts],
            hovertemplate="%{text}<extra></extra>",
            secondary_y=second,
        )
    if found.cells:
        figure.add_vrect(
            x0=found.cells[0].ratio / 1.06,
            x1=found.cells[-1].ratio * 1.06,
            fillcolor=faded(look.colour, 0.12),
            line_width=0,
            layer="below",
        )
    figure.add_hline(y=dense, line={"color": ink(dark), "width": 1, "dash": "dash"})
    styled(figure, "pruning ratio (log)", "", TALL)
    ticks = _ratio_ticks(rows["ratio"].to_numpy(float))
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[formats.number(t) for t in ticks], showgrid=False)
    for second, title, colour, centre, reach, write in (
        (False, "accuracy", ink(dark), dense, up_accuracy, formats.percent),
        (True, "alpha", look.colour, 1.0, up_alpha, partial(formats.number, digits=4)),
    ):
        ticks = _ticks(centre, reach)
        figure.update_yaxes(
            title={"text": title, "font": {"color": colour}},
            range=[centre - reach, centre + reach],
            tickmode="array",
            tickvals=ticks,
            ticktext=[write(tick) for tick in ticks],
            showgrid=False,
            zeroline=False,
            secondary_y=second,
        )
    return figure


def balance_matrix(
    points: pd.DataFrame, slopes: pd.DataFrame, looks: Mapping[str, Look], near: bool, dark: bool
) -> go.Figure:
    """Normalised balance before against after: a row per ratio, a column per series, with slope, r2, mean accuracy.

    `points` has a column `text`, what hover says.
    """
    ratios = sorted(points["ratio"].unique())
    figure = make_subplots(
        rows=len(ratios),
        cols=len(looks),
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.012,
        vertical_spacing=0.12 / max(len(ratios), 1) ** 1.3,
        column_titles=[look.name for look in looks.values()],
        row_titles=[f"ratio {formats.number(ratio)}" for ratio in ratios],
        x_title="normalised balance before pruning",
        y_title="after pruning",
    )
    across = 1.08 * _furthest(points["before"], 1.0)
    along = max(across, 1.08 * _furthest(points["after"], 0.97 if near else 1.0))
    along = min(along, NEAR[1] * across) if near else along
    draw = go.Scattergl if len(points) > MANY_POINTS else go.Scatter
    facts = slopes.set_index(["series", "ratio"])
    cells = dict(iter(points.groupby(["series", "ratio"])))
    for column, (series, look) in enumerate(looks.items(), 1):
        for row, ratio in enumerate(ratios, 1):
            at = {"row": row, "col": column}
            _add_lines(figure, across, at, dark)
            if (series, ratio) not in cells:
                continue
            found, fact = cells[series, ratio], facts.loc[(series, ratio)]
            dots = draw(
                x=found["before"],
                y=found["after"],
                mode="markers",
                marker={"size": 4, "color": look.colour, "opacity": 0.5},
                text=found["text"],
                hovertemplate="%{text}<extra></extra>",
                showlegend=False,
            )
            figure.add_trace(dots, **at)
            if np.isfinite(fact["alpha"]):
                _add_line(figure, across, fact["alpha"], {"color": look.colour, "width": 2}, at)
            figure.add_annotation(
                text=f"α {formats.number(fact['alpha'])} · r² {formats.fixed(fact['r2'], 2)}"
                f" · {formats.percent(fact['accuracy'])}",
                xref="x domain",
                yref="y domain",
                x=0.03,
                y=0.99,
                showarrow=False,
                xanchor="left",
                yanchor="top",
                font={"size": 11},
                **at,
            )
    styled(figure, height=90 + ROW * len(ratios), margin={"l": 60, "r": 30, "t": 30, "b": 55})
    figure.update_xaxes(range=[-across, across], tickformat=".0%", zeroline=False, nticks=5)
    figure.update_yaxes(range=[-along, along], tickformat=".0%", zeroline=False, nticks=5)
    return figure


def _add_box(
    figure: go.Figure, rows: pd.DataFrame, where: pd.Series, look: Look, width: float, all_points: bool
) -> None:
    seen = rows[["seed", "alpha", "accuracy", "sparsity"]].to_dict("records")
    figure.add_box(
        x=where,
        y=rows["alpha"],
        name=look.name,
        width=0.86 * width,
        boxpoints="all" if all_points else "outliers",
        jitter=0.4,
        pointpos=0,
        marker={"size": 4, "color": faded(look.colour, 0.7), "symbol": look.symbol},
        line={"color": look.colour, "width": 1.5},
        fillcolor=faded(look.colour, 0.25),
        hoveron="points",
        text=[
            f"<b>{look.name}</b>, seed {row['seed']}<br>sparsity {formats.sparsity(row['sparsity'])}"
            f"<br>alpha {formats.number(row['alpha'])}<br>accuracy {formats.percent(row['accuracy'])}"
            for row in seen
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _add_means(
    figure: go.Figure, cells: pd.DataFrame, where: pd.Series, look: Look, ends: tuple[float, float], dark: bool
) -> None:
    """The means with their intervals, and above them the marks, with the mean where it is out of sight."""
    low, high = ends
    texts = [_cell_text(look, cell) for cell in cells.to_dict("records")]
    shown = {"text": texts, "hovertemplate": "%{text}<extra></extra>", "showlegend": False}
    figure.add_scatter(
        x=where,
        y=cells["alpha"],
        mode="markers",
        marker={"symbol": look.symbol, "size": 7, "color": ink(dark)},
        error_y={
            "array": cells["high"] - cells["alpha"],
            "arrayminus": cells["alpha"] - cells["low"],
            "color": faded(ink(dark), 0.7),
            "thickness": 1.5,
            "width": 4,
        },
        **shown,
    )
    arrows = np.where(cells["alpha"] > high, "<br>↑", np.where(cells["alpha"] < low, "<br>↓", ""))
    marks = [f"<b>{formats.chart_text(mark)}</b>{arrow}" for mark, arrow in zip(cells["mark"], arrows, strict=True)]
    figure.add_scatter(
        x=where,
        y=np.full(len(cells), high - 0.01 * (high - low)),
        mode="text",
        textposition="bottom center",
        text=marks,
        textfont={"size": 16, "color": look.colour},
        customdata=texts,
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
        cliponaxis=False,
    )


def _cell_text(look: Look, cell: Mapping[str, object]) -> str:
    """What hover says of a series at a ratio."""
    facts = pd.Series(cell)
    lines = [
        f"<b>{look.name}</b>, ratio {formats.number(facts['ratio'])}, sparsity {formats.sparsity(facts['sparsity'])}",
        f"alpha {formats.number(facts['alpha'])}{half(facts['low'], facts['high'])}: {facts['verdict']}",
        f"all gaps {formats.number(facts['spread'])} times as wide as before",
        f"accuracy {formats.percent(facts['accuracy'])}, {formats.points(facts['change'])} since dense",
        formats.seeds(facts["n_seeds"]),
    ]
    if facts["n_collapsed"]:
        lines.append(f"{facts['n_collapsed']} of {facts['n_models']} models predict one class only")
    return "<br>".join(lines)


def half(low: float, high: float) -> str:
    """Half of an interval as " ± 0.08"; empty where there is none."""
    return "" if not np.isfinite(low + high) else f" ± {formats.number((high - low) / 2, 2)}"


def _half_heights(rows: pd.DataFrame, found: HelpfulRange, near: bool) -> tuple[float, float]:
    """How far the axes of accuracy and of alpha go from their line: to the first ratio beyond the range, or to all."""
    if near:
        end = found.beyond.ratio if found.beyond else np.inf
        rows = rows[(rows["ratio"] <= end).to_numpy()]
        accuracy, alpha = rows["change"].abs().max(), (rows["alpha"] - 1).abs().max()
    else:
        accuracy = rows[["change", "change_low", "change_high"]].abs().max().max()
        alpha = (rows[["alpha", "low", "high"]] - 1).abs().max().max()
    return 1.25 * max(_known(accuracy), 0.004), 1.25 * max(_known(alpha), 0.04)


def _ticks(centre: float, reach: float) -> list[float]:
    """Round steps up and down from the centre, two or three each way."""
    power = 10 ** np.floor(np.log10(reach / 2))
    step = power * next(round for round in (5, 2.5, 2, 1) if round * power <= reach / 2)
    return [float(centre + k * step) for k in range(-4, 5) if abs(k) * step <= reach]


def _ratio_ticks(ratios: np.ndarray, most: int = 6) -> list[float]:
    """1 and some of the ratios, evenly picked."""
    picked = np.unique(np.linspace(0, len(ratios) - 1, min(most, len(ratios))).round().astype(int))
    return [1.0, *ratios[picked]]


def _furthest(values: pd.Series, share: float) -> float:
    known = values.abs().dropna()
    return max(float(known.quantile(share)), 0.01) if len(known) else 1.0


def _known(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0


def _add_lines(figure: go.Figure, reach: float, at: dict[str, int], dark: bool) -> None:
    """The line of no change in a panel."""
    _add_line(figure, reach, 1.0, {"color": faded(ink(dark), 0.6), "width": 1, "dash": "dash"}, at)


def _add_line(figure: go.Figure, reach: float, slope: float, line: dict[str, object], at: dict[str, int]) -> None:
    ends: Sequence[float] = (-reach, reach)
    y = [slope * end for end in ends]
    figure.add_scatter(x=ends, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False, **at)
