"""What does each operating point cost whoever runs it?"""

import numpy as np
import pandas as pd

from engine.analysis.columns import MODEL

COSTS = ("macs", "bytes", "bytes_zipped", "milliseconds", "bits", "params")
"""Columns of costs: multiplications of one image, bytes of the file, bytes zipped, milliseconds of one image, bits of a
weight, parameters."""
_IMPORTED = {"latency_ms": "milliseconds"}
"""What people who bring their own call a cost, where that is another word."""


def with_costs(points: pd.DataFrame, *tables: pd.DataFrame) -> pd.DataFrame:
    """The points with a column for each of COSTS, means over the seeds that recorded it; NaN where none did.

    A table has one row per model: its identity, its level and some of COSTS; the first that has a number counts.
    """
    keys, columns = [*MODEL, "level"], {name: np.full(len(points), np.nan) for name in COSTS}
    identity = points[keys].astype(dict.fromkeys(MODEL, str))
    for table in (table.rename(columns=_IMPORTED) for table in tables):
        known = [name for name in COSTS if name in table]
        if table.empty or not known:
            continue
        rows = table[[*keys, *known]].astype(dict.fromkeys(MODEL, str) | dict.fromkeys(known, float))
        means = identity.merge(rows.groupby(keys, as_index=False)[known].mean(), on=keys, how="left")
        for name in known:
            columns[name] = np.where(np.isnan(columns[name]), means[name].to_numpy(float), columns[name])
    return points.assign(**columns)
