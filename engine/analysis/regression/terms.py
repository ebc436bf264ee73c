"""What may class accuracy depend on: the terms of the regression, and which of them vary in a population."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.regression.population import LeftOut
from engine.errors import PruneScopeError

Floats = NDArray[np.float64]

EQUAL = 1e-12
"""Relative spread up to which numbers count as equal."""

NOWHERE = "it is known for no row"


@dataclass(frozen=True)
class Factor:
    """One thing that a term is made of: a column of the population, or exp(sparsity)."""

    key: str
    label: str
    text: str
    """As a formula of statsmodels writes it."""
    is_category: bool = False


@dataclass(frozen=True)
class Term:
    """A factor, or the product of two."""

    key: str
    """As a formula of statsmodels writes it."""
    label: str
    group: str
    """Heading under which its coefficients stand."""
    factors: tuple[str, ...]
    published: float | None = None
    """Coefficient in Paganini 2020, Appendix D, of a term of numbers only."""
    published_se: float | None = None


FACTORS = {
    row.key: row
    for row in (
        Factor("dataset", "data set", "dataset", is_category=True),
        Factor("network", "network", "network", is_category=True),
        Factor("treatment", "treatment", "treatment", is_category=True),
        Factor("technique", "technique", "technique", is_category=True),
        Factor("exp_sparsity", "exp(sparsity)", "np.exp(sparsity)"),
        Factor("sparsity", "sparsity", "sparsity"),
        Factor("accuracy0", "unpruned accuracy", "accuracy0"),
        Factor("quartile", "accuracy quartile", "quartile"),
        Factor("imbalance", "imbalance", "imbalance"),
        Factor("entropy", "entropy", "entropy"),
        Factor("split", "split", "split", is_category=True),
        Factor("mitigation", "mitigation", "mitigation", is_category=True),
        Factor("schedule", "schedule", "schedule", is_category=True),
        Factor("protocol", "protocol", "protocol", is_category=True),
    )
}


def _term(factors: str, group: str, published: float | None = None, published_se: float | None = None) -> Term:
    parts = tuple(factors.split(" "))
    key = ":".join(FACTORS[part].text for part in parts)
    label = " × ".join(FACTORS[part].label for part in parts)
    return Term(key, label, group, parts, published, published_se)


TERMS = {
    row.key: row
    for row in (
        _term("dataset", "Data set"),
        _term("network", "Network"),
        _term("treatment", "Treatment"),
        _term("technique", "Technique"),
        _term("treatment technique", "Technique"),
        _term("exp_sparsity", "Sparsity", -0.5950, 0.007),
        _term("exp_sparsity dataset", "Data set"),
        _term("exp_sparsity technique", "Technique"),
        _term("sparsity", "Sparsity", 1.3942, 0.012),
        _term("accuracy0", "Unpruned accuracy", 1.1384, 0.005),
        _term("accuracy0 treatment", "Treatment"),
        _term("accuracy0 technique", "Technique"),
        _term("quartile", "Unpruned accuracy", -0.0098, 0.001),
        _term("imbalance", "Class", 1.2429, 0.023),
        _term("entropy", "Class", -0.0237, 0.001),
        _term("exp_sparsity accuracy0", "Sparsity", -0.1907, 0.002),
        _term("accuracy0 quartile", "Unpruned accuracy", 0.0261, 0.001),
        _term("exp_sparsity imbalance", "Class"),
        _term("exp_sparsity entropy", "Class"),
        _term("split", "Setup"),
        _term("mitigation", "Setup"),
        _term("schedule", "Setup"),
        _term("protocol", "Setup"),
    )
}
"""In the order of the paper's table, which is statsmodels'; what the paper has not stands last."""

PAPER = tuple(TERMS)[:17]
"""The paper's model (its Eq. 2 with the cross terms of Appendix D)."""

PLAIN = tuple(key for key in PAPER if len(TERMS[key].factors) == 1)
"""The paper's first model: no cross terms."""


