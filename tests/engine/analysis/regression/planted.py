"""A small population with planted coefficients, and what statsmodels makes of it."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from engine.analysis.regression.population import Population, quartile
from engine.analysis.regression.terms import formula

HAC = {"cov_type": "HAC", "cov_kwds": {"maxlags": 3, "use_correction": True}}


@cache
def planted_population(
    n_datasets: int = 3, n_techniques: int = 3, n_levels: int = 5, n_classes: int = 7, seed: int = 0, n_seeds: int = 2
) -> Population:
    """A small population with planted coefficients: imbalance 1, entropy -0.02, accuracy within 0 and 1."""
    rng = np.random.default_rng(seed)
    shape = (n_datasets, 2, 2, n_techniques, n_seeds, n_levels, n_classes)
    dataset, network, treatment, technique, number, level, name = (axis.ravel() for axis in np.indices(shape))
    run = np.ravel_multi_index((dataset, network, treatment, technique, number), shape[:5])
    start = rng.uniform(0.6, 0.95, (run.max() + 1, n_classes))[run, name]
    share, bits = rng.dirichlet(np.full(n_classes, 9.0), n_datasets), rng.uniform(1, 5, (n_datasets, n_classes))
    imbalance, entropy = (share - 1 / n_classes)[dataset, name], bits[dataset, name]
    sparsity = 1 - 0.7 ** (level + 1.0)
    accuracy = start - 0.1 * np.exp(sparsity) + 0.2 * sparsity + imbalance - 0.02 * entropy - 0.02 * technique
    accuracy = np.clip(accuracy + rng.normal(0, 0.03 + 0.03 * sparsity), 0, 1)
    words = {"dataset": dataset, "network": network, "treatment": treatment, "technique": technique, "run": run}
    table = pd.DataFrame(
        {key: pd.Categorical([f"{key}{value:03}" for value in values]) for key, values in words.items()}
    )
    table = table.assign(seed=number, level=level + 1, sparsity=sparsity, accuracy=accuracy, accuracy0=start)
    table = table.assign(imbalance=imbalance, entropy=entropy, quartile=quartile(start), **{"class": name})
    return Population(table)


def planted_with(**columns: object) -> Population:
    """The small population with other columns."""
    return Population(planted_population().table.assign(**columns))


def reference(table: pd.DataFrame, keys: tuple[str, ...], **options: Any) -> Any:
    """statsmodels' results of the terms, by its formula call."""
    return smf.ols(formula(keys), table).fit(**({"use_t": True} | options))
