"""Is the effect of an attribute bent: too much and too little of it may both cost, which no straight line can show."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import fdtrc, stdtrit

from engine.analysis.members.lines import Floats
from engine.analysis.members.seed_spread import joint_freedom, positive_part, seed_covariance

QUANTILES = (0.05, 0.35, 0.65, 0.95)
"""Where the knots lie (Harrell 2015, Table 2.3)."""
TOO_FEW_VALUES = "the attribute has too few values for a curve"
ALONE = "one point alone carries the curve"


@dataclass(frozen=True, eq=False)
class Curve:
    """A natural cubic spline of the change on an attribute; NaN with a reason where it cannot be fitted."""

    n: int
    p_any: float = np.nan
    """Of no effect at all, straight or bent."""
    p_bend: float = np.nan
    """Of a straight line."""
    knots: tuple[float, ...] = ()
    coefficients: Floats = field(default_factory=lambda: np.empty(0))
    """Of the columns of `spline_columns`, then of each group's level."""
    covariance: Floats = field(default_factory=lambda: np.empty((0, 0)))
    freedom: float = np.nan
    shares: Floats = field(default_factory=lambda: np.empty(0))
    """Of the members in each group: the curve is drawn at their mean level."""
    reason: str = ""


def curved_change(table: pd.DataFrame, attribute: str, by: str | None = None, seeds: Floats | None = None) -> Curve:
    """The curve of the column `change` on the attribute, with a level of its own for each value of `by`.

    Errors are HC3 over the members; with `seeds`, the changes (n_seeds, rows of the table), what seeds add is in them.
    """
    x, change = table[attribute].to_numpy(float), table["change"].to_numpy(float)
    groups = table[by].astype(str).to_numpy() if by else np.full(len(table), "")
    kept = np.isfinite(x) & np.isfinite(change) & (table[by].notna().to_numpy() if by else True)
    x, change, levels = x[kept], change[kept], pd.get_dummies(groups[kept]).to_numpy(float)
    knots = tuple(np.quantile(x, QUANTILES)) if len(x) else ()
    n, k = len(x), len(QUANTILES) - 1
    if n < k + levels.shape[1] + 2 or (np.diff(knots) <= 1e-9 * np.ptp(x)).any():
        return Curve(n, reason=TOO_FEW_VALUES)
    design = np.column_stack([spline_columns(x, knots), levels])
    solve = np.linalg.pinv(design)
    coefficients = solve @ change
    spare = 1 - np.einsum("nk,kn->n", design, solve)
    if spare.min() < 1e-9:
        return Curve(n, reason=ALONE)
    members = (solve * np.square((change - design @ coefficients) / spare)) @ solve.T
    between = np.zeros_like(members) if seeds is None else positive_part(seed_covariance(design, seeds[:, kept]))
    n_seeds, rest = 1 if seeds is None else len(seeds), n - design.shape[1]
    freedom = joint_freedom(float(np.trace(members[:k, :k])), float(np.trace(between[:k, :k])), rest, n_seeds)
    p_any, p_bend = (_wald_p(coefficients, members, between, slice(first, k), rest, n_seeds) for first in (0, 1))
    return Curve(n, p_any, p_bend, knots, coefficients, members + between, freedom, levels.mean(axis=0))


def curve_band(fit: Curve, grid: ArrayLike, confidence: float = 0.95) -> pd.DataFrame:
    """x, y, low, high: the curve on a grid with the interval of its mean; no rows where there is no curve."""
    x = np.asarray(grid, float)
    if fit.reason:
        return pd.DataFrame({"x": [], "y": [], "low": [], "high": []}, dtype=float)
    rows = np.column_stack([spline_columns(x, fit.knots), np.tile(fit.shares, (len(x), 1))])
    y = rows @ fit.coefficients
    half = stdtrit(fit.freedom, 0.5 + confidence / 2) * np.sqrt(np.einsum("nk,kl,nl->n", rows, fit.covariance, rows))
    return pd.DataFrame({"x": x, "y": y, "low": y - half, "high": y + half})


def spline_columns(x: Floats, knots: tuple[float, ...]) -> Floats:
    """Basis of the natural cubic spline without its constant: first x itself, then what bends; straight at both ends.

    x is measured from the first knot in spans of all knots, so that the columns are of one size.
    """
    at = (np.asarray(knots) - knots[0]) / (knots[-1] - knots[0])
    x = (x - knots[0]) / (knots[-1] - knots[0])
    cubes = np.clip(x[:, None] - at, 0, None) ** 3
    last = at[-1] - at[-2]
    bends = [
        cubes[:, j] - cubes[:, -2] * (at[-1] - at[j]) / last + cubes[:, -1] * (at[-2] - at[j]) / last
        for j in range(len(at) - 2)
    ]
    return np.column_stack([x, *bends])


def _wald_p(b: Floats, members: Floats, between: Floats, part: slice, rest: int, n_seeds: int) -> float:
    """p of Hotelling's test that these coefficients are 0, with the degrees of freedom of both variances."""
    b, members, between = b[part], members[part, part], between[part, part]
    inverse, q = np.linalg.pinv(members + between), len(b)
    freedom = joint_freedom(float(np.trace(members @ inverse)), float(np.trace(between @ inverse)), rest, n_seeds)
    below = max(freedom - q + 1, 1.0)
    return float(fdtrc(q, below, b @ inverse @ b * below / (max(freedom, 1.0) * q)))
