"""What did each of many members lose: the changes of their examples, pulled to the mean of all members.

A member with twenty examples that seems to lose most has mostly been unlucky; the worst of hundreds always seems bad.
The mixed logit says more and takes longer; this is for a page that asks about one network.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import stdtrit

from engine.analysis.uncertainty.crossed import crossed_variance

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

LEAST_RATIO, MOST_RATIO = 1e-6, 1e3
"""Between which the members' variance over that of one example is sought."""


def shrunk_changes(changes: Floats, member: Ints, n_members: int, confidence: float = 0.95) -> pd.DataFrame:
    """One row per member: n, counted (its mean change), change (pulled to the mean of all), low, high.

    `changes` are after less before, (n_seeds, n_examples); `member` is -1 for an example of nobody. Examples vary about
    their member's change and members about the mean of all: a linear mixed model with the adjusted restricted
    likelihood of Li and Lahiri (2010), so that the members' variance is never 0. Intervals hold for other examples of
    the member and for other seeds, as far as these move all members. NaN for a member without examples, and for all
    where fewer than three members have any.
    """
    known = np.flatnonzero(np.asarray(member) >= 0)
    code, mean = np.asarray(member)[known], changes[:, known].mean(axis=0, dtype=float)
    n = np.bincount(code, minlength=n_members).astype(float)
    there = n > 0
    counted = np.bincount(code, mean, minlength=n_members) / np.where(there, n, np.nan)
    nothing = np.full(n_members, np.nan)
    table = pd.DataFrame({"n": n.astype(int), "counted": counted, "change": nothing, "low": nothing, "high": nothing})
    if there.sum() < 3 or len(code) <= there.sum():
        return table
    within = float(np.square(mean - counted[code]).sum())
    ratio = variance_ratio(n[there], counted[there], within)
    centre, weights, noise = _about(n[there], counted[there], within, ratio)
    kept = 1 / (1 + ratio * n[there])
    change = centre + (1 - kept) * (counted[there] - centre)
    of_members = noise * (ratio * kept + kept**2 / weights.sum())
    of_seeds, n_seeds = 0.0, len(changes)
    if n_seeds > 1:
        by_seed = changes[:, known].mean(axis=1, dtype=float)
        of_seeds = float(by_seed.var(ddof=1)) / n_seeds
    freedom = np.full(len(change), float(there.sum() - 1))
    variance = of_members
    if n_seeds > 1:
        variance, freedom = crossed_variance(of_members, freedom, of_seeds, 0.0, n_seeds)
    half = stdtrit(np.nan_to_num(freedom, nan=1.0), 0.5 + confidence / 2) * np.sqrt(variance)
    table.loc[there, ["change", "low", "high"]] = np.column_stack([change, change - half, change + half])
    return table


def variance_ratio(n: Floats, means: Floats, within: float, adjusted: bool = True) -> float:
    """Members' variance over that of one example, where the restricted likelihood is largest.

    From sizes and means of members and the sum of squares within them; `adjusted` multiplies it by the variance.
    """

    def deviance(log_ratio: float) -> float:
        ratio = float(np.exp(log_ratio))
        _, weights, noise = _about(n, means, within, ratio)
        size = float(np.log1p(ratio * n).sum()) + np.log(weights.sum()) + (n.sum() - 1) * np.log(max(noise, 1e-300))
        return float(size - 2 * log_ratio * adjusted)

    bounds = np.log(LEAST_RATIO), np.log(MOST_RATIO)
    return float(np.exp(minimize_scalar(deviance, bounds=bounds, method="bounded", options={"xatol": 1e-6}).x))


def _about(n: Floats, means: Floats, within: float, ratio: float) -> tuple[float, Floats, float]:
    """The mean of all members, their weights in it, and the variance of one example."""
    weights = n / (1 + ratio * n)
    centre = float(weights @ means / weights.sum())
    noise = (within + float(weights @ np.square(means - centre))) / (n.sum() - 1)
    return centre, weights, noise
