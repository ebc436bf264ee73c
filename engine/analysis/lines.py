"""Does a number go with an attribute, before and after pruning: least-squares lines, their bands, and their change."""

from dataclasses import astuple, dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]

FULL = "full"
"""Name of the line over all rows."""

TOO_FEW = "fewer than three points"
CONSTANT = "all points have the same value on the horizontal axis"
LONE = "one point alone carries the slope"
NO_SPREAD = "the change is the same for every point"

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


@dataclass(frozen=True)
class SlopeChange:
    """A line before and after for the same members, and the change of its slope."""

    group: str
    n: int
    intercept_before: float
    intercept_before_se: float
    slope_before: float
    slope_before_se: float
    intercept_after: float
    intercept_after_se: float
    slope_after: float
    slope_after_se: float
    slope_change: float
    slope_change_se: float
    """HC3, of the regression of each member's change on the attribute."""
    low: float
    high: float
    p: float
    reason: str


def line(x: ArrayLike, y: ArrayLike, group: str = FULL) -> Line:
    """The line through the points; a point with NaN is left out."""
    x, y = _known(x, y)
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
    return tuple(line(rows[x], rows[y], group) for group, rows in _groups(table, by))


def band(fit: Line, grid: ArrayLike, confidence: float = 0.95) -> pd.DataFrame:
    """x, y, low, high: the line on a grid with the interval of its mean; NaN where there is no line."""
    x = np.asarray(grid, float)
    y = fit.intercept + fit.slope * x
    se = fit.sigma * np.sqrt(1 / max(fit.n, 1) + (x - fit.x_mean) ** 2 / fit.x_squares)
    half = stdtrit(max(fit.n - 2, 1), 0.5 + confidence / 2) * se
    return pd.DataFrame({"x": x, "y": y, "low": y - half, "high": y + half})


def slope_change(table: pd.DataFrame, attribute: str, by: str | None = None, confidence: float = 0.95) -> pd.DataFrame:
    """One row per value of `by` and last over all rows, with the columns of SlopeChange (Paganini 2020, Table 1)."""
    rows = [paired_slopes(rows, attribute, group, confidence) for group, rows in _groups(table, by)]
    return pd.DataFrame([astuple(row) for row in rows], columns=[field.name for field in fields(SlopeChange)])


def paired_slopes(rows: pd.DataFrame, attribute: str, group: str = FULL, confidence: float = 0.95) -> SlopeChange:
    """Lines of the columns before and after on the attribute, and whether their slopes differ.

    The members are the same, so the test is paired: the slope of after - before on the attribute is the change of
    slopes; its standard error is HC3, its p-value and interval are Student's with n - 2 degrees of freedom.
    """
    before, after = rows["before"].to_numpy(float), rows["after"].to_numpy(float)
    x, change = rows[attribute].to_numpy(float), after - before
    first, second, difference = line(x, before, group), line(x, after, group), line(x, change, group)
    se, reason = _hc3(x, change, difference)
    half = stdtrit(max(difference.n - 2, 1), 0.5 + confidence / 2) * se
    return SlopeChange(
        group,
        difference.n,
        *(first.intercept, first.intercept_se, first.slope, first.slope_se),
        *(second.intercept, second.intercept_se, second.slope, second.slope_se),
        slope_change=difference.slope,
        slope_change_se=se,
        low=difference.slope - half,
        high=difference.slope + half,
        p=float(2 * stdtr(max(difference.n - 2, 1), -abs(difference.slope / se))),
        reason=reason,
    )


def _hc3(x: Floats, y: Floats, fit: Line) -> tuple[float, str]:
    """MacKinnon and White's HC3 standard error of the slope, and why it is NaN if it is."""
    if fit.reason:
        return np.nan, fit.reason
    x, y = _known(x, y)
    leverage = 1 / fit.n + (x - fit.x_mean) ** 2 / fit.x_squares
    if leverage.max() > 1 - EQUAL:
        return np.nan, LONE
    weighed = (x - fit.x_mean) * (y - fit.intercept - fit.slope * x) / (1 - leverage)
    se = float(np.sqrt(np.square(weighed).sum()) / fit.x_squares)
    exact = fit.sigma <= EQUAL * max(np.abs(y).max(), EQUAL)
    return (np.nan, NO_SPREAD) if exact else (se, "")


def _known(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]


def _groups(table: pd.DataFrame, by: str | None) -> list[tuple[str, pd.DataFrame]]:
    parts = [] if by is None else [(str(value), rows) for value, rows in table.groupby(by, observed=True)]
    return [*parts, (FULL, table)]
