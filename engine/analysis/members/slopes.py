"""Does an attribute matter more after pruning: the change of a line's slope, the members being the same.

Groups of members (QMNIST's series) may differ in the attribute and in what they lose; the line over all then shows the
difference between groups too, and may even lean the other way than every group's own (Simpson's paradox). The slope
within groups takes that out: one slope for all, with a level of its own for each group.
"""

from dataclasses import astuple, dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from engine.analysis.members.lines import EQUAL, FULL, Floats, line, parts
from engine.analysis.members.seed_spread import joint_variance, seed_parts

WITHIN = "within"
"""Name of the slope within groups."""

LONE = "one point alone carries the slope"
NO_SPREAD = "the change is the same for every point"
TOO_FEW_WITHIN = "too few points within the groups"
CONSTANT_WITHIN = "within each group all points have the same value on the horizontal axis"


@dataclass(frozen=True)
class SlopeChange:
    """A line before and after for the same members, and the change of its slope; NaN with a reason where it is unknown.

    Within groups there is no one intercept.
    """

    group: str
    n: int
    intercept_before: float = np.nan
    intercept_before_se: float = np.nan
    slope_before: float = np.nan
    slope_before_se: float = np.nan
    intercept_after: float = np.nan
    intercept_after_se: float = np.nan
    slope_after: float = np.nan
    slope_after_se: float = np.nan
    slope_change: float = np.nan
    slope_change_se: float = np.nan
    """HC3 of the regression of each member's change on the attribute, with what seeds add where they are given."""
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    reason: str = ""
    n_seeds: int = 1
    """Seeds that the interval covers; with 1 it covers the members alone."""


def slope_change(
    table: pd.DataFrame,
    attribute: str,
    by: str | None = None,
    confidence: float = 0.95,
    seeds: Floats | None = None,
) -> pd.DataFrame:
    """One row per value of `by`, where there are several one within them, and last one over all (Paganini, Table 1).

    The columns are those of SlopeChange. `seeds` are the changes seed by seed, (n_seeds, rows of the table); with them
    the intervals hold for other seeds too.
    """
    table = table.reset_index(drop=True)
    *each, full = (
        paired_slopes(rows, attribute, group, confidence, None if seeds is None else seeds[:, rows.index])
        for group, rows in parts(table, by)
    )
    inside = [within_slopes(table, attribute, by, confidence, seeds)] if by is not None and len(each) > 1 else []
    rows = [astuple(row) for row in (*each, *inside, full)]
    return pd.DataFrame(rows, columns=[field.name for field in fields(SlopeChange)])


def paired_slopes(
    rows: pd.DataFrame,
    attribute: str,
    group: str = FULL,
    confidence: float = 0.95,
    seeds: Floats | None = None,
) -> SlopeChange:
    """Lines of the columns before and after on the attribute, and whether their slopes differ.

    The members are the same, so the test is paired: the slope of after - before on the attribute is the change of
    slopes; its standard error is HC3, its p-value and interval are Student's with n - 2 degrees of freedom. With
    `seeds` the variance between seeds is added, and the degrees of freedom are Satterthwaite's.
    """
    before, after = rows["before"].to_numpy(float), rows["after"].to_numpy(float)
    x, change = rows[attribute].to_numpy(float), after - before
    first, second, difference = line(x, before, group), line(x, after, group), line(x, change, group)
    se, between, reason = np.nan, (0.0, 0.0), difference.reason
    if not reason:
        kept = np.isfinite(x) & np.isfinite(change)
        x, change = x[kept], change[kept]
        left = change - difference.intercept - difference.slope * x
        se, reason = _hc3(x - difference.x_mean, change, left, np.full(len(x), 1 / len(x)))
        between = _between_seeds(x - difference.x_mean, np.ones((len(x), 1)), seeds, kept)
    return SlopeChange(
        group,
        difference.n,
        *(first.intercept, first.intercept_se, first.slope, first.slope_se),
        *(second.intercept, second.intercept_se, second.slope, second.slope_se),
        *_tested(difference.slope, se, difference.n - 2, confidence, between, _n_seeds(seeds)),
        reason,
        _n_seeds(seeds),
    )


