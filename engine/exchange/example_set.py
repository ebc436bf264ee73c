"""The examples of one data set and what the models predict for them, as they grow row by row."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

ModelKey = tuple[str | float | None, ...]
"""What tells one model from another: the run, its identity and the numbers of the model; None where nobody says."""


class Vocabulary:
    """Distinct texts in the order in which they came, with the row where each came first."""

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        self.number = {text: number for number, text in enumerate(texts)}
        self.rows: dict[str, int] = {}

    def add(self, codes: np.ndarray, texts: list[str], rows: np.ndarray) -> np.ndarray:
        """The texts' numbers here in place of their codes, one per row; -1 stays."""
        number_of_code = np.full(len(texts) + 1, -1, np.int64)
        for code in np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(texts))):
            text = texts[code]
            if text not in self.number:
                self.rows[text] = int(rows[np.argmax(codes == code)])
            number_of_code[code] = self.number.setdefault(text, len(self.number))
        return np.asarray(number_of_code[codes])

    @property
    def texts(self) -> list[str]:
        """All texts, by number."""
        return list(self.number)


@dataclass(frozen=True, eq=False)
class PredictionBatch:
    """What some rows hold: model, example, prediction and scores, and the number of the first row."""

    first_row: int
    model: np.ndarray
    example: np.ndarray
    prediction: np.ndarray
    scores: dict[str, np.ndarray]


@dataclass(eq=False)
class ExampleSet:
    """The examples of one data set and split, and what the models predict for them."""

    dataset: str
    split: str
    declared: tuple[str, ...]
    ids: Vocabulary = field(default_factory=Vocabulary)
    labels: Vocabulary = field(default_factory=Vocabulary)
    predicted: Vocabulary = field(default_factory=Vocabulary)
    group_names: dict[str, Vocabulary] = field(default_factory=dict)
    label: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    groups: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict[str, np.ndarray] = field(default_factory=dict)
    models: dict[ModelKey, int] = field(default_factory=dict)
    batches: list[PredictionBatch] = field(default_factory=list)
    prediction_column: str = "prediction"


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The examples of a data set, and what each model predicts for them: (n_models, n_examples)."""

    examples: pd.DataFrame
    classes: pd.DataFrame
    models: pd.DataFrame
    prediction: np.ndarray
    scores: dict[str, np.ndarray]
