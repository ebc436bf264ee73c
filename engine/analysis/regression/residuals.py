"""Where does the regression miss: fitted against observed accuracy, and residuals, counted in bins.

After Paganini 2020, Figures 14 and 15.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BIN = 0.05
"""Width of a bin of accuracy."""

NARROW = 0.01
"""Width of a bin of the histogram of residuals."""

REACH = 1.0
"""Fitted values and residuals farther than this outside 0 and 1 count in the last bin."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Counts behind the three charts; every table has one row per bin that is not empty."""

    fitted: pd.DataFrame
    """observed and fitted (middles of bins), n, share of the observed bin."""
    by_target: pd.DataFrame
    """observed and residual (middles of bins), n, share of the observed bin."""
    means: pd.DataFrame
    """observed (middle of a bin), n, fitted and residual (means)."""
    histogram: pd.DataFrame
    """residual (middle of a bin), n."""
    spread: float
    """Standard deviation of the residuals."""
    n_outside: int
    """Fitted values below 0 or above 1."""


def residual_bins(observed: Floats, fitted: Floats) -> Residuals:
    """What the fit left over, in bins."""
    left = observed - fitted
    place, n_bins = _places(observed, BIN), round(1 / BIN)
    place = np.clip(place, 0, n_bins - 1)
    n = np.bincount(place, minlength=n_bins)
    some = np.flatnonzero(n)
    means = {
        name: np.bincount(place, values, minlength=n_bins)[some] / n[some]
        for name, values in (("fitted", fitted), ("residual", left))
    }
    outside = (fitted < 0) | (fitted > 1)
    return Residuals(
        _cells(place, fitted, "fitted"),
        _cells(place, left, "residual"),
        pd.DataFrame({"observed": _middle(some, BIN), "n": n[some], **means}),
        _histogram(left),
        float(left.std()),
        int(outside.sum()),
    )


def _places(values: Floats, width: float) -> NDArray[np.int64]:
    """Number of each value's bin; a border belongs to the bin above, up to rounding."""
    return np.floor(np.clip(values, -REACH, 1 + REACH) / width + 1e-9).astype(np.int64)


def _middle(place: NDArray[np.int64], width: float) -> Floats:
    return np.asarray((place + 0.5) * width, np.float64)


def _cells(place: NDArray[np.int64], values: Floats, name: str) -> pd.DataFrame:
    other = _places(values, BIN)
    low, high = int(other.min()), int(other.max())
    n_other = high - low + 1
    n = np.bincount(place * n_other + other - low)
    cells = np.flatnonzero(n)
    total = np.bincount(place)[cells // n_other]
    return pd.DataFrame(
        {
            "observed": _middle(cells // n_other, BIN),
            name: _middle(cells % n_other + low, BIN),
            "n": n[cells],
            "share": n[cells] / total,
        }
    )


def _histogram(left: Floats) -> pd.DataFrame:
    place = _places(left, NARROW)
    n = np.bincount(place - place.min())
    cells = np.flatnonzero(n)
    return pd.DataFrame({"residual": _middle(cells + int(place.min()), NARROW), "n": n[cells]})
