"""How do many models' classes line up: the long table of classes as matrices, models down and classes across."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.errors import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Models:
    """All models (run and level) of a table of classes, in order of run and level."""

    classes: pd.DataFrame
    model: Ints
    """Model of each row of the table."""
    first: Ints
    """One row of the table per model."""
    dense: Ints
    """The dense model (level 0) of the same run, -1 where it is missing."""
    position: Ints
    """Place of each row's class among the classes of its run."""
    width: Ints
    """Number of classes of each model's run."""

    def blocks(self) -> Iterator["Block"]:
        """The models, one block per number of classes."""
        for width in np.unique(self.width):
            models = np.flatnonzero(self.width == width)
            place = np.full(len(self.width) + 1, -1)
            place[models] = np.arange(len(models))
            rows = np.flatnonzero(self.width[self.model] == width)
            cells = place[self.model[rows]] * width + self.position[rows]
            yield Block(self.classes, models, place[self.dense[models]], rows, cells, int(width))


@dataclass(frozen=True, eq=False)
class Block:
    """Models with equally many classes."""

    classes: pd.DataFrame
    models: Ints
    """Numbers of the block's models among all models."""
    dense: Ints
    """Row of each model's dense model within the block, -1 where it is missing."""
    rows: Ints
    cells: Ints
    width: int

    def matrix(self, column: str) -> Floats:
        """The column as (n_models, n_classes); NaN where a model has no row for a class of its run."""
        matrix = np.full(len(self.models) * self.width, np.nan)
        matrix[self.cells] = self.classes[column].to_numpy()[self.rows]
        return matrix.reshape(len(self.models), self.width)

    def sizes(self) -> Floats:
        """Test examples of each class; NaN, not 0, where there is none, so that no rate is made of nothing."""
        n = self.matrix("n")
        n[n == 0] = np.nan
        return n

    def at_dense(self, matrix: Floats) -> Floats:
        """The same quantity for each model's dense model; NaN where that is missing."""
        return np.where((self.dense >= 0)[:, None], matrix[self.dense], np.nan)

    def baseline(self, column: str, matrix: Floats) -> Floats:
        """What stands in the table's column of another baseline; without one, the quantity for the dense model."""
        return self.matrix(column) if column in self.classes else self.at_dense(matrix)


def as_matrices(classes: pd.DataFrame) -> Models:
    """The models of a table of classes (columns run, level, class), whatever its order, in one pass without a sort."""
    run, runs = pd.factorize(classes["run"])
    level, levels = pd.factorize(classes["level"], sort=True)
    name, names = pd.factorize(classes["class"], sort=True)
    has_level = np.zeros((len(runs), len(levels)), bool)
    has_level[run, level] = True
    has_class = np.zeros((len(runs), len(names)), bool)
    has_class[run, name] = True
    number = np.cumsum(has_level).reshape(has_level.shape) - 1
    model = number[run, level]
    first = np.empty(int(has_level.sum()), np.intp)
    first[model[::-1]] = np.arange(len(classes))[::-1]
    taken = np.zeros((len(first), len(names)), bool)
    taken[model, name] = True
    if taken.sum() < len(classes):
        raise PruneScopeError("A run, level and class stand twice in the table of classes; once is allowed.")
    at_zero = np.flatnonzero(np.asarray(levels) == 0)
    dense = np.where(has_level[:, at_zero[0]], number[:, at_zero[0]], -1) if len(at_zero) else np.full(len(runs), -1)
    return Models(
        classes=classes,
        model=model,
        first=first,
        dense=dense[run[first]],
        position=(np.cumsum(has_class, axis=1) - 1)[run, name],
        width=has_class.sum(axis=1)[run[first]],
    )
