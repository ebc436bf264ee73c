"""Does alpha differ between ratios, techniques, networks or data sets: t-tests, Bonferroni-corrected by family.

Good 2022, Section 6.2 and its Tables 1-9. Takes the models of `verdicts.at_ratios`, one row per series, ratio and seed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from typing import Literal

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
    parts = []
    for series, rows in models.groupby("series", observed=True, sort=False):
        by_seed = rows.pivot(index="seed", columns="ratio", values="alpha").sort_index(axis=1)
        tests = {(a, b): paired_test(by_seed[a], by_seed[b], alternative) for a, b in pairwise(by_seed.columns)}
        parts.append(_family({"series": series}, tests))
    return _together(parts, ["series"])


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
    parts = []
    for ratio, rows in models.groupby("ratio"):
        by_seed = rows.pivot(index="seed", columns="series", values="alpha")
        test = paired_test if paired else independent_test
        tests = {
            (a, b): test(by_seed[a], by_seed[b], alternative)
            for a, b in (pairs if pairs is not None else combinations(names, 2))
            if a in by_seed and b in by_seed
        }
        parts.append(_family({"ratio": ratio}, tests))
    return _together(parts, ["ratio"])


def _family(name: dict[str, object], tests: dict[tuple[object, object], TTest]) -> pd.DataFrame:
    rows = [{**name, "first": a, "second": b, **asdict(test)} for (a, b), test in tests.items()]
    table = pd.DataFrame(rows, columns=[*name, *(c for c in COLUMNS if c not in ("n_tests", "p_corrected"))])
    return table.assign(n_tests=int(table["p"].notna().sum()), p_corrected=bonferroni(table["p"].to_numpy(float)))


def _together(parts: list[pd.DataFrame], keys: list[str]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    names = [*keys, *COLUMNS]
    return pd.concat(filled, ignore_index=True)[names] if filled else pd.DataFrame(columns=names)


def _tested(difference: float, error: float, df: float, sizes: tuple[int, int], alternative: Alternative) -> TTest:
    if not error > 1e-12 * max(abs(difference), 1):
        return _untested(difference, *sizes, NO_SPREAD)
    t = difference / error
    tail = {"less": stdtr(df, t), "greater": stdtr(df, -t), "two-sided": 2 * stdtr(df, -abs(t))}
    return TTest(float(difference), float(t), float(df), float(tail[alternative]), *sizes)


def _untested(difference: float, n_first: int, n_second: int, reason: str) -> TTest:
    return TTest(float(difference), np.nan, np.nan, np.nan, n_first, n_second, reason)
