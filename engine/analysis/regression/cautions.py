"""When is a regression not to be trusted: sentences on its size, its confounded terms and its conditioning."""

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.regression.design_columns import Layout
from engine.analysis.regression.residuals import Residuals
from engine.analysis.regression.terms import FACTORS, factor_values

Floats = NDArray[np.float64]

ROWS_PER_COLUMN = 10
FEW_CLUSTERS = 30
HIGH_CONDITION = 1000.0
"""Above which statsmodels warns."""

HIGH_INFLATION = 5.0
OUTSIDE = 0.01
PERFECT = 1e-9
"""Spread of the residuals below which they are rounding."""

CLASS_FACTS = ("imbalance", "entropy")
SETUP = ("split", "mitigation", "schedule", "protocol")


def size_cautions(n_rows: int, n_columns: int, n_runs: int) -> list[str]:
    """What too few rows or runs do."""
    sentences = []
    if n_rows < ROWS_PER_COLUMN * n_columns:
        sentences.append(
            f"{n_rows:,} rows for {n_columns} coefficients: with fewer than {ROWS_PER_COLUMN} rows each, single "
            "coefficients are hardly known."
        )
    if 1 < n_runs < max(FEW_CLUSTERS, n_columns):
        sentences.append(
            f"The errors by run rest on {n_runs:,} runs for {n_columns} coefficients: some are far too small, as if a "
            "run that stands alone were the whole truth."
            if n_runs < n_columns
            else f"The errors by run rest on {n_runs} runs; with fewer than {FEW_CLUSTERS} they tend to be too small."
        )
    return sentences


def class_cautions(layout: Layout, n_rows: int, n_classes: int) -> list[str]:
    """That facts about classes rest on as many classes as there are, whatever the number of rows."""
    used = [FACTORS[f].label for f in CLASS_FACTS if f in layout.factors]
    if not used or n_classes >= FEW_CLUSTERS:
        return []
    subject = " and ".join(used).capitalize()
    return [
        f"{subject} {'are' if len(used) > 1 else 'is'} known of {n_classes} classes, which every run repeats: the "
        f"evidence is {n_classes} classes, not {n_rows:,} rows. Only the errors by class take this into account, and "
        f"with fewer than {FEW_CLUSTERS} classes even they tend to be too small."
    ]


def confounding_cautions(layout: Layout, table: pd.DataFrame, inverse: Floats) -> list[str]:
    """Which class facts the other terms nearly repeat.

    `inverse` is that of X'X; a fact's inflation is its diagonal times the fact's sum of squares about the mean.
    """
    explained = []
    for fact in CLASS_FACTS:
        own = [place for place, column in enumerate(layout.columns) if fact in layout.parts[column.part]]
        if len(own) == 1:
            values = factor_values(table, fact)
            inflation = float(inverse[own[0], own[0]] * np.square(values - values.mean()).sum())
            if inflation > HIGH_INFLATION:
                explained.append(f"{100 - 100 / inflation:.0f} % of {fact}")
    sentences = []
    if explained:
        sentences.append(
            f"The other terms explain {' and '.join(explained)}: what is due to which can hardly be told apart."
        )
    return sentences


def crossing_cautions(layout: Layout, runs: pd.DataFrame) -> list[str]:
    """Which pairs of categories never meet; `runs` has one row per run."""
    used = [key for key, factor in FACTORS.items() if factor.is_category and key in layout.factors]
    sentences = []
    for first, second in combinations(used, 2):
        n_all = runs[first].nunique() * runs[second].nunique()
        n_empty = n_all - len(runs[[first, second]].drop_duplicates())
        if n_empty:
            sentences.append(
                f"{n_empty} of {n_all} combinations of {FACTORS[first].label} and {FACTORS[second].label} have no run: "
                "there the fit carries over what it saw elsewhere."
            )
    return sentences


def setup_cautions(layout: Layout, runs: pd.DataFrame) -> list[str]:
    """What varies between runs (one row each) without a term, and is not settled by a category that has one."""
    used = [key for key, factor in FACTORS.items() if factor.is_category and key in layout.factors]
    free = [key for key in SETUP if key in runs and key not in layout.factors and runs[key].nunique() > 1]
    varies = [
        key for key in free if not any(len(runs[[by, key]].drop_duplicates()) == runs[by].nunique() for by in used)
    ]
    return [
        f"The runs differ in {FACTORS[key].label} ({runs[key].nunique()} of them) and no term accounts for it."
        for key in varies
    ]


def shape_cautions(condition: float, residuals: Residuals, n_rows: int) -> list[str]:
    """What nearly equal columns, or fitted values that cannot be, say about the model."""
    sentences, n_outside = [], residuals.n_outside
    if residuals.spread < PERFECT:
        sentences.append(
            "The fit leaves nothing over: the terms repeat the accuracy itself, and the errors mean nothing."
        )
    if condition > HIGH_CONDITION:
        sentences.append(
            f"The condition number is {condition:,.0f}: some terms nearly repeat others and trade off against each "
            "other. Read the effects, which add them up, rather than single coefficients."
        )
    if n_outside > OUTSIDE * n_rows:
        sentences.append(
            f"{100 * n_outside / n_rows:.1f} % of the fitted accuracies lie below 0 or above 1; the logit keeps within."
        )
    return sentences
