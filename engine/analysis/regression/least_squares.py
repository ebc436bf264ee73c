"""How are the coefficients found: ordinary least squares, or a fractional logit by reweighted least squares.

How sure they are is left to `standard_errors`, how well they fit to `goodness`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from statsmodels.genmod.families import Binomial

from engine.analysis.regression.block_design import Design, triangle
from engine.errors import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

LINKS = {"linear": "Linear (OLS)", "logit": "Fractional logit (GLM)"}

MOST_STEPS = 50
SETTLED = 1e-9
"""Most that a row's log odds may still move, relative to the largest, once the logit has settled.

Not the deviance: it comes to rest even while a coefficient runs off to infinity.
"""

BINOMIAL = Binomial()
"""statsmodels' family with its usual link, the logit: variance, likelihood and deviance of shares."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, and all that their covariances are made of."""

    link: str
    """A key of LINKS."""
    design: Design
    observed: Floats
    coefficients: Floats
    root: Floats
    """Inverse of the triangle, so that root root' is the inverse of X'X (of X'WX in the logit)."""
    fitted: Floats
    constant: int | None
    """Place of the intercept among the columns; None where there is none."""
    clusters: Mapping[str, Ints] = field(default_factory=dict)
    """Number of each row's cluster, by the kind of errors."""
    weights: Floats | None = None
    """Of the rows in the logit's last step."""
    n_steps: int = 1

    @cached_property
    def residuals(self) -> Floats:
        """Observed minus fitted."""
        return self.observed - self.fitted

    def predict(self, design: Design) -> Floats:
        """The mean that the coefficients give for each row of a design."""
        return mean_response(self.link, design.times(self.coefficients))

    def n_clusters(self, errors: str) -> int:
        """How many runs, or classes, there are."""
        return int(self.clusters[errors].max()) + 1 if errors in self.clusters else 0


def mean_response(link: str, linear: Floats) -> Floats:
    """The mean that belongs to a sum of coefficients times columns."""
    return linear if link == "linear" else np.asarray(BINOMIAL.fitted(linear))


def linear_fit(design: Design, observed: Floats, upper: Floats, constant: int | None = 0) -> Fit:
    """The least-squares fit, from the triangle of [X y]."""
    coefficients = _solution(upper)
    return Fit("linear", design, observed, coefficients, _root(upper), design.times(coefficients), constant)


def logit_fit(design: Design, observed: Floats, constant: int | None = 0) -> Fit:
    """The fractional logit (Papke and Wooldridge 1996): a share's Bernoulli likelihood, by reweighted least squares."""
    if observed.min() < 0 or observed.max() > 1:
        outside = observed.min() if observed.min() < 0 else observed.max()
        raise PruneScopeError(f"The logit needs shares from 0 to 1; one is {outside:g}.")
    mean = BINOMIAL.starting_mu(observed)
    linear = BINOMIAL.predict(mean)
    for n_steps in range(1, MOST_STEPS + 1):
        weights = BINOMIAL.weights(mean)
        working = linear + BINOMIAL.link.deriv(mean) * (observed - mean)
        coefficients = _solution(triangle(design, working, np.sqrt(weights)))
        before, linear = linear, design.times(coefficients)
        mean = mean_response("logit", linear)
        if np.abs(linear - before).max() <= SETTLED * (1 + np.abs(linear).max()):
            weights = BINOMIAL.weights(mean)
            root = _root(triangle(design, linear, np.sqrt(weights)))
            return Fit("logit", design, observed, coefficients, root, mean, constant, weights=weights, n_steps=n_steps)
    raise PruneScopeError(
        f"The logit does not settle within {MOST_STEPS} steps: where some terms meet, all accuracies are 0 or 1, "
        "and a coefficient grows without end. Fewer terms may help; the linear fit needs no steps."
    )


def _solution(upper: Floats) -> Floats:
    """Coefficients from the triangle of [X y]."""
    n_columns = upper.shape[1] - 1
    return np.asarray(solve_triangular(upper[:n_columns, :n_columns], upper[:n_columns, n_columns]))


def _root(upper: Floats) -> Floats:
    """Inverse of the triangle of X, from that of [X y]."""
    n_columns = upper.shape[1] - 1
    return np.asarray(solve_triangular(upper[:n_columns, :n_columns], np.eye(n_columns)))