def formula(keys: Sequence[str]) -> str:
    """The terms as a formula of statsmodels."""
    return f"accuracy ~ {' + '.join(keys) or '1'}"


def checked_terms(keys: Sequence[str]) -> tuple[str, ...]:
    """The terms in their order, with the parts of every cross term added; an unknown one is refused."""
    unknown = [key for key in keys if key not in TERMS]
    if unknown:
        raise PruneScopeError(f"There is no term {unknown[0]!r}; there are {', '.join(TERMS)}.")
    wanted = set(keys) | {FACTORS[factor].text for key in keys for factor in TERMS[key].factors}
    return tuple(key for key in TERMS if key in wanted)


def varying_terms(table: pd.DataFrame, keys: Sequence[str]) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """The terms that vary in these rows, and the others with the reason why they drop out."""
    constant = {factor: _constancy(table, factor) for factor in {f for key in keys for f in TERMS[key].factors}}
    kept, left_out = [], []
    for key in keys:
        unmoved = [factor for factor in TERMS[key].factors if constant[factor]]
        if not unmoved:
            kept.append(key)
        elif len(TERMS[key].factors) == 1:
            left_out.append(LeftOut(key, constant[unmoved[0]]))
        else:
            left_out.append(LeftOut(key, f"{FACTORS[unmoved[0]].label} drops out"))
    return tuple(kept), tuple(left_out)


def _constancy(table: pd.DataFrame, factor: str) -> str:
    """Why a factor cannot explain anything here; empty if it can."""
    if FACTORS[factor].is_category:
        return f"all rows have the same {FACTORS[factor].label}" if table[factor].nunique(dropna=False) < 2 else ""
    values = factor_values(table, factor)
    numbers = values[np.isfinite(values)]
    if not len(numbers):
        return NOWHERE
    if np.ptp(numbers) <= EQUAL * max(np.abs(numbers).max(), EQUAL):
        return f"it is {numbers[0]:.4g} in all rows"
    return ""


def factor_values(table: pd.DataFrame, factor: str) -> Floats:
    """A numeric factor for each row."""
    if factor == "exp_sparsity":
        return np.exp(factor_values(table, "sparsity"))
    return np.asarray(table[factor], np.float64)


def known_rows(
    table: pd.DataFrame, keys: Sequence[str]
) -> tuple[pd.DataFrame, tuple[LeftOut, ...], tuple[LeftOut, ...]]:
    """Rows whose numbers are all finite, the terms that no row has a number for, and how many rows lack which."""
    if table.empty:
        raise PruneScopeError("There is no pruned level with a class accuracy: nothing to fit.")
    numbers = dict.fromkeys(f for key in keys for f in TERMS[key].factors if not FACTORS[f].is_category)
    finite = {factor: np.isfinite(factor_values(table, factor)) for factor in numbers}
    nowhere = {factor for factor, is_finite in finite.items() if not is_finite.any()}
    unknown = tuple(LeftOut(key, NOWHERE) for key in keys if nowhere & set(TERMS[key].factors))
    keep, missing = np.ones(len(table), bool), []
    for name, is_finite in (("accuracy", np.isfinite(table["accuracy"].to_numpy())), *finite.items()):
        lost = keep & ~is_finite
        if name not in nowhere and lost.any():
            label = FACTORS[name].label if name in FACTORS else name
            missing.append(LeftOut("rows", f"{label} is missing or infinite", int(lost.sum())))
            keep &= is_finite
    if not keep.any():
        raise PruneScopeError("No row has all numbers: " + "; ".join(f"{m.n_rows} rows: {m.reason}" for m in missing))
    rows = table if keep.all() else table[keep].reset_index(drop=True)
    words = {f: rows[f].cat.remove_unused_categories() for f in FACTORS if f in rows and FACTORS[f].is_category}
    return rows.assign(**words), unknown, tuple(missing)
