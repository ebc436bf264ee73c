"""What may class accuracy depend on: the terms of the regression, and the columns that they come to in a population."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.design import Design
from engine.analysis.population import LeftOut
from engine.records import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

INTERCEPT = "Intercept"
EQUAL = 1e-12
"""Relative spread up to which numbers count as equal."""


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
    help: str
    factors: tuple[str, ...]
    published: float | None = None
    """Coefficient in Paganini 2020, Appendix D, where it has one that does not depend on which categories there are."""
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
        Factor("quartile", "its quartile", "quartile"),
        Factor("imbalance", "imbalance", "imbalance"),
        Factor("entropy", "entropy", "entropy"),
        Factor("split", "split", "split", is_category=True),
        Factor("mitigation", "mitigation", "mitigation", is_category=True),
        Factor("schedule", "schedule", "schedule", is_category=True),
        Factor("protocol", "protocol", "protocol", is_category=True),
    )
}


def _term(
    factors: str, group: str, text: str, published: float | None = None, published_se: float | None = None
) -> Term:
    parts = tuple(factors.split(" "))
    key = ":".join(FACTORS[part].text for part in parts)
    label = " × ".join(FACTORS[part].label for part in parts)
    return Term(key, label, group, text, parts, published, published_se)


TERMS = {
    row.key: row
    for row in (
        _term("dataset", "Data set", "Each data set has its own level."),
        _term("network", "Network", "Each network has its own level."),
        _term("treatment", "Treatment", "Rewound and fine-tuned networks differ."),
        _term("technique", "Technique", "Each technique has its own level."),
        _term("treatment technique", "Technique", "What the treatment does depends on the technique."),
        _term("exp_sparsity", "Sparsity", "Accuracy falls faster and faster.", -0.5950, 0.007),
        _term("exp_sparsity dataset", "Data set", "The fall depends on the data set."),
        _term("exp_sparsity technique", "Technique", "The fall depends on the technique."),
        _term("sparsity", "Sparsity", "Accuracy changes evenly with sparsity.", 1.3942, 0.012),
        _term("accuracy0", "Unpruned accuracy", "The run's accuracy on the class before pruning.", 1.1384, 0.005),
        _term("accuracy0 treatment", "Treatment", "What the start is worth depends on the treatment."),
        _term("accuracy0 technique", "Technique", "What the start is worth depends on the technique."),
        _term("quartile", "Unpruned accuracy", "Quarter of the population that the start lies in.", -0.0098, 0.001),
        _term("imbalance", "Class", "Share of the training set, above or below an even one.", 1.2429, 0.023),
        _term("entropy", "Class", "Mean entropy of the class's images in bits.", -0.0237, 0.001),
        _term("exp_sparsity accuracy0", "Sparsity", "What the start is worth fades as weights go.", -0.1907, 0.002),
        _term("accuracy0 quartile", "Unpruned accuracy", "What the start is worth differs by quarter.", 0.0261, 0.001),
        _term("exp_sparsity imbalance", "Class", "Imbalance matters more as weights go. Not in the paper."),
        _term("exp_sparsity entropy", "Class", "Entropy matters more as weights go. Not in the paper."),
        _term("split", "Setup", "Each split has its own level. Not in the paper."),
        _term("mitigation", "Setup", "Each mitigation has its own level. Not in the paper."),
        _term("schedule", "Setup", "Each schedule has its own level. Not in the paper."),
        _term("protocol", "Setup", "Each protocol has its own level. Not in the paper."),
    )
}
"""In the order of the paper's table, which is statsmodels'; what the paper has not stands last."""

PAPER = tuple(TERMS)[:17]
"""The paper's model (its Eq. 2 with the cross terms of Appendix D)."""

PLAIN = tuple(key for key in PAPER if len(TERMS[key].factors) == 1)
"""The paper's first model: no cross terms."""


@dataclass(frozen=True)
class Column:
    """One column of the design: a product of numbers where the categories are as named, 0 elsewhere."""

    name: str
    term: str
    part: int
    """Place of its product of numbers among the parts."""
    codes: tuple[tuple[str, int], ...] = ()
    """Category that each categorical factor must have."""


