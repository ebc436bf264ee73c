"""How does alpha of several series stand beside networks that trained as long without being pruned?

`controls` holds the alphas of such networks by series; a series that needs none, or has none, is not in it.
"""

from collections.abc import Mapping

import pandas as pd

from engine.analysis.curves.controls import against_control, beside_controls

CONTROL_CELLS = ("series", "ratio", "control", "control_change", "control_low", "control_high")


def series_beside_controls(
    models: pd.DataFrame, controls: Mapping[str, pd.DataFrame]
) -> tuple[pd.DataFrame, frozenset[str]]:
    """The models, those of a series with controls beside these (see `beside_controls`), and the names of such series;
    one that lacks a control of some seed and level stays beside dense."""
    parts, controlled = [], set()
    for series, rows in models.groupby("series", observed=True, sort=False):
        beside = beside_controls(rows, controls[str(series)]) if str(series) in controls else None
        if beside is not None:
            controlled.add(str(series))
        parts.append(rows if beside is None else beside)
    return pd.concat(parts, ignore_index=True), frozenset(controlled)


def control_cells(models: pd.DataFrame, controls: Mapping[str, pd.DataFrame], confidence: float) -> pd.DataFrame:
    """Alpha of each series at each ratio against its controls': the columns of CONTROL_CELLS, the change with its
    interval; cells without a control are left out."""
    rows = []
    for (series, ratio), cell in models.groupby(["series", "ratio"], observed=True):
        against = None
        if str(series) in controls:
            against = against_control(cell, controls[str(series)], "alpha", confidence)
        if against is not None:
            rows.append((series, ratio, against.control, against.change, against.low, against.high))
    return pd.DataFrame(rows, columns=list(CONTROL_CELLS))
