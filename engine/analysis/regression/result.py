"""What does a regression say: coefficients, fit statistics, the paper's two tests; small, and without the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr
from statsmodels.stats.stattools import durbin_watson

from engine.analysis.regression.cautions import shape_cautions
from engine.analysis.regression.design_columns import Layout
from engine.analysis.regression.effects import degrees
from engine.analysis.regression.fits import Fit
from engine.analysis.regression.population import LeftOut
from engine.analysis.regression.residuals import Residuals, residual_bins
from engine.analysis.regression.terms import FACTORS, TERMS

DIRECTIONS = {"imbalance": 1, "entropy": -1}
"""The paper's alternatives: more of the training set helps, more entropy hurts."""

NOT_THERE = "it is not in the model"


@dataclass(frozen=True)
class Statistics:
    """How well the fit does as a whole."""

    n_rows: int
    n_runs: int
    n_classes: int
    """Classes of all data sets."""
    n_columns: int
    df_residuals: float
    r_squared: float
    """In the logit Cox and Snell's."""
    adjusted_r_squared: float
    """NaN in the logit."""
    f: float
    """Wald's, with the chosen errors; NaN in the logit and where the clusters are too few for it."""
    f_p: float
    log_likelihood: float
    aic: float
    bic: float
    condition: float
    durbin_watson: float


@dataclass(frozen=True)
class OneSidedTest:
    """Is the mean effect of a fact about classes above (direction 1) or below (-1) zero?"""

    key: str
    direction: int
    estimate: float
    """Change of class accuracy per unit; without cross terms of the fact this is its coefficient."""
    se: float
    t: float
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
    references: dict[str, str]
    """Category that the others are compared with, by factor."""
    statistics: Statistics
    tests: tuple[OneSidedTest, ...]
    effects: pd.DataFrame
    """See `effects.effects`; empty for a formula."""
    residuals: Residuals
    left_out: tuple[LeftOut, ...]
    cautions: tuple[str, ...]
    no_errors: dict[str, str]
    """Kinds of errors that cannot be had, and why."""
    summary: str
    """The table as statsmodels prints it, with the chosen errors."""

    def with_errors(self, errors: str) -> pd.DataFrame:
        """The coefficients with one kind of errors."""
        return self.coefficients[self.coefficients["errors"] == errors].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class FitParts:
    """A fit and all that a record of it is made of."""

    fit: Fit
    results: dict[str, Any]
    """statsmodels' results by kind of errors."""
    formula: str
    link: str
    errors: str
    condition: float
    left_out: tuple[LeftOut, ...]
    cautions: Sequence[str]
    layout: Layout | None = None
    """None for a formula."""
    references: dict[str, str] | None = None
    effects: pd.DataFrame | None = None


def record(made: FitParts) -> Regression:
    """The record of a fit."""
    fit, chosen = made.fit, made.results[made.errors]
    observed = np.asarray(fit.model.endog)
    residuals = residual_bins(observed, fit.fitted)
    moved = pd.DataFrame(columns=["key", "errors"]) if made.effects is None else made.effects
    return Regression(
        formula=made.formula,
        link=made.link,
        errors=made.errors,
        coefficients=_coefficients(made),
        references=made.references or {},
        statistics=_statistics(fit, chosen, made.condition),
        tests=tuple(_test(made, moved, key) for key in DIRECTIONS),
        effects=moved,
        residuals=residuals,
        left_out=made.left_out,
        cautions=(*made.cautions, *shape_cautions(made.condition, residuals, len(observed))),
        no_errors={kind: fit.reason(kind) for kind in made.results if fit.reason(kind)},
        summary=str(chosen.summary()),
    )


def _coefficients(made: FitParts) -> pd.DataFrame:
    names = list(made.fit.design.names)
    of = [column.term for column in made.layout.columns] if made.layout else names
    shared = {
        "column": names,
        "term": of,
        "group": [TERMS[term].group if term in TERMS else "" for term in of],
        "spread": made.fit.design.spreads(),
    }
    parts = []
    for kind, result in made.results.items():
        low, high = np.asarray(result.conf_int()).T
        numbers = {"coefficient": result.params, "se": result.bse, "t": result.tvalues, "p": result.pvalues}
        parts.append(pd.DataFrame({**shared, "errors": kind, **numbers, "low": low, "high": high}))
    return pd.concat(parts, ignore_index=True)


def references(layout: Layout, table: pd.DataFrame) -> dict[str, str]:
    """The first value of each categorical factor in use."""
    used = [key for key, factor in FACTORS.items() if factor.is_category and key in layout.factors]
    return {key: str(table[key].cat.categories[0]) for key in used}


def _statistics(fit: Fit, result: Any, condition: float) -> Statistics:
    linear = hasattr(result, "rsquared")
    return Statistics(
        n_rows=fit.design.shape[0],
        n_runs=fit.n_clusters("run"),
        n_classes=fit.n_clusters("class"),
        n_columns=fit.design.shape[1],
        df_residuals=float(result.df_resid),
        r_squared=float(result.rsquared if linear else result.pseudo_rsquared()),
        adjusted_r_squared=float(result.rsquared_adj) if linear else np.nan,
        f=float(result.fvalue) if linear else np.nan,
        f_p=float(result.f_pvalue) if linear else np.nan,
        log_likelihood=float(result.llf),
        aic=float(result.aic),
        bic=float(result.bic),
        condition=condition,
        durbin_watson=float(durbin_watson(fit.residuals)),
    )


def _test(made: FitParts, moved: pd.DataFrame, key: str) -> OneSidedTest:
    """One of the paper's tests: from the effects, or for a formula from the fact's own coefficient."""
    result, names = made.results[made.errors], made.fit.design.names
    rows = moved[(moved["key"] == key) & (moved["errors"] == made.errors)]
    alone = [name for name in names if key in name] == [key]
    if len(rows):
        step = float(rows["end"].iloc[0])
        estimate, se = float(rows["estimate"].iloc[0]) / step, float(rows["se"].iloc[0]) / step
    elif made.layout is None and made.link == "linear" and alone:
        estimate, se = float(result.params[names.index(key)]), float(result.bse[names.index(key)])
    else:
        estimate, se = np.nan, np.nan
    t = estimate / se if se > 0 else np.nan
    return OneSidedTest(
        key,
        DIRECTIONS[key],
        estimate,
        se,
        t,
        p=float(stdtr(degrees(result), -DIRECTIONS[key] * t)),
        published=TERMS[key].published or np.nan,
        published_se=TERMS[key].published_se or np.nan,
        reason=NOT_THERE if np.isnan(estimate) else "",
    )
