"""Which group does each example belong to: the classes, or a group column of the data set, as numbers and names."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.datasets.dataset import Dataset
from engine.errors import unknown_name

CLASS = "class"
"""The grouping that every data set has."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """A grouping of one data set: names of the groups, and the group of each example, -1 where it has none.

    A group of the test side that nobody of the training side belongs to is among the names.
    """

    name: str
    names: tuple[str, ...]
    training: np.ndarray
    test: np.ndarray


def grouping(dataset: Dataset, name: str, rows: np.ndarray) -> Grouping:
    """The grouping of this name; `rows` are those of the training side that are trained on, in their order."""
    if name == CLASS:
        return Grouping(name, dataset.classes, dataset.train.labels[rows], dataset.test.labels)
    sides = dataset.train.groups, dataset.test.groups
    if name not in sides[0]:
        raise unknown_name(name, (CLASS, *map(str, sides[0])), f"grouping of {dataset.key}")
    codes, names = pd.factorize(pd.concat([side[name] for side in sides], ignore_index=True), sort=True)
    n_train = len(sides[0])
    return Grouping(name, tuple(map(str, names)), codes[:n_train][rows], codes[n_train:])
