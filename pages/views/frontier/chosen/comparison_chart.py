"""Two networks group by group."""

import numpy as np
import pandas as pd

from pages.shared import formats
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import chart_layout, faded, ink
from pages.views.frontier.charts import SILENT

MOST_GROUPS = 30
SECOND = "#0072B2"


def pair_chart(table: pd.DataFrame, names: tuple[str, str], dark: bool) -> Drawing:
    """Each group's accuracy under both, the second's largest loss on top; columns name, n, first, second, change."""
    rows = table.head(MOST_GROUPS)[::-1]
    labels = [
        f"{formats.chart_text(name)} ({formats.count(n)})" for name, n in zip(rows["name"], rows["n"], strict=True)
    ]
    first, second = rows["first"].to_numpy(float), rows["second"].to_numpy(float)
    said = hover(
        "{text}<br>candidate [{first:.1f} %], second [{second:.1f} %]",
        texts=labels,
        first=100 * first,
        second=100 * second,
    )
    shared = {"type": "scatter", "y": labels, "mode": "markers", **said}
    between = {
        "x": [x for pair in zip(first.tolist(), second.tolist(), strict=True) for x in (*pair, None)],
        "y": [y for name in labels for y in (name, name, None)],
        "line": {"color": faded(ink(dark), 0.5), "width": 2},
    }
    ring = {"symbol": "circle-open", "size": 11, "color": "#D55E00", "line": {"width": 2}}
    traces = [
        {"type": "scatter", "mode": "lines", "showlegend": False, **between, **SILENT},
        {"x": first, "name": f"Candidate: {names[0]}", "marker": ring, **shared},
        {"x": second, "name": f"Second: {names[1]}", "marker": {"size": 9, "color": SECOND}, **shared},
    ]
    known = np.concatenate([first, second])
    least = float(np.nanmin(known)) if np.isfinite(known).any() else 0.0
    axes = {
        "xaxis": {
            "title": "accuracy",
            "tickformat": ".0%",
            "range": [max(0.0, np.floor(20 * (least - 0.02)) / 20), 1.0],
        },
        "yaxis": {"type": "category", "automargin": True},
    }
    return Drawing(traces, chart_layout(max(300, 110 + 24 * len(labels))) | axes)
