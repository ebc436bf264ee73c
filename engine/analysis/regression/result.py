"""What does a regression say: coefficients, fit statistics, the paper's two tests; small, and without the rows."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from engine.analysis.regression.design_columns import Layout
from engine.analysis.regression.goodness import Statistics
from engine.analysis.regression.least_squares import Fit
from engine.analysis.regression.population import LeftOut
from engine.analysis.regression.residuals import Residuals
from engine.analysis.regression.standard_errors import Estimates
from engine.analysis.regression.terms import FACTORS, TERMS

DIRECTIONS = {"imbalance": 1, "entropy": -1}
"""The paper's alternatives: more of the training set helps, more entropy hurts."""

NOT_THERE = "it is not in the model"


@dataclass(frozen=True)
class OneSidedTest:
    """Is the mean effect of a fact about classes above (direction 1) or below (-1) zero?"""

    key: str
    direction: int
    estimate: float
    """Change of class accuracy per unit; without cross terms of the fact this is its coefficient."""
    se: float
    p: float
    published: float
    """The paper's coefficient."""
    published_se: float
    reason: str = ""
    """Why there is no test."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A fit in numbers."""

    formula: str
    link: str
    errors: str
    coefficients: pd.DataFrame
    """One row per column and kind of errors: column, term, group, spread (standard deviation of the column), errors,
    coefficient, se, t, p, low, high (95 %)."""
    degrees: int
    """Degrees of freedom of Student's t with the chosen errors."""
    references: dict[str, str]
    """Category that the others are compared with, by factor."""
    statistics: Statistics
    tests: tuple[OneSidedTest, ...]
    effects: pd.DataFrame
    """See `effects.effects`; of a linear fit also with errors "wild". Empty for a formula."""
    residuals: Residuals
    left_out: tuple[LeftOut, ...]
    cautions: tuple[str, ...]
    no_errors: dict[str, str]
    """Kinds of errors that cannot be had, and why."""
    without_class: pd.DataFrame
    """See `class_evidence.without_each_class`; empty for a formula."""
    informing: dict[str, int]
    """How many classes differ in each fact about classes that is in the model."""

    def with_errors(self, errors: str) -> pd.DataFrame:
        """The coefficients with one kind of errors."""
        return self.coefficients[self.coefficients["errors"] == errors].reset_index(drop=True)

    def widest(self, key: str) -> dict[Hashable, Any]:
        """The row of an effect with the widest interval of all kinds; one without an end is widest."""
        rows = self.effects[self.effects["key"] == key]
        width = (rows["high"] - rows["low"]).fillna(-1.0)
        row: dict[Hashable, Any] = rows.iloc[int(np.argmax(width))].to_dict()
        return row


def coefficient_rows(fit: Fit, terms: Sequence[str], estimates: Mapping[str, Estimates]) -> pd.DataFrame:
    """One row per column and kind of errors; `terms` names the term of each column."""
    shared = {
        "column": list(fit.design.names),
        "term": terms,
        "group": [TERMS[term].group if term in TERMS else "" for term in terms],
        "spread": fit.design.spreads(),
    }
    tables = []
    for result in estimates.values():
        numbers = {
            "coefficient": result.coefficients,
            "se": result.standard_errors,
            "t": result.t,
            "p": result.p,
            "low": result.low,
            "high": result.high,
        }
        tables.append(pd.DataFrame({**shared, "errors": result.errors, **numbers}))
    return pd.concat(tables, ignore_index=True)


def references(layout: Layout, table: pd.DataFrame) -> dict[str, str]:
    """The first value of each categorical factor in use."""
    used = [key for key, factor in FACTORS.items() if factor.is_category and key in layout.factors]
    return {key: str(table[key].cat.categories[0]) for key in used}


def effect_per_unit(effects: pd.DataFrame, key: str, errors: str) -> tuple[float, float]:
    """Mean change of accuracy per unit of a number, and its error; NaN where the number has no effect."""
    rows = effects[(effects["key"] == key) & (effects["errors"] == errors)]
    if rows.empty:
        return np.nan, np.nan
    step = float(rows["end"].iloc[0])
    return float(rows["estimate"].iloc[0]) / step, float(rows["se"].iloc[0]) / step


def lone_coefficient(fit: Fit, key: str, chosen: Estimates) -> tuple[float, float]:
    """The coefficient of a column that is a fact by itself, and its error; NaN where other columns hold it too."""
    names = fit.design.names
    if fit.link != "linear" or [name for name in names if key in name] != [key]:
        return np.nan, np.nan
    place = names.index(key)
    return float(chosen.coefficients[place]), float(chosen.standard_errors[place])


def one_sided_test(key: str, estimate: float, se: float, degrees: int) -> OneSidedTest:
    """The paper's test of a fact about classes."""
    t = estimate / se if se > 0 else np.nan
    return OneSidedTest(
        key,
        DIRECTIONS[key],
        estimate,
        se,
        p=float(stdtr(degrees, -DIRECTIONS[key] * t)),
        published=TERMS[key].published or np.nan,
        published_se=TERMS[key].published_se or np.nan,
        reason=NOT_THERE if np.isnan(estimate) else "",
    )
