"""Which columns do terms come to in a population: names, products of numbers, categories; named as statsmodels does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.regression.block_design import Design
from engine.analysis.regression.terms import FACTORS, TERMS, factor_values

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Codes = tuple[tuple[str, int], ...]
NamedCodes = tuple[str, Codes]

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class Column:
    """One column of the design: a product of numbers where the categories are as named, 0 elsewhere."""

    name: str
    term: str
    part: int
    """Place of its product of numbers among the parts."""
    codes: Codes = ()
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
        numbers = {factor for column in self.columns for factor in self.parts[column.part]}
        return numbers | {factor for column in self.columns for factor, _ in column.codes}

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
        names = tuple(column.name for column in self.columns)
        return Design(names, self.numeric(table), borders, self.switches(codes))


def layout(table: pd.DataFrame, keys: Sequence[str]) -> Layout:
    """The columns of these terms: the intercept, then each term's; a category's first value is the reference."""
    parts: dict[tuple[str, ...], int] = {(): 0}
    columns = [Column(INTERCEPT, INTERCEPT, 0)]
    for key in keys:
        numbers = tuple(f for f in TERMS[key].factors if not FACTORS[f].is_category)
        part = parts.setdefault(numbers, len(parts))
        columns += [Column(name, key, part, codes) for name, codes in _combinations(table, TERMS[key].factors)]
    return Layout(tuple(columns), tuple(parts))


def _combinations(table: pd.DataFrame, factors: Sequence[str]) -> list[NamedCodes]:
    """Name and categories of each column of a term, as statsmodels' formulas name them."""
    combinations: list[NamedCodes] = [("", ())]
    for factor in factors:
        if FACTORS[factor].is_category:
            names = table[factor].cat.categories
            options = [(f"{factor}[T.{name}]", _codes(factor, code)) for code, name in enumerate(names)][1:]
        else:
            options = [(FACTORS[factor].text, ())]
        combinations = [
            (f"{name}:{more}" if name else more, codes + extra)
            for name, codes in combinations
            for more, extra in options
        ]
    return combinations


def _codes(factor: str, code: int) -> Codes:
    return ((factor, code),)
