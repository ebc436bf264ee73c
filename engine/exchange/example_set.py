"""The examples of one data set and what the models predict for them, as they grow row by row."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from engine.exchange.cells import Texts, shown

FILE = 1 << 40
"""More than a file has rows: places of rows in one file are so far from those in the next."""
ModelKey = tuple[str | float | None, ...]
"""What tells one model from another: the run, its identity and the numbers of the model; None where nobody says."""


class Vocabulary:
    """Distinct texts in the order in which they came, with the row where each came first."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.rows: list[int] = []
        """Of each number, the row where it came first."""
        self._known: dict[Texts, np.ndarray] = {}
        """Of a column, the number here of each of its texts; -1 where it has not come."""

    def add(self, codes: np.ndarray, texts: Texts, rows: np.ndarray) -> np.ndarray:
        """The texts' numbers here in place of their codes, one per row; -1 stays."""
        known = self._known.get(texts, np.zeros(0, np.int64))
        number_of_code = np.full(len(texts.all) + 1, -1, np.int64)
        number_of_code[: len(known)] = known
        new = np.flatnonzero((number_of_code[codes] < 0) & (codes >= 0))
        if len(new):
            for code, place in zip(*np.unique(codes[new], return_index=True), strict=True):
                number = number_of_code[code] = self.number.setdefault(texts.all[code], len(self.number))
                if number == len(self.rows):
                    self.rows.append(int(rows[new[place]]))
            self._known[texts] = number_of_code[:-1]
        return np.asarray(number_of_code[codes])

    @property
    def texts(self) -> list[str]:
        """All texts, by number."""
        return list(self.number)


@dataclass(frozen=True, eq=False)
class Said:
    """What rows say of their examples in one column: codes of its vocabulary, or numbers where it has none."""

    example: np.ndarray
    own: np.ndarray
    rows: np.ndarray
    column: str
    vocabulary: Vocabulary | None = None

    def words(self, value: float) -> str:
        """One value as it stands in the file."""
        if self.vocabulary is None:
            return "nothing" if np.isnan(value) else f"{value:g}"
        return "nothing" if value < 0 else shown(self.vocabulary.texts[int(value)])


@dataclass(frozen=True, eq=False)
class PredictionBatch:
    """What some rows hold: model, example, prediction and scores, and the place of the first row."""

    first_row: int
    model: np.ndarray
    example: np.ndarray
    prediction: np.ndarray
    scores: dict[str, np.ndarray]

    @property
    def rows(self) -> np.ndarray:
        """Places of the rows."""
        return self.scores.get("row", self.first_row + np.arange(len(self.model)))

    def places(self, model: int, example: int) -> list[int]:
        """Places of the rows about this model and example."""
        return [int(place) for place in self.rows[(self.model == model) & (self.example == example)]]

    def only(self, which: np.ndarray) -> "PredictionBatch":
        """The batch without some of its rows."""
        scores = {role: values[which] for role, values in {**self.scores, "row": self.rows}.items()}
        return PredictionBatch(self.first_row, self.model[which], self.example[which], self.prediction[which], scores)


@dataclass(eq=False)
class ExampleSet:
    """The examples of one data set and split, and what the models predict for them."""

    dataset: str
    split: str
    declared: tuple[str, ...]
    files: list[str] = field(default_factory=lambda: [""])
    """Names of the files that were read, the one that is being read last; empty text stands for the study."""
    is_known: bool = False
    """Whether the study has these examples, so that their order stands."""
    order: list[str] | None = None
    """Ids in the order of the study, where it has such a set; it stands where the ids are the same."""
    ids: Vocabulary = field(default_factory=Vocabulary)
    labels: Vocabulary = field(default_factory=Vocabulary)
    predicted: Vocabulary = field(default_factory=Vocabulary)
    group_names: dict[str, Vocabulary] = field(default_factory=dict)
    label: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    groups: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict[str, np.ndarray] = field(default_factory=dict)
    said_in: dict[str, np.ndarray] = field(default_factory=dict)
    """Column -> the place of the row that first says it of each example, -1 where none does."""
    models: dict[ModelKey, int] = field(default_factory=dict)
    facts: dict[str, dict[int, float]] = field(default_factory=dict)
    """Role -> what it is for each model, by its number."""
    batches: list[PredictionBatch] = field(default_factory=list)
    prediction_column: str = "prediction"

    def place(self, row: int) -> int:
        """A number for this row of the file that is being read, which no row of another file has."""
        return (len(self.files) - 1) * FILE + row

    def row_words(self, place: int) -> str:
        """The row at a place, in words."""
        file, row = divmod(place, FILE)
        if len(self.files) == 1:
            return f"row {row:,}"
        return f"row {row:,} of {self.files[file]}" if self.files[file] else "the study"


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The examples of a data set, and what each model predicts for them: (n_models, n_examples)."""

    examples: pd.DataFrame
    classes: pd.DataFrame
    models: pd.DataFrame
    prediction: np.ndarray
    scores: dict[str, np.ndarray]

    @cached_property
    def labels(self) -> np.ndarray:
        """The class of each example."""
        return np.asarray(self.examples["label"])
