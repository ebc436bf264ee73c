"""The scatter matrix of the Recall distortion page: every class before against after pruning, by ratio and series."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import chart_layout, faded, ink
from pages.views.distortion.charts import NEAR, Look

MANY_POINTS = 5000
"""From here on the browser draws points on the graphics card."""

ROW = 175
"""Height of a row in pixels."""

LINE = 18
"""Height of a line of a column's title."""


def balance_matrix(
    points: pd.DataFrame, slopes: pd.DataFrame, looks: Mapping[str, Look], near: bool, dark: bool
) -> Drawing:
    """Normalised balance before against after: a row per ratio, a column per series, with slope, r2, mean accuracy.

    `points` has a column `name`, that of the class.
    """
    ratios = sorted(points["ratio"].unique())
    across, upward = _reach(points, near)
    kind = "scattergl" if len(points) > MANY_POINTS else "scatter"
    facts = slopes.set_index(["series", "ratio"]).to_dict("index")
    cells = dict(iter(points.groupby(["series", "ratio"])))
    traces, notes = [], _titles(ratios, looks)
    for column, (series, drawn) in enumerate(looks.items(), 1):
        for row, ratio in enumerate(ratios, 1):
            at = {"xaxis": _ref("x", column), "yaxis": _ref("y", row)}
            traces.append(_line(across, 1.0, {"color": faded(ink(dark), 0.6), "width": 1, "dash": "dash"}) | at)
            if (series, ratio) not in cells:
                continue
            fact = facts[series, ratio]
            traces.append(_dots(cells[series, ratio], drawn, kind) | at)
            if np.isfinite(fact["alpha"]):
                traces.append(_line(across, fact["alpha"], {"color": drawn.colour, "width": 2}) | at)
            inside = f"{at['xaxis']} domain", f"{at['yaxis']} domain"
            notes.append(_note(_fact_text(fact), *inside, 0.03, 0.99))
    above = 22 + LINE * max((_title(drawn).count("<br>") + 1 for drawn in looks.values()), default=1)
    layout = chart_layout(
        70 + above + ROW * len(ratios),
        margin={"l": 60, "r": 30, "t": above, "b": 60},
        annotations=notes,
        showlegend=False,
        **_axes(len(ratios), len(looks), across, upward),
    )
    return Drawing(traces, layout)


def _reach(points: pd.DataFrame, near: bool) -> tuple[float, float]:
    """How far the axes go to both sides; the near one leaves out what would take a slope far above 1."""

    def furthest(values: pd.Series, share: float) -> float:
        sizes = values.abs().dropna()
        return 1.08 * max(float(sizes.quantile(share)), 0.01) if len(sizes) else 1.0

    across = furthest(points["before"], 1.0)
    upward = max(across, furthest(points["after"], 0.97 if near else 1.0))
    return across, min(upward, NEAR[1] * across) if near else upward


def _axes(n_rows: int, n_columns: int, across: float, upward: float) -> dict[str, dict[str, Any]]:
    """One horizontal axis per column and one vertical axis per row; every pair of them is a panel."""
    shared = {"tickformat": ".0%", "zeroline": False, "nticks": 5}
    axes = {}
    for place, (start, end) in enumerate(_domains(n_columns, 0.015), 1):
        axes[f"xaxis{place if place > 1 else ''}"] = {
            "domain": [start, end],
            "range": [-across, across],
            "anchor": _ref("y", n_rows),
            **shared,
        }
    for place, (start, end) in enumerate(_domains(n_rows, 0.025), 1):
        axes[f"yaxis{place if place > 1 else ''}"] = {
            "domain": [1 - end, 1 - start],
            "range": [-upward, upward],
            "anchor": "x",
            **shared,
        }
    return axes


def _ref(letter: str, place: int) -> str:
    """Plotly's name of an axis: the first has no number."""
    return letter if place == 1 else f"{letter}{place}"


def _domains(n: int, gap: float) -> list[tuple[float, float]]:
    width = (1 - gap * (n - 1)) / max(n, 1)
    starts = [place * (width + gap) for place in range(n)]
    return [(start, min(start + width, 1.0)) for start in starts]


def _titles(ratios: Sequence[float], looks: Mapping[str, Look]) -> list[dict[str, Any]]:
    middle = {"xanchor": "center", "font": {"size": 13}}
    notes = [
        _note(_title(drawn), f"{_ref('x', column)} domain", "paper", 0.5, 1.0) | middle | {"yanchor": "bottom"}
        for column, drawn in enumerate(looks.values(), 1)
    ]
    notes += [
        _note(f"ratio {formats.number(ratio)}", "paper", f"{_ref('y', row)} domain", 1.0, 0.5)
        | {"textangle": 90}
        | middle
        | {"xanchor": "left", "yanchor": "middle"}
        for row, ratio in enumerate(ratios, 1)
    ]
    below = _note("normalised balance before pruning", "paper", "paper", 0.5, 0) | middle
    aside = _note("after pruning", "paper", "paper", 0, 0.5) | middle
    return [*notes, below | {"yshift": -30}, aside | {"textangle": -90, "xshift": -50, "yanchor": "middle"}]


def _title(drawn: Look) -> str:
    """A series' name, in as many lines as it has parts: many columns stand side by side."""
    return drawn.name.replace(", ", ",<br>")


def _note(text: str, x_of: str, y_of: str, x: float, y: float) -> dict[str, Any]:
    where = {"xref": x_of, "yref": y_of, "x": x, "y": y, "xanchor": "left", "yanchor": "top"}
    return {"text": text, "showarrow": False, "font": {"size": 11}, **where}


def _fact_text(fact: Mapping[Any, Any]) -> str:
    r2 = formats.fixed(fact["r2"], 2)
    return f"α {formats.number(fact['alpha'])} · r² {r2} · {formats.percent(fact['accuracy'])}"


def _dots(rows: pd.DataFrame, drawn: Look, kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "x": rows["before"].to_numpy(),
        "y": rows["after"].to_numpy(),
        "mode": "markers",
        "marker": {"size": 4, "color": drawn.colour, "opacity": 0.5},
        **hover(
            "<b>class {text}</b>, seed {seed:.0f}, n {n:,.0f}[<br>before {before:.1f} %][, after {after:.1f} %]"
            "[<br>ratio {ratio:.3~r}]",
            texts=rows["name"].tolist(),
            seed=rows["seed"],
            n=rows["n"],
            before=100 * rows["before"],
            after=100 * rows["after"],
            ratio=rows["class_ratio"],
        ),
    }


def _line(reach: float, slope: float, line: dict[str, object]) -> dict[str, Any]:
    ends = [-reach, reach]
    return {"type": "scatter", "x": ends, "y": [slope * x for x in ends], "mode": "lines", "line": line} | {
        "hoverinfo": "skip"
    }
