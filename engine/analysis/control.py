"""What does pruning change against the same training without it: pairs of equal seed and level."""

from dataclasses import dataclass

import pandas as pd

from engine.analysis.intervals import t_interval


@dataclass(frozen=True)
class Against:
    """A number of one model beside its control's: means over the seeds that both have, and the change between them
    with its 95 % interval, NaN with one seed."""

    model: float
    control: float
    change: float
    low: float
    high: float
    n_seeds: int


def against_control(models: pd.DataFrame, controls: pd.DataFrame, column: str) -> Against | None:
    """The column of one model at one level against the control's; None where no seed has both.

    Both tables have a row per seed and level; NaN counts as missing.
    """
    keys = ["seed", "level"]
    pairs = models[[*keys, column]].merge(controls[[*keys, column]], on=keys, suffixes=("", "_control")).dropna()
    if pairs.empty:
        return None
    change = pairs[column] - pairs[f"{column}_control"]
    low, high = t_interval(change.mean(), change.std(), len(change))
    mean, control = pairs[[column, f"{column}_control"]].mean()
    return Against(float(mean), float(control), float(change.mean()), float(low), float(high), len(pairs))
