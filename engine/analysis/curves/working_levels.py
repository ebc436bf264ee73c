"""Up to which level does a network work: keep most of its dense accuracy, or all but a little of its baseline's?"""

import pandas as pd

WORKING = 0.75
"""Share of the dense accuracy below which a network has broken down for everybody."""


def last_working(levels: pd.DataFrame) -> int | None:
    """The sparsest level that keeps three quarters of the dense accuracy; None where no pruned level does.

    `levels` has the runs of one model: level, accuracy. Means are over its seeds.
    """
    means = levels.groupby("level")["accuracy"].mean()
    return _last(means, WORKING * _dense(means))


def last_within(levels: pd.DataFrame, loss: float) -> int | None:
    """The sparsest level that loses at most so much accuracy; None where no pruned level does.

    Rows of `beside_baselines` are compared with their `before`, others with dense.
    """
    means = levels.groupby("level")[["accuracy", *(["before"] if "before" in levels else [])]].mean()
    before = means["before"] if "before" in means else _dense(means["accuracy"])
    return _last(means["accuracy"], before - loss)


def _dense(means: pd.Series) -> float:
    return float(means.get(0, float("nan")))


def _last(means: pd.Series, least: pd.Series | float) -> int | None:
    kept = means[(means.index > 0) & (means >= least)]
    return int(kept.index.max()) if len(kept) else None
