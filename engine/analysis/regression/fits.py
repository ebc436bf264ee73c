"""How is the regression fitted: ordinary least squares or a fractional logit, and errors of four kinds.

The coefficients and their covariance are statsmodels' by a shorter way; all else comes from its results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from statsmodels.base.covtype import descriptions
from statsmodels.genmod.generalized_linear_model import GLMResults

from engine.analysis.regression import sandwich
from engine.analysis.regression.block_design import Design, triangle
from engine.analysis.regression.statsmodels_adapter import GLM, OLS, OLSResults
from engine.errors import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

LAGS = 3
MOST_STEPS = 50
SETTLED = 1e-9
"""Most that a row's log odds may still move, relative to the largest, once the logit has settled.

Not the deviance: it comes to rest even while a coefficient runs off to infinity.
"""

NO_CLUSTERS = "fewer than two of them"
LONE_ROW = "one row alone carries a coefficient"


@dataclass(frozen=True)
class Errors:
    """One way to say how sure a coefficient is."""

    key: str
    label: str
    help: str
    name: str
    """As statsmodels calls it."""

    @property
    def in_words(self) -> str:
        """For the middle of a sentence: "HAC", "by run"."""
        return self.label[0].lower() + self.label[1:] if " " in self.label else self.label


ERRORS = {
    row.key: row
    for row in (
        Errors("hac", "HAC", "As in the paper: neighbouring rows, up to three apart, may depend on each other.", "HAC"),
        Errors("hc3", "HC3", "Rows are independent, each with a spread of its own.", "HC3"),
        Errors(
            "run", "By run", "All rows of one run may depend on each other: its classes share one network.", "cluster"
        ),
        Errors(
            "class",
            "By class",
            "All rows of one class may depend on each other: every run meets the same images.",
            "cluster",
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, and all that their covariances are made of."""

    model: Any
    """OLS or GLM above."""
    params: Floats
    root: Floats
    """Inverse of the triangle, so that root root' is the inverse of X'X (of X'WX in the logit)."""
    fitted: Floats
    scale: float
    clusters: Mapping[str, Ints] = field(default_factory=dict)
    """Number of each row's cluster, by the kind of errors."""
    weights: Floats | None = None
    n_steps: int = 1

    @property
    def design(self) -> Design:
        """The design matrix."""
        return self.model.exog

    @cached_property
    def residuals(self) -> Floats:
        """Observed minus fitted."""
        return self.model.endog - self.fitted

    @cached_property
    def hat(self) -> Floats:
        """Leverage of each row."""
        return sandwich.leverage(self.design, self.root, self.weights)

    def reason(self, errors: str) -> str:
        """Why there are no errors of this kind; empty where there are."""
        if errors == "hc3" and self.hat.max() > 1 - 1e-9:
            return LONE_ROW
        return NO_CLUSTERS if ERRORS[errors].name == "cluster" and self.n_clusters(errors) < 2 else ""

    def covariance(self, errors: str) -> Floats:
        """Covariance of the coefficients; NaN where there is a reason."""
        if self.reason(errors):
            return np.full(self.root.shape, np.nan)
        if errors == "hac":
            return sandwich.hac(self.design, self.root, self.residuals, LAGS)
        if errors == "hc3":
            return sandwich.hc3(self.design, self.root, self.residuals, self.hat)
        return sandwich.clustered(self.design, self.root, self.residuals, self.clusters[errors])

    def results(self, errors: str) -> Any:
        """statsmodels' results with errors of this kind; Student's t, with G - 1 degrees of freedom for G clusters."""
        kind = ERRORS[errors].name
        inverse = self.root @ self.root.T
        if isinstance(self.model, OLS):
            results = OLSResults(self.model, self.params, inverse, self.scale)
        else:
            results = GLMResults(self.model, self.params, inverse, self.scale)
            results.method, results.fit_history, results.converged = "IRLS", {"iteration": self.n_steps}, True
        text = descriptions[kind].format(maxlags=LAGS, correction="with")
        results.cov_type, results.cov_kwds, results.use_t = kind, {"description": text, "use_t": True}, True
        if kind == "cluster":
            results.df_resid_inference = max(self.n_clusters(errors) - 1, 1)
        results.cov_params_default = self.covariance(errors)
        return results

    def n_clusters(self, errors: str) -> int:
        """How many runs, or classes, there are."""
        return int(self.clusters[errors].max()) + 1 if errors in self.clusters else 0


def linear_fit(design: Design, y: Floats, upper: Floats, name: str = "accuracy", constant: int | None = 0) -> Fit:
    """The least-squares fit, from the triangle of [X y]."""
    n_columns = design.shape[1]
    root = solve_triangular(upper[:n_columns, :n_columns], np.eye(n_columns))
    params = solve_triangular(upper[:n_columns, :n_columns], upper[:n_columns, n_columns])
    model = OLS(design, y, name, constant)
    model.wexog_singular_values = np.linalg.svd(upper[:n_columns, :n_columns], compute_uv=False)
    fitted = design.times(params)
    return Fit(model, params, root, fitted, float(np.square(y - fitted).sum() / (len(y) - n_columns)))


def logit_fit(design: Design, y: Floats, name: str = "accuracy", constant: int | None = 0) -> Fit:
    """The fractional logit (Papke and Wooldridge 1996): a share's Bernoulli likelihood, by reweighted least squares."""
    if y.min() < 0 or y.max() > 1:
        seen = y.min() if y.min() < 0 else y.max()
        raise PruneScopeError(f"The logit needs shares from 0 to 1; one is {seen:g}.")
    model = GLM(design, y, name, constant)
    family, n_columns = model.family, design.shape[1]
    mean = family.starting_mu(y)
    linear, n_steps = family.predict(mean), 0
    for n_steps in range(1, MOST_STEPS + 1):  # noqa: B007
        weights = family.weights(mean)
        upper = triangle(design, linear + family.link.deriv(mean) * (y - mean), np.sqrt(weights))
        params = solve_triangular(upper[:n_columns, :n_columns], upper[:n_columns, n_columns])
        before, linear = linear, design.times(params)
        mean = family.fitted(linear)
        if np.abs(linear - before).max() <= SETTLED * (1 + np.abs(linear).max()):
            break
    else:
        raise PruneScopeError(
            f"The logit does not settle within {MOST_STEPS} steps: where some terms meet, all accuracies are 0 or 1, "
            "and a coefficient grows without end. Fewer terms may help; the linear fit needs no steps."
        )
    weights = family.weights(mean)
    upper = triangle(design, linear, np.sqrt(weights))
    root = solve_triangular(upper[:n_columns, :n_columns], np.eye(n_columns))
    model.mu, model.scale = mean, 1.0
    return Fit(model, params, root, mean, 1.0, weights=weights, n_steps=n_steps)
