"""Does alpha differ between ratios, techniques, networks or data sets: t-tests, Bonferroni-corrected by family.

Good 2022, Section 6.2 and its Tables 1-9. Takes the models of `verdicts.at_ratios`, one row per series, ratio and seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

Alternative = Literal["two-sided", "less", "greater"]
Floats = NDArray[np.float64]

FEW_PAIRS = "fewer than two seeds have both"
FEW_SEEDS = "one of the two has fewer than two seeds"
NO_SPREAD = "the values do not vary from seed to seed"

COLUMNS = ("first", "second", "difference", "t", "df", "n_first", "n_second", "p", "n_tests", "p_corrected", "reason")


@dataclass(frozen=True)
class TTest:
    """One test of equal means; `difference` is first - second. NaN with a reason where it cannot be made."""

    difference: float
    t: float
    df: float
    p: float
    n_first: int
    n_second: int
    reason: str = ""


def paired_test(first: ArrayLike, second: ArrayLike, alternative: Alternative = "two-sided") -> TTest:
    """Student's test of the differences, one by one; a pair with a NaN is left out.

    `alternative` is what the first is suspected to be against the second.
    """
    change = np.asarray(first, float) - np.asarray(second, float)
    change = change[np.isfinite(change)]
    n = len(change)
    if n < 2:
        return _untested(change.mean() if n else np.nan, n, n, FEW_PAIRS)
    error = change.std(ddof=1) / np.sqrt(n)
    return _tested(change.mean(), error, n - 1, (n, n), alternative)


def independent_test(first: ArrayLike, second: ArrayLike, alternative: Alternative = "two-sided") -> TTest:
    """Welch's test of two samples; NaN values are left out.

    The paper does not say which independent test it used. Welch's does not suppose equal variances, and its own figures
    show that networks and data sets spread alpha unequally; where they do not, it loses next to nothing.
    """
    samples = [values[np.isfinite(values)] for values in (np.asarray(first, float), np.asarray(second, float))]
    n_first, n_second = map(len, samples)
    difference = samples[0].mean() - samples[1].mean() if n_first and n_second else np.nan
    if min(n_first, n_second) < 2:
        return _untested(difference, n_first, n_second, FEW_SEEDS)
    squares = np.array([values.var(ddof=1) / len(values) for values in samples])
    total = squares.sum()
    df = total**2 / (squares**2 / np.array([n_first - 1, n_second - 1])).sum() if total > 0 else np.nan
    return _tested(difference, np.sqrt(total), df, (n_first, n_second), alternative)


def bonferroni(p: ArrayLike) -> Floats:
    """p times the number of tests made (NaN is none), at most 1."""
    p = np.asarray(p, float)
    corrected: Floats = np.minimum(p * np.isfinite(p).sum(), 1)
    return corrected


def between_ratios(models: pd.DataFrame, alternative: Alternative = "less") -> pd.DataFrame:
    """One row per series and two neighbouring ratios: series, COLUMNS; paired by seed, a family per series.

    One-sided as in the paper, whose prior belief is that a higher ratio intensifies more.
    """
    parts: list[tuple[object, ...]] = []
    for series, rows in models.groupby("series", observed=True, sort=False):
        by_seed = _by_seed(rows, "ratio")
        tests = {(a, b): paired_test(by_seed[a], by_seed[b], alternative) for a, b in pairwise(sorted(by_seed))}
        parts += _family((series,), tests)
    return pd.DataFrame(parts, columns=["series", *COLUMNS])


def between_series(
    models: pd.DataFrame,
    paired: bool,
    pairs: Sequence[tuple[str, str]] | None = None,
    alternative: Alternative = "two-sided",
) -> pd.DataFrame:
    """One row per ratio and two series: ratio, COLUMNS; a family per ratio. All pairs unless given.

    `paired` by seed where both start from the same dense network (techniques), else independent (networks, data sets).
    """
    names = list(dict.fromkeys(models["series"]))
    parts: list[tuple[object, ...]] = []
    for ratio, rows in models.groupby("ratio"):
        by_seed = _by_seed(rows, "series")
        test = paired_test if paired else independent_test
        tests = {
            (a, b): test(by_seed[a], by_seed[b], alternative)
            for a, b in (pairs if pairs is not None else combinations(names, 2))
            if a in by_seed and b in by_seed
        }
        parts += _family((ratio,), tests)
    return pd.DataFrame(parts, columns=["ratio", *COLUMNS])


def _by_seed(rows: pd.DataFrame, column: str) -> dict[Any, Floats]:
    """Alpha of each value of the column, seeds in the same order for all."""
    wide = rows.pivot(index="seed", columns=column, values="alpha")
    return dict(zip(wide.columns, wide.to_numpy(float).T, strict=True))


def _family(name: tuple[object], tests: dict[tuple[object, object], TTest]) -> list[tuple[object, ...]]:
    """One family as rows of its name and COLUMNS."""
    p = [test.p for test in tests.values()]
    n_tests = int(np.isfinite(p).sum())
    return [
        (*name, a, b, t.difference, t.t, t.df, t.n_first, t.n_second, t.p, n_tests, corrected, t.reason)
        for ((a, b), t), corrected in zip(tests.items(), bonferroni(p).tolist(), strict=True)
    ]


def _tested(difference: float, error: float, df: float, sizes: tuple[int, int], alternative: Alternative) -> TTest:
    if not error > 1e-12 * max(abs(difference), 1):
        return _untested(difference, *sizes, NO_SPREAD)
    t = difference / error
    p = 2 * stdtr(df, -abs(t)) if alternative == "two-sided" else stdtr(df, t if alternative == "less" else -t)
    return TTest(float(difference), float(t), float(df), float(p), *sizes)


def _untested(difference: float, n_first: int, n_second: int, reason: str) -> TTest:
    return TTest(float(difference), np.nan, np.nan, np.nan, n_first, n_second, reason)
