"""How many seeds would tell two networks apart, given how they differ so far?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2, t

CONFIDENCE, POWER = 0.95, 0.8
STEPS = 4000
"""Parts of the integral of the power, which is right to four digits so."""
MOST = 200
"""Seeds beyond which more of them are no way to settle anything."""

FEW = "fewer than two seeds are common to both, so how they vary cannot be said"
EQUAL = "both are the same in every seed, so that no number of seeds tells them apart"
TOO_MANY = f"they differ so little that more than {MOST} seeds would be needed: for all purposes they are equal"


@dataclass(frozen=True)
class SeedsNeeded:
    """Seeds in all with which a paired t-test tells two networks apart in 80 % of studies; NaN with the reason."""

    n: float
    n_now: int
    mean: float
    """Of the differences seed by seed."""
    spread: float
    """Their standard deviation."""
    reason: str = ""


def seeds_needed(one: NDArray[np.float64], other: NDArray[np.float64]) -> SeedsNeeded:
    """The least number of seeds, at least two, for a two-sided paired t-test at 95 % with a power of 80 %.

    Takes the difference so far for the true one, which is a hope: a small difference is seen larger than it is about as
    often as smaller.
    """
    differences = (one - other)[np.isfinite(one) & np.isfinite(other)]
    n_now = len(differences)
    if n_now < 2:
        return SeedsNeeded(np.nan, n_now, np.nan, np.nan, FEW)
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if abs(mean) < 1e-12:
        return SeedsNeeded(np.nan, n_now, mean, spread, EQUAL)
    if spread < 1e-12:
        return SeedsNeeded(2, n_now, mean, spread)
    for n in range(2, MOST + 1):
        if paired_power(abs(mean) / spread, n) >= POWER:
            return SeedsNeeded(n, n_now, mean, spread)
    return SeedsNeeded(np.nan, n_now, mean, spread, TOO_MANY)


def paired_power(effect: float, n: int) -> float:
    """Power of a two-sided paired t-test with n pairs; `effect` is the mean difference in standard deviations.

    Integrated over the spread that the pairs happen to have, because scipy's noncentral t is NaN far out.
    """
    critical, shift = t.ppf((1 + CONFIDENCE) / 2, n - 1), effect * np.sqrt(n)
    seen = (np.arange(STEPS) + 0.5) / STEPS
    spread = critical * np.sqrt(chi2.ppf(seen, n - 1) / (n - 1))
    return float((ndtr(shift - spread) + ndtr(-shift - spread)).mean())
