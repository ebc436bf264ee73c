"""How does statsmodels take a design in blocks: its own models, which then give every statistic and print the table.

Its way to the coefficients, a singular value decomposition of the whole matrix, is the only part that is not used.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.genmod import generalized_linear_model
from statsmodels.genmod.families import Binomial
from statsmodels.regression import linear_model

from engine.analysis.regression.block_design import Design

Floats = NDArray[np.float64]


class OLS(linear_model.OLS):
    """statsmodels' model of a design in blocks."""

    def __init__(self, design: Design, endog: Floats, name: str, constant: int | None) -> None:
        super().__init__(*_head(design, endog, name), hasconst=constant is not None)
        _take_over(self, design, endog, constant)
        self.wexog, self.wendog, self.weights = design, endog, np.ones(len(endog))
        self.rank = design.shape[1]
        self.df_model, self.df_resid = self.rank - self.k_constant, self.nobs - self.rank

    def predict(self, params: Floats, exog: Any = None) -> Floats:
        """The fitted values."""
        return self.exog.times(params) if exog is None or exog is self.exog else super().predict(params, exog)

    def loglike(self, params: Floats, scale: float | None = None) -> float:
        """Log likelihood of normal residuals, at their own spread unless another is given."""
        squares = float(np.square(self.endog - self.predict(params)).sum())
        half = self.nobs / 2
        if scale is None:
            return -half * (np.log(2 * np.pi) + np.log(squares / self.nobs) + 1)
        return -half * np.log(2 * np.pi * scale) - squares / (2 * scale)


class OLSResults(linear_model.OLSResults):
    """statsmodels' results, with no F where the clusters are too few for one."""

    @property
    def fvalue(self) -> float:
        """Wald's F that all terms are 0 together; NaN unless there are more clusters than terms."""
        enough = self.df_model < getattr(self, "df_resid_inference", np.inf)
        return super().fvalue if enough else np.nan


class GLM(generalized_linear_model.GLM):
    """statsmodels' model of a design in blocks, with its family's usual link."""

    def __init__(self, design: Design, endog: Floats, name: str, constant: int | None) -> None:
        super().__init__(*_head(design, endog, name), family=Binomial(), hasconst=constant is not None)
        _take_over(self, design, endog, constant)
        self.freq_weights = self.var_weights = self.iweights = self.n_trials = np.ones(len(endog))
        self.nobs = self.wnobs = len(endog)
        self.df_model = design.shape[1] - 1
        self.df_resid = self.nobs - design.shape[1]

    def predict(self, params: Floats, exog: Any = None, *args: Any, **options: Any) -> Floats:
        """The fitted means."""
        if exog is None or exog is self.exog:
            return self.family.fitted(self.exog.times(params))
        return super().predict(params, exog, *args, **options)


def _head(design: Design, endog: Floats, name: str) -> tuple[pd.Series, pd.DataFrame]:
    """A first row, from which statsmodels learns the names."""
    return pd.Series(endog[:1], name=name), pd.DataFrame(design.head(1), columns=list(design.names))


def _take_over(model: Any, design: Design, endog: Floats, constant: int | None) -> None:
    """Put all rows in the place of the first one."""
    model.exog, model.endog, model.nobs = design, endog, float(len(endog))
    model.k_constant = model.data.k_constant = int(constant is not None)
    model.data.const_idx = constant
