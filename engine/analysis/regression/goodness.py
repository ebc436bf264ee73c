"""How well does the fit do as a whole: counts, R2, Wald's F, likelihood, deviance, and tests of the residuals."""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc
from statsmodels.stats.stattools import durbin_watson, jarque_bera, omni_normtest

from engine.analysis.regression.least_squares import BINOMIAL, Fit
from engine.analysis.regression.standard_errors import Estimates

FEWEST_FOR_OMNIBUS = 8
"""Rows below which D'Agostino and Pearson's test is not valid."""


@dataclass(frozen=True)
class ResidualTests:
    """Are the residuals independent of the row before, and normal?"""

    durbin_watson: float
    """2 where a residual says nothing about the next one."""
    omnibus: float
    """D'Agostino and Pearson's; NaN with too few rows. It and what follows is NaN in the logit, which needs no normal
    residuals."""
    omnibus_p: float
    jarque_bera: float
    jarque_bera_p: float
    skew: float
    kurtosis: float
    """3 where they are normal."""


@dataclass(frozen=True)
class Statistics:
    """How well the fit does as a whole."""

    n_rows: int
    n_runs: int
    n_classes: int
    """Classes of all data sets."""
    n_columns: int
    n_steps: int
    """Of reweighted least squares; 1 in the linear fit."""
    df_model: int
    """Coefficients without the intercept."""
    df_residuals: int
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
    deviance: float
    """NaN in the linear fit."""
    pearson_chi2: float
    """NaN in the linear fit."""
    condition: float
    residuals: ResidualTests


def statistics(fit: Fit, chosen: Estimates, condition: float) -> Statistics:
    """The statistics of a fit, with Wald's F by the chosen errors."""
    n_rows, n_columns = fit.design.shape
    linear = fit.link == "linear"
    df_model = n_columns - 1 if fit.constant is not None or not linear else n_columns
    log_likelihood, r_squared = _linear_likelihood(fit) if linear else _logit_likelihood(fit)
    n_free = n_rows - (fit.constant is not None)
    f, f_p = _wald_f(fit, chosen, df_model) if linear else (np.nan, np.nan)
    return Statistics(
        n_rows=n_rows,
        n_runs=fit.n_clusters("run"),
        n_classes=fit.n_clusters("class"),
        n_columns=n_columns,
        n_steps=fit.n_steps,
        df_model=df_model,
        df_residuals=n_rows - n_columns,
        r_squared=r_squared,
        adjusted_r_squared=1 - n_free / (n_rows - n_columns) * (1 - r_squared) if linear else np.nan,
        f=f,
        f_p=f_p,
        log_likelihood=log_likelihood,
        aic=2 * n_columns - 2 * log_likelihood,
        bic=float(np.log(n_rows)) * n_columns - 2 * log_likelihood,
        deviance=np.nan if linear else float(BINOMIAL.deviance(fit.observed, fit.fitted)),
        pearson_chi2=np.nan if fit.weights is None else float((np.square(fit.residuals) / fit.weights).sum()),
        condition=condition,
        residuals=_residual_tests(fit),
    )


def _linear_likelihood(fit: Fit) -> tuple[float, float]:
    """Log likelihood of normal residuals at their own spread, and R2 (about 0 where there is no intercept)."""
    n_rows = len(fit.observed)
    squares = float(np.square(fit.residuals).sum())
    centre = fit.observed.mean() if fit.constant is not None else 0.0
    log_likelihood = -n_rows / 2 * (np.log(2 * np.pi) + np.log(squares / n_rows) + 1) if squares else np.inf
    return float(log_likelihood), 1 - squares / float(np.square(fit.observed - centre).sum())


def _logit_likelihood(fit: Fit) -> tuple[float, float]:
    """Log likelihood of shares, and Cox and Snell's R2 against their mean alone."""
    mean = np.full(len(fit.observed), fit.observed.mean())
    log_likelihood, alone = (float(BINOMIAL.loglike(fit.observed, fitted)) for fitted in (fit.fitted, mean))
    return log_likelihood, float(1 - np.exp((alone - log_likelihood) * 2 / len(fit.observed)))


def _wald_f(fit: Fit, chosen: Estimates, df_model: int) -> tuple[float, float]:
    """Wald's F that all terms are 0 together, and its p; NaN unless there are more clusters than terms."""
    if chosen.reason or not 0 < df_model < chosen.degrees:
        return np.nan, np.nan
    terms = [place for place in range(len(fit.coefficients)) if place != fit.constant]
    inverse = np.linalg.pinv(chosen.covariance[np.ix_(terms, terms)])
    f = float(fit.coefficients[terms] @ inverse @ fit.coefficients[terms]) / df_model
    return f, float(fdtrc(df_model, chosen.degrees, f))


def _residual_tests(fit: Fit) -> ResidualTests:
    numbers = [np.nan] * 6
    if fit.link == "linear":
        numbers[2:] = jarque_bera(fit.residuals)
        if len(fit.residuals) >= FEWEST_FOR_OMNIBUS:
            numbers[:2] = omni_normtest(fit.residuals)
    return ResidualTests(float(durbin_watson(fit.residuals)), *map(float, numbers))