@dataclass(frozen=True)
class Layout:
    """The columns of a design, whatever the rows."""

    columns: tuple[Column, ...]
    parts: tuple[tuple[str, ...], ...]
    """The distinct products of numeric factors; the empty one is 1."""

    @property
    def factors(self) -> set[str]:
        """Every factor in use."""
        return {f for part in self.parts for f in part} | {f for column in self.columns for f, _ in column.codes}

    def only(self, keep: Sequence[int]) -> "Layout":
        """The same with these columns only."""
        return Layout(tuple(self.columns[i] for i in keep), self.parts)

    def numeric(self, table: pd.DataFrame) -> Floats:
        """The products of numbers for each row, (n_rows, n_parts)."""
        numeric = np.ones((len(table), len(self.parts)))
        for place, part in enumerate(self.parts):
            for factor in part:
                numeric[:, place] *= factor_values(table, factor)
        return numeric

    def switches(self, codes: dict[str, Ints]) -> Floats:
        """Which part makes which column, by block of rows: 0 or 1, (n_blocks, n_parts, n_columns)."""
        n_blocks = len(next(iter(codes.values()))) if codes else 1
        on = np.zeros((n_blocks, len(self.parts), len(self.columns)))
        for place, column in enumerate(self.columns):
            fits = np.ones(n_blocks, bool)
            for factor, code in column.codes:
                fits &= codes[factor] == code
            on[fits, column.part, place] = 1
        return on

    def blocks(self, table: pd.DataFrame) -> tuple[Ints, dict[str, Ints]]:
        """Borders of the stretches of rows with the same categories (0 first, n_rows last), and their categories."""
        used = sorted({factor for column in self.columns for factor, _ in column.codes})
        codes = {factor: table[factor].cat.codes.to_numpy() for factor in used}
        changes = np.zeros(max(len(table) - 1, 0), bool)
        for code in codes.values():
            changes |= code[1:] != code[:-1]
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
        return np.append(starts, len(table)), {factor: code[starts].astype(np.intp) for factor, code in codes.items()}

    def design(self, table: pd.DataFrame) -> Design:
        """The design matrix of these rows."""
        borders, codes = self.blocks(table)
        on = self.switches(codes) if codes else self.switches({"": np.zeros(1, np.intp)})
        return Design(tuple(column.name for column in self.columns), self.numeric(table), borders, on)


def factor_values(table: pd.DataFrame, factor: str) -> Floats:
    """A numeric factor for each row."""
    return np.exp(table["sparsity"].to_numpy()) if factor == "exp_sparsity" else table[factor].to_numpy()


def checked_terms(keys: Sequence[str]) -> tuple[str, ...]:
    """The terms in their order, with the parts of every cross term added; an unknown one is refused."""
    unknown = [key for key in keys if key not in TERMS]
    if unknown:
        raise PruneScopeError(f"There is no term {unknown[0]!r}; there are {', '.join(TERMS)}.")
    wanted = set(keys) | {FACTORS[factor].text for key in keys for factor in TERMS[key].factors}
    return tuple(key for key in TERMS if key in wanted)


def varying_terms(table: pd.DataFrame, keys: Sequence[str]) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """The terms that vary in these rows, and the others with the reason why they drop out."""
    constant = {factor: _stillness(table, factor) for key in keys for factor in TERMS[key].factors}
    kept, left_out = [], []
    for key in keys:
        still = [factor for factor in TERMS[key].factors if constant[factor]]
        if not still:
            kept.append(key)
        elif len(TERMS[key].factors) == 1:
            left_out.append(LeftOut(key, constant[still[0]]))
        else:
            left_out.append(LeftOut(key, f"{FACTORS[still[0]].label} drops out"))
    return tuple(kept), tuple(left_out)


def _stillness(table: pd.DataFrame, factor: str) -> str:
    """Why a factor cannot explain anything here; empty if it can."""
    if FACTORS[factor].is_category:
        values = table[factor].unique()
        return f"all rows have the same {FACTORS[factor].label}" if len(values) < 2 else ""
    numbers = factor_values(table, factor)
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return "it is known for no row"
    if np.ptp(known) <= EQUAL * max(np.abs(known).max(), EQUAL):
        return f"it is {known[0]:.4g} in all rows"
    return ""


def layout(table: pd.DataFrame, keys: Sequence[str]) -> Layout:
    """The columns of these terms: the intercept, then each term's; a category's first value is the reference."""
    parts: dict[tuple[str, ...], int] = {(): 0}
    columns = [Column(INTERCEPT, INTERCEPT, 0)]
    for key in keys:
        numbers = tuple(f for f in TERMS[key].factors if not FACTORS[f].is_category)
        part = parts.setdefault(numbers, len(parts))
        columns += [
            Column(name, key, part, codes) for name, codes in _combinations(table, TERMS[key].factors)
        ]
    return Layout(tuple(columns), tuple(parts))


def _combinations(table: pd.DataFrame, factors: Sequence[str]) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    """Name and categories of each column of a term, as statsmodels' formulas name them."""
    found: list[tuple[str, tuple[tuple[str, int], ...]]] = [("", ())]
    for factor in factors:
        if FACTORS[factor].is_category:
            names = table[factor].cat.categories
            options = [(f"{factor}[T.{name}]", ((factor, code),)) for code, name in enumerate(names)][1:]
        else:
            options = [(FACTORS[factor].text, ())]
        found = [
            (f"{name}:{more}" if name else more, codes + extra) for name, codes in found for more, extra in options
        ]
    return found


def formula(keys: Sequence[str]) -> str:
    """The terms as a formula of statsmodels."""
    return f"accuracy ~ {' + '.join(keys) or '1'}"
