"""Which operating points break a floor: accuracy, the group that is served worst, the group that loses most?"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ROUNDING = 1e-9
"""How far a mean over seeds may lie beyond a floor by rounding alone."""


@dataclass(frozen=True)
class Floor:
    """One row of the table of floors: the column of the points that it bounds, from below or from above.

    `broken` says what a point breaks; `{group}` and `{limit}` are filled in.
    """

    column: str
    label: str
    is_least: bool
    broken: str
    group: str = ""
    """Column that names the group behind the number, where there is one."""
    factor: float = 100.0
    """Times so much the number is what people set."""
    unit: str = "%"
    is_cost: bool = False
    """Whether it bounds what a network costs, which is measured of some networks only and no matter of chance."""


FLOORS: dict[str, Floor] = {
    "accuracy": Floor("accuracy", "Accuracy at least", True, "accuracy below {limit:.1f} %"),
    "lowest": Floor("lowest", "No group below", True, "{group} below {limit:.1f} %", "lowest_group"),
    "loss": Floor(
        "loss",
        "No group loses more than",
        False,
        "{group} loses more than {limit:.1f} points",
        "loss_group",
        unit="points",
    ),
    "bytes": Floor("bytes", "File at most", False, "file above {limit:.1f} kB", "", 1e-3, "kB", True),
    "zipped": Floor("bytes_zipped", "Zipped at most", False, "zipped above {limit:.1f} kB", "", 1e-3, "kB", True),
    "macs": Floor(
        "macs", "Multiplications at most", False, "above {limit:.2f} million multiplications", "", 1e-6, "million", True
    ),
    "milliseconds": Floor(
        "milliseconds", "Milliseconds at most", False, "slower than {limit:.2f} ms", "", 1.0, "ms", True
    ),
}
"""What may be asked of a point. A number that is measured of some networks only, as milliseconds, is a row here and a
column of the points; a point without the number breaks the floor."""

Limits = Mapping[str, float]
"""Floor -> its limit in the column's own unit, a share but for costs; floors that are not set are left out."""


def with_extremes(points: pd.DataFrame, means: pd.DataFrame, names: Mapping[int, str]) -> pd.DataFrame:
    """The points with `lowest`, the accuracy of the group that each serves worst, and `loss`, what the group that loses
    most has lost since the baseline; `lowest_group` and `loss_group` name them. NaN and empty where nothing is known.

    `means` has point, class (the group's number), accuracy and dense_accuracy (the baseline's).
    """
    rows = means[["point", "class", "accuracy"]].assign(loss=means["dense_accuracy"] - means["accuracy"])
    columns: dict[str, object] = {}
    for name, column, sign in (("lowest", "accuracy", 1), ("loss", "loss", -1)):
        known = rows[rows[column].notna()]
        worst = known.loc[(sign * known[column]).groupby(known["point"]).idxmin()].set_index("point")
        found = worst.reindex(points["point"])
        columns[name] = found[column].to_numpy(float)
        # As categories: pages take rows of this table at every move, and texts are slow to take.
        texts = ["" if n != n else names.get(int(n), str(int(n))) for n in found["class"].tolist()]
        columns[f"{name}_group"] = pd.Categorical(texts)
    return points.assign(**columns)


def keeps(points: pd.DataFrame, floor: Floor, limit: float) -> NDArray[np.bool_]:
    """True where a point keeps a floor, up to rounding; a point without the number does not."""
    number = points[floor.column].to_numpy(float)
    kept: NDArray[np.bool_] = number >= limit - ROUNDING if floor.is_least else number <= limit + ROUNDING
    return kept


def allowed(points: pd.DataFrame, limits: Limits) -> NDArray[np.bool_]:
    """True where a point keeps every floor that is set."""
    mask = np.ones(len(points), bool)
    for name, limit in limits.items():
        mask &= keeps(points, FLOORS[name], limit)
    return mask


def broken(points: pd.DataFrame, limits: Limits) -> list[str]:
    """What each point breaks, the first of its floors in their order; empty where it keeps all."""
    texts = [""] * len(points)
    for name, floor in FLOORS.items():
        if name not in limits:
            continue
        groups = points[floor.group].tolist() if floor.group else [""] * len(points)
        for at in np.flatnonzero(~keeps(points, floor, limits[name])).tolist():
            group = groups[at] or "a group"
            texts[at] = texts[at] or floor.broken.format(group=group, limit=floor.factor * limits[name])
    return texts
