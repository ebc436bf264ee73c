"""The live curve of a job: accuracy of every run, level by level."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from engine.pruning.techniques import TECHNIQUES
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import axis, chart_layout, dash, technique_colour

LIVE_HEIGHT = 300


def live_chart(runs: Sequence[dict[str, Any]]) -> Drawing:
    """A line per run, in its technique's colour, runs at work above finished ones."""
    traces: list[dict[str, Any]] = []
    named: set[str] = set()
    n_levels = max((int(run["n_levels"]) for run in runs), default=1)
    for run in sorted(runs, key=lambda run: run["state"] == "running"):
        technique, points = str(run["technique"]), run["accuracies"]
        label = TECHNIQUES[technique].label if technique in TECHNIQUES else technique
        if not points:
            continue
        is_live = run["state"] == "running"
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if is_live else "lines",
                "x": [level for level, _ in points],
                "y": [value for _, value in points],
                "name": label,
                "legendgroup": label,
                "showlegend": label not in named,
                "opacity": 1.0 if is_live else 0.35,
                "line": {"color": technique_colour(technique), "width": 2, "dash": dash(str(run["treatment"]))},
                "hovertemplate": f"{label}, {run['treatment']}, seed {run['seed']}<br>level %{{x}}: %{{y:.1%}}"
                "<extra></extra>",
            }
        )
        named.add(label)
    layout = chart_layout(
        LIVE_HEIGHT,
        xaxis=axis("level", range=[-0.2, n_levels + 0.2], dtick=max(1, n_levels // 10)),
        yaxis=axis("accuracy on validation images", tickformat=".0%", range=[0, 1.02]),
        uirevision="live",
    )
    return Drawing(traces, layout)


def live_table(runs: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The numbers behind the curve."""
    rows = [
        {key: run[key] for key in ("run", "technique", "treatment", "seed")} | {"level": level, "accuracy": value}
        for run in runs
        for level, value in run["accuracies"]
    ]
    return pd.DataFrame(rows, columns=["run", "technique", "treatment", "seed", "level", "accuracy"])
