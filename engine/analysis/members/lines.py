"""Does a number go with an attribute: least-squares lines and their bands."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

FULL = "full"
"""Name of the line over all rows."""

TOO_FEW = "fewer than three points"
CONSTANT = "all points have the same value on the horizontal axis"

EQUAL = 1e-12
"""Relative spread up to which numbers count as equal."""


@dataclass(frozen=True)
class Line:
    """An ordinary least-squares line y = intercept + slope x; NaN with a reason where it cannot be fitted."""

    group: str
    n: int
    intercept: float = np.nan
    intercept_se: float = np.nan
    slope: float = np.nan
    slope_se: float = np.nan
    sigma: float = np.nan
    """Standard deviation of the residuals, n - 2 below the line."""
    x_mean: float = np.nan
    x_squares: float = np.nan
    """Sum of (x - mean)^2."""
    reason: str = ""


def line(x: ArrayLike, y: ArrayLike, group: str = FULL) -> Line:
    """The line through the points; a point with NaN is left out."""
    x, y = finite_pairs(x, y)
    n = len(x)
    if n < 3:
        return Line(group, n, reason=TOO_FEW)
    if np.ptp(x) <= EQUAL * np.abs(x).max():
        return Line(group, n, reason=CONSTANT)
    x_mean, away = x.mean(), x - x.mean()
    x_squares = away @ away
    slope = away @ y / x_squares
    intercept = y.mean() - slope * x_mean
    sigma = np.sqrt(np.square(y - intercept - slope * x).sum() / (n - 2))
    return Line(
        group,
        n,
        intercept=float(intercept),
        intercept_se=float(sigma * np.sqrt(1 / n + x_mean**2 / x_squares)),
        slope=float(slope),
        slope_se=float(sigma / np.sqrt(x_squares)),
        sigma=float(sigma),
        x_mean=float(x_mean),
        x_squares=float(x_squares),
    )


def lines(table: pd.DataFrame, x: str, y: str, by: str | None = None) -> tuple[Line, ...]:
    """A line of y on x per value of `by`, and last one over all rows."""
    return tuple(line(rows[x], rows[y], group) for group, rows in parts(table, by))


def band(fit: Line, grid: ArrayLike, confidence: float = 0.95) -> pd.DataFrame:
    """x, y, low, high: the line on a grid with the interval of its mean; NaN where there is no line."""
    x = np.asarray(grid, float)
    y = fit.intercept + fit.slope * x
    se = fit.sigma * np.sqrt(1 / max(fit.n, 1) + (x - fit.x_mean) ** 2 / fit.x_squares)
    half = stdtrit(max(fit.n - 2, 1), 0.5 + confidence / 2) * se
    return pd.DataFrame({"x": x, "y": y, "low": y - half, "high": y + half})


def finite_pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """The points without NaN."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    there = np.isfinite(x) & np.isfinite(y)
    return x[there], y[there]


def parts(table: pd.DataFrame, by: str | None) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each value of `by`, and last all."""
    each = [] if by is None else [(str(value), rows) for value, rows in table.groupby(by, observed=True)]
    return [*each, (FULL, table)]
