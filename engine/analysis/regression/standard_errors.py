"""How sure is each coefficient: errors of four kinds, with t, p and 95 % intervals by Student's t."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from engine.analysis.regression import sandwich
from engine.analysis.regression.least_squares import Fit

Floats = NDArray[np.float64]

LAGS = 3
CONFIDENCE = 0.95
CERTAIN = 1 - 1e-9
"""Leverage from which on a row decides a coefficient by itself."""

NO_CLUSTERS = "fewer than two of them"
LONE_ROW = "one row alone carries a coefficient"
CLUSTERED = ("run", "class")
"""Kinds of errors that need to know each row's cluster."""


@dataclass(frozen=True)
class ErrorKind:
    """One way to say how sure a coefficient is."""

    key: str
    label: str
    help: str
    method: str
    """How the covariance is computed."""

    @property
    def in_words(self) -> str:
        """For the middle of a sentence: "HAC", "by run"."""
        return self.label[0].lower() + self.label[1:] if " " in self.label else self.label


ERRORS = {
    row.key: row
    for row in (
        ErrorKind(
            "hac",
            "HAC",
            "As in the paper: neighbouring rows, up to three apart, may depend on each other.",
            f"Newey and West, {LAGS} lags, with small sample correction",
        ),
        ErrorKind(
            "hc3",
            "HC3",
            "Rows are independent, each with a spread of its own.",
            "MacKinnon and White, robust to spread",
        ),
        ErrorKind(
            "run",
            "By run",
            "All rows of one run may depend on each other: its classes share one network.",
            "clustered by run (CRV1)",
        ),
        ErrorKind(
            "class",
            "By class",
            "All rows of one class may depend on each other: every run meets the same images.",
            "clustered by class (CRV1)",
        ),
    )
}

WILD = ErrorKind(
    "wild",
    "Bootstrap by class",
    "As by class, but trusting no formula where classes are few: of effects only.",
    "wild cluster bootstrap by class, restricted, inverted",
)
KINDS = ERRORS | {WILD.key: WILD}
"""All kinds of errors that an effect may have."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """The coefficients with errors of one kind; NaN where there are no such errors."""

    errors: str
    """A key of ERRORS."""
    reason: str
    """Why there are no errors of this kind; empty where there are."""
    coefficients: Floats
    covariance: Floats
    degrees: int
    """Degrees of freedom of Student's t: rows - columns, or clusters - 1."""
    standard_errors: Floats
    t: Floats
    p: Floats
    """Two-sided."""
    low: Floats
    high: Floats


def all_estimates(fit: Fit) -> dict[str, Estimates]:
    """The coefficients with errors of every kind."""
    return {kind: estimates(fit, kind) for kind in ERRORS}


def estimates(fit: Fit, errors: str) -> Estimates:
    """The coefficients with errors of one kind."""
    covariance, reason = _covariance(fit, errors)
    degrees = max(fit.n_clusters(errors) - 1, 1) if errors in CLUSTERED else fit.design.shape[0] - fit.design.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        standard_errors = np.sqrt(np.diag(covariance))
        t = fit.coefficients / standard_errors
    half = half_interval(standard_errors, degrees)
    return Estimates(
        errors,
        reason,
        fit.coefficients,
        covariance,
        degrees,
        standard_errors,
        t,
        p=two_sided_p(t, degrees),
        low=fit.coefficients - half,
        high=fit.coefficients + half,
    )


def half_interval(standard_errors: Floats, degrees: int) -> Floats:
    """Half the width of the 95 % intervals."""
    return np.asarray(stdtrit(degrees, 0.5 + CONFIDENCE / 2) * standard_errors)


def two_sided_p(t: Floats, degrees: int) -> Floats:
    """How likely Student's t is as far from 0 as this, either way."""
    return np.asarray(2 * stdtr(degrees, -np.abs(t)))


def _covariance(fit: Fit, errors: str) -> tuple[Floats, str]:
    """Covariance of the coefficients; or NaN, and why there is none."""
    if errors == "hac":
        return sandwich.hac(fit.design, fit.root, fit.residuals, LAGS), ""
    if errors in CLUSTERED:
        if fit.n_clusters(errors) < 2:
            return np.full(fit.root.shape, np.nan), NO_CLUSTERS
        return sandwich.clustered(fit.design, fit.root, fit.residuals, fit.clusters[errors]), ""
    leverage = sandwich.leverage(fit.design, fit.root, fit.weights)
    if leverage.max() > CERTAIN:
        return np.full(fit.root.shape, np.nan), LONE_ROW
    return sandwich.hc3(fit.design, fit.root, fit.residuals, leverage), ""
