"""How sure is the worst of many: intervals that hold for all of them at once, so that one may pick after looking."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.analysis.intervals import t_interval

Floats = NDArray[np.float64]


def confidence_of_each(n: ArrayLike, confidence: float = 0.95) -> Floats:
    """The confidence at which each of n intervals is to be taken for all of them to hold together (Sidak 1967).

    Exact for independent ones, a little too wide for others; NaN for none.
    """
    n = np.asarray(n, float)
    each: Floats = confidence ** (1 / np.where(n > 0, n, np.nan))
    return each


def max_t_interval(changes: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Low and high ends, for every column at once, of the mean over rows: `changes` are (n_seeds, n_classes), paired.

    The critical value is that of the largest of so many Student's t, exact where columns are independent and normal. A
    column with a NaN or with fewer than two seeds has NaN and does not count among the many.
    """
    changes = np.asarray(changes, float)
    usable = ~np.isnan(changes).any(axis=0)
    each = confidence_of_each(usable.sum(), confidence)
    sd = changes.std(axis=0, ddof=1) if len(changes) > 1 else np.full(changes.shape[1], np.nan)
    return t_interval(changes.mean(axis=0), sd, len(changes), each)
