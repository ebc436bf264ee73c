"""What a user gives of a model: labels, answers, groups as arrays, checked and brought into the record's form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.errors import PruneScopeError
from engine.exchange.cells import unfit
from engine.plain_names import check_name


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """The examples that models were tested on: labels as numbers of classes, and what else is known of them."""

    name: str
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    columns: pd.DataFrame
    """Groups and attributes, one row per example; may have no column."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """What one model says: the class of every example, and the true class's probability where it is known."""

    sparsity: float
    prediction: NDArray[np.int64]
    probability: NDArray[np.float64] | None = None


def read_examples(
    name: str, labels: ArrayLike, groups: Mapping[str, ArrayLike] | pd.DataFrame, classes: Sequence[object] | None
) -> ExampleSet:
    """The examples as a user gives them, or a refusal; floats beside them are attributes, all else groups."""
    check_name("dataset", name)
    truth = flat_values("labels", labels)
    names, columns = class_names(truth, classes), example_columns(groups, len(truth))
    return ExampleSet(
        name, tuple(names), class_numbers("labels", truth, names), pd.DataFrame(columns, index=range(len(truth)))
    )


def read_model(tested: ExampleSet, sparsity: float, predictions: ArrayLike, probability: ArrayLike | None) -> Recorded:
    """A model's answers as a user gives them, or a refusal."""
    if isinstance(sparsity, bool) or not isinstance(sparsity, int | float | np.number) or not 0 <= sparsity <= 1:
        raise PruneScopeError(f"sparsity is {sparsity!r}; it is the share of weights that are cut, 0 (dense) to 1.")
    answers = flat_values("predictions", predictions)
    if len(answers) != len(tested.labels):
        raise PruneScopeError(f"There are {len(answers):,} predictions beside {len(tested.labels):,} labels.")
    chances = None
    if probability is not None:
        chances = np.asarray(probability, float)
        if chances.shape != answers.shape:
            raise PruneScopeError(
                f"probability has the shape {chances.shape}; it is that of the true class, one for each of the "
                f"{len(answers):,} examples."
            )
        if not ((chances >= 0) & (chances <= 1)).all():
            row = int(np.argmin((chances >= 0) & (chances <= 1)))
            raise PruneScopeError(f"probability of example {row} is {chances[row]:g}; allowed is 0 to 1.")
    return Recorded(float(sparsity), class_numbers("predictions", answers, list(tested.classes)), chances)


def flat_values(name: str, values: ArrayLike, may_miss: bool = False) -> np.ndarray:
    """The values as one row, refused where they are more or one is missing."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise PruneScopeError(f"{name} has the shape {array.shape}; it should be one value for each example.")
    missing = pd.isna(array)
    if missing.any() and not may_miss:
        raise PruneScopeError(f"{name} of example {int(np.argmax(missing))} is missing; each example needs one.")
    return array


def class_names(labels: np.ndarray, classes: Sequence[object] | None) -> list[str]:
    """The classes as they were listed, or those that occur: numbers by size, texts by the alphabet."""
    names = [_text(value) for value in (np.unique(labels) if classes is None else classes)]
    if len(set(names)) < len(names):
        raise PruneScopeError("A class stands twice in classes; each is named once.")
    return names


def example_columns(groups: Mapping[str, ArrayLike] | pd.DataFrame, n_examples: int) -> dict[str, pd.Series]:
    """What is known of each example beside its label, by the column's name."""
    if not isinstance(groups, Mapping | pd.DataFrame):
        raise PruneScopeError(
            f"groups is a {type(groups).__name__}; it should say of each column what it is called, as in "
            '{"region": [...]}, or be a DataFrame.'
        )
    columns = {}
    for column, values in groups.items():
        problem = unfit(column) if isinstance(column, str) and column else "should be text"
        if problem or "/" in column:
            raise PruneScopeError(f"The group name {column!r} is not allowed: it {problem or 'looks like a path'}.")
        if column in ("example", "label"):
            raise PruneScopeError(f"A group may not be called {column!r}; that is a column of every example already.")
        flat = flat_values(f"groups[{column!r}]", values, may_miss=True)
        if len(flat) != n_examples:
            raise PruneScopeError(f"groups[{column!r}] has {len(flat):,} values beside {n_examples:,} labels.")
        columns[column] = _column(flat)
    return columns


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float | np.floating) and float(value).is_integer() else str(value)


def class_numbers(name: str, values: np.ndarray, classes: Sequence[str]) -> NDArray[np.int64]:
    """The class of each value as its number; a value that is no class is refused."""
    kinds, inverse = np.unique(values, return_inverse=True)
    number = {text: place for place, text in enumerate(classes)}
    for value in kinds:
        if _text(value) not in number:
            row = int(np.argmax(values == value))
            raise PruneScopeError(
                f"{name} of example {row} is {_text(value)!r}, which is no example's label; if it is a class all the "
                f"same, list all of them as classes. Known are {', '.join(classes[:10])}."
            )
    return np.array([number[_text(value)] for value in kinds], np.int64)[inverse]


def _column(values: np.ndarray) -> pd.Series:
    if np.issubdtype(values.dtype, np.floating) or np.issubdtype(values.dtype, np.integer):
        return pd.Series(values)
    return pd.Series([None if pd.isna(value) else str(value) for value in values], dtype="str")
