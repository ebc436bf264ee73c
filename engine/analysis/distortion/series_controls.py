"""How does alpha of several series stand beside networks that trained as long without being pruned?

`controls` holds the alphas of such networks by series; a series that needs none, or has none, is not in it.
"""

from collections.abc import Mapping

import pandas as pd

from engine.analysis.intervals import t_interval

KEYS = ["series", "seed", "level"]
CONTROL_CELLS = ("series", "ratio", "control", "control_change", "control_low", "control_high")


def series_beside_controls(
    models: pd.DataFrame, controls: Mapping[str, pd.DataFrame]
) -> tuple[pd.DataFrame, frozenset[str]]:
    """The models, and the names of the series that are beside controls: there the control's accuracy is in the place of
    dense's, and alpha is 1 plus what it has more than the control's. A series that lacks a control of some seed and
    level stays beside dense."""
    theirs = _together(controls, ["accuracy", "alpha"])
    pairs = models.merge(theirs, on=KEYS, how="left", suffixes=("", "_control"))
    lacks = pairs["accuracy_control"].isna().groupby(pairs["series"], observed=True).any()
    controlled = frozenset(str(series) for series, some in lacks.items() if not some)
    beside = pairs["series"].isin(controlled)
    alpha = pairs["alpha"] + (1 - pairs.pop("alpha_control"))
    dense = pairs.pop("accuracy_control").where(beside, pairs["dense_accuracy"])
    return pairs.assign(alpha=alpha.where(beside, pairs["alpha"]), dense_accuracy=dense), controlled


def control_cells(models: pd.DataFrame, controls: Mapping[str, pd.DataFrame], confidence: float) -> pd.DataFrame:
    """Alpha of each series at each ratio against its controls': the columns of CONTROL_CELLS, the change with its
    interval; cells without a control are left out."""
    theirs = _together(controls, ["alpha"]).rename(columns={"alpha": "control"})
    pairs = models[[*KEYS, "ratio", "alpha"]].merge(theirs, on=KEYS).dropna()
    pairs = pairs.assign(control_change=pairs["alpha"] - pairs["control"])
    groups = pairs.groupby(["series", "ratio"], observed=True)
    cells = groups[["control", "control_change"]].mean()
    low, high = t_interval(cells["control_change"], groups["control_change"].std(), groups.size(), confidence)
    return cells.assign(control_low=low, control_high=high).reset_index()[list(CONTROL_CELLS)]


def _together(controls: Mapping[str, pd.DataFrame], values: list[str]) -> pd.DataFrame:
    """These columns of all controls, by series, seed and level."""
    parts = [rows[["seed", "level", *values]].assign(series=series) for series, rows in controls.items()]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*KEYS, *values])
