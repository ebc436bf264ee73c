"""How do a million rows come down to a small triangle: a design matrix kept in blocks, and what a fit asks of it.

In a block of rows every category is the same, so its rows are a few columns of numbers times a matrix of 0 and 1:
X = Z S. A QR of Z instead of X gives the same triangle for a fraction of the work, and X itself is never made.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from threadpoolctl import ThreadpoolController

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

COLLINEAR = 1e-8
"""Sine of a column's angle to the columns before it, up to which it counts as a combination of them."""

CHUNK = 16_384
"""Rows of a block of a design that is written out."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
THREADS = ThreadpoolController()


def in_one_thread(work: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator: a block is too small to share between threads; waiting for them can take a hundred times as long."""

    @wraps(work)
    def limited(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        with THREADS.limit(limits=1, user_api="blas"):
            return work(*arguments, **options)

    return limited


@dataclass(frozen=True, eq=False)
class Design:
    """A design matrix (n_rows, n_columns); numpy sees it as one, and only then is it written out."""

    names: tuple[str, ...]
    numeric: Floats
    """(n_rows, n_parts)"""
    borders: Ints
    """First row of every block, and last the number of rows."""
    on: Floats
    """(n_blocks, n_parts, n_columns): rows of block b are numeric @ on[b]."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.numeric), len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.concatenate([self.numeric[rows] @ on for rows, on in self.blocks()])

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """The rows of each block and its switches."""
        for begin, end, on in zip(self.borders[:-1], self.borders[1:], self.on, strict=True):
            yield slice(int(begin), int(end)), on

    def only(self, keep: Sequence[int]) -> "Design":
        """The design with these columns only."""
        return Design(tuple(self.names[i] for i in keep), self.numeric, self.borders, self.on[:, :, list(keep)])

    def times(self, coefficients: Floats) -> Floats:
        """The matrix times a vector."""
        result = np.empty(len(self.numeric))
        for rows, on in self.blocks():
            np.dot(self.numeric[rows], on @ coefficients, out=result[rows])
        return result

    def mean_row(self, weights: Floats | None = None) -> Floats:
        """Mean over the rows of weight times row."""
        total = np.zeros(len(self.names))
        for rows, on in self.blocks():
            part = self.numeric[rows]
            total += (part.sum(axis=0) if weights is None else weights[rows] @ part) @ on
        return total / len(self.numeric)

    def spreads(self) -> Floats:
        """Standard deviation of each column."""
        squares = np.zeros(len(self.names))
        for rows, on in self.blocks():
            squares += np.square(self.numeric[rows]).sum(axis=0) @ on
        return np.sqrt(np.maximum(squares / len(self.numeric) - np.square(self.mean_row()), 0))


def dense_design(names: Sequence[str], matrix: Floats) -> Design:
    """A design that is written out already."""
    borders = np.append(np.arange(0, len(matrix), CHUNK), len(matrix))
    eye = np.eye(matrix.shape[1])
    return Design(tuple(names), matrix, borders, np.broadcast_to(eye, (len(borders) - 1, *eye.shape)))


def r_factor(matrix: Floats) -> Floats:
    """R of the matrix's QR factorisation."""
    return np.asarray(np.linalg.qr(matrix, mode="r"))


@in_one_thread
def triangle(design: Design, y: Floats, root_weights: Floats | None = None) -> Floats:
    """R of the QR factorisation of [X y], (n_columns + 1, n_columns + 1); rows first times their root weight."""
    parts, n_columns = [], len(design.names)
    for rows, on in design.blocks():
        block = np.column_stack([design.numeric[rows], y[rows]])
        if root_weights is not None:
            block *= root_weights[rows, None]
        small = r_factor(block)
        parts.append(np.column_stack([small[:, :-1] @ on, small[:, -1]]))
    stacked = np.concatenate([*parts, np.zeros((1, n_columns + 1))])
    upper = r_factor(stacked)
    return np.concatenate([upper, np.zeros((n_columns + 1 - len(upper), n_columns + 1))])


def dependent_columns(upper: Floats) -> dict[int, list[int]]:
    """The columns of a triangle that are combinations of earlier ones, each with those that it combines."""
    combined: dict[int, list[int]] = {}
    scale = np.linalg.norm(upper, axis=0)
    scale[scale == 0] = 1
    unit = upper / scale
    while True:
        kept = [place for place in range(unit.shape[1]) if place not in combined]
        small = r_factor(unit[:, kept])
        sines = np.abs(np.diag(small))
        weak = np.flatnonzero(sines <= COLLINEAR)
        if not len(weak):
            return combined
        place = int(weak[0])
        parts = solve_triangular(small[:place, :place], small[:place, place])
        combined[kept[place]] = [kept[i] for i in np.flatnonzero(np.abs(parts) > np.sqrt(COLLINEAR))]