def within_slopes(
    table: pd.DataFrame,
    attribute: str,
    by: str,
    confidence: float = 0.95,
    seeds: Floats | None = None,
) -> SlopeChange:
    """The same with one slope for all and a level of its own for each value of `by`; n - groups - 1 degrees of freedom.

    Members without a value are left out, and those alone in their group, which say nothing about a slope.
    """
    points = pd.DataFrame({"x": table[attribute], "before": table["before"], "after": table["after"]}, dtype=float)
    points["change"] = points["after"] - points["before"]
    groups = table[by].astype(str).where(np.isfinite(points).all(axis=1) & table[by].notna())
    sizes = groups.map(groups.value_counts())
    kept = (sizes > 1).to_numpy()
    points, groups, sizes = (each[kept] for each in (points, groups, sizes))
    shared = points.groupby(groups)
    away = points - shared.transform("mean")
    x, freedom = away["x"].to_numpy(), len(points) - shared.ngroups - 1
    reason = TOO_FEW_WITHIN if freedom < 1 else ""
    if not reason and np.abs(x).max() <= EQUAL * points["x"].abs().max():
        reason = CONSTANT_WITHIN
    if reason:
        return SlopeChange(WITHIN, len(points), reason=reason)
    squares = x @ x
    slopes = {name: float(x @ away[name] / squares) for name in ("before", "after", "change")}
    left = {name: away[name].to_numpy() - slope * x for name, slope in slopes.items()}
    errors = {name: float(np.sqrt(np.square(rest).sum() / freedom / squares)) for name, rest in left.items()}
    se, reason = _hc3(x, points["change"].to_numpy(), left["change"], 1 / sizes.to_numpy(float))
    levels = pd.get_dummies(groups).to_numpy(float)
    between = _between_seeds(x, levels, seeds, kept)
    return SlopeChange(
        WITHIN,
        len(points),
        *(np.nan, np.nan, slopes["before"], errors["before"]),
        *(np.nan, np.nan, slopes["after"], errors["after"]),
        *_tested(slopes["change"], se, freedom, confidence, between, _n_seeds(seeds)),
        reason,
        _n_seeds(seeds),
    )


def _hc3(away: Floats, y: Floats, left: Floats, level: Floats) -> tuple[float, str]:
    """MacKinnon and White's HC3 standard error of a slope, and why it is NaN if it is.

    `away` is the attribute less its mean, `left` the residuals of y, `level` each point's leverage on that mean.
    """
    squares = away @ away
    leverage = level + away**2 / squares
    if leverage.max() > 1 - EQUAL:
        return np.nan, LONE
    if np.linalg.norm(left) <= EQUAL * max(np.abs(y).max(), EQUAL):
        return np.nan, NO_SPREAD
    return float(np.linalg.norm(away * left / (1 - leverage)) / squares), ""


def _between_seeds(away: Floats, levels: Floats, seeds: Floats | None, kept: NDArray[np.bool_]) -> tuple[float, float]:
    """The parts of what seeds add to the variance of a slope; `levels` are the columns beside the attribute."""
    if seeds is None:
        return 0.0, 0.0
    seen, noise = seed_parts(np.column_stack([away, levels]), seeds[:, kept])
    return float(seen[0, 0]), float(noise[0, 0])


def _n_seeds(seeds: Floats | None) -> int:
    return 1 if seeds is None else len(seeds)


def _tested(
    slope: float, se: float, freedom: int, confidence: float, between: tuple[float, float] = (0, 0), n_seeds: int = 1
) -> tuple[float, float, float, float, float]:
    """The slope, its standard error, its interval and its p-value; `between` are the parts that seeds add."""
    variance, freedom_of_both = joint_variance(se**2, *between, max(freedom, 1), n_seeds)
    se = float(np.sqrt(variance))
    half = stdtrit(freedom_of_both, 0.5 + confidence / 2) * se
    return slope, se, slope - half, slope + half, float(2 * stdtr(freedom_of_both, -abs(slope / se)))
