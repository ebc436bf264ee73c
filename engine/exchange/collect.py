"""From rows to models and examples: batch by batch, with every contradiction refused at the row where it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.exchange.cells import constant_numbers, encoded, numbers, refused, role_numbers
from engine.exchange.example_set import ExampleSet, ModelKey, PredictionBatch, Vocabulary
from engine.exchange.limits import LIMITS
from engine.exchange.mapping import (
    DEFAULTS,
    IDENTITY,
    MODEL_NUMBERS,
    SCORES,
    ColumnMapping,
    Constant,
    ModelFacts,
    check_file_name,
)
from engine.exchange.table_file import Table

Columns = Mapping[str, pa.Array]
UNSEEN_LABEL = -1
UNSEEN_GROUP = -2
"""An example that no row was read of yet; -1 is a group that its rows leave empty."""


def collect_examples(table: Table, mapping: ColumnMapping) -> list[ExampleSet]:
    """All rows of the table as the mapping reads them, one set of examples per data set and split."""
    sets: dict[tuple[str, str], ExampleSet] = {}
    for first_row, columns in table.batches(mapping.used_columns):
        batch = RowBatch(columns, mapping, first_row, table.decimal)
        for (dataset, split), rows in batch.sets().items():
            collected = sets.get((dataset, split))
            if collected is None:
                names = tuple(facts.name for facts in mapping.classes)
                collected = sets[dataset, split] = ExampleSet(dataset, split, names)
                collected.prediction_column = mapping.columns.get("prediction", "prediction")
            batch.add_to(collected, rows)
    return list(sets.values())


@dataclass(frozen=True, eq=False)
class RowBatch:
    """One batch of rows and how to read it."""

    columns: Columns
    mapping: ColumnMapping
    first_row: int
    decimal: str

    @property
    def n_rows(self) -> int:
        """Rows of the batch."""
        return len(next(iter(self.columns.values())))

    def text(self, role: str) -> tuple[np.ndarray, list[str]]:
        """The texts of a role: its column, or one value for all."""
        if role in self.mapping.columns:
            return encoded(self.columns[self.mapping.columns[role]], self.mapping.columns[role], self.first_row)
        value = str(self.mapping.constants.get(role, DEFAULTS.get(role, "")))
        return np.zeros(self.n_rows, np.int64), [value]

    def number(self, role: str) -> np.ndarray | None:
        """The numbers of a role, checked; None where the file does not say."""
        column = self.mapping.columns.get(role, role)
        if role in self.mapping.columns:
            values = numbers(self.columns[column], column, self.first_row, self.decimal)
        elif role in self.mapping.constants or role in DEFAULTS:
            values = constant_numbers(role, self.mapping.constants.get(role, DEFAULTS.get(role)), self.n_rows)
        else:
            return None
        return role_numbers(role, values, column, self.first_row)

    def sets(self) -> dict[tuple[str, str], np.ndarray]:
        """Rows of each data set and split."""
        (data, data_names), (split, split_names) = self.text("dataset"), self.text("split")
        for role, codes, names in (("dataset", data, data_names), ("split", split, split_names)):
            column = self.mapping.columns.get(role, role)
            if role == "dataset" and (codes < 0).any():
                raise refused(column, self.first_row + int(np.argmax(codes < 0)), "the cell is empty.")
            for code, name in enumerate(names):
                row = self.first_row + int(np.argmax(codes == code))
                check_file_name(name, role, column, row if role in self.mapping.columns else None)
        names = [*split_names, ""]
        pairs = np.unique(np.stack([data, split]), axis=1).T
        return {(data_names[d], names[s]): np.flatnonzero((data == d) & (split == s)) for d, s in pairs}

    def add_to(self, collected: ExampleSet, rows: np.ndarray) -> None:
        """Add these rows to the examples and predictions of their data set."""
        example = self._examples(collected, rows)
        if self.mapping.layout == "wide":
            for column, facts in self.mapping.models.items():
                number = collected.models.setdefault(self._model_key(column, facts), len(collected.models))
                self._add_predictions(collected, rows, np.full(len(rows), number), example, column)
            return
        model = self._models(collected, rows)
        self._add_predictions(collected, rows, model, example, self.mapping.columns["prediction"])

    def _needed(self, codes: np.ndarray, rows: np.ndarray, column: str) -> None:
        empty = np.flatnonzero(codes[rows] < 0)
        if len(empty):
            raise refused(column, self.first_row + int(rows[empty[0]]), "the cell is empty.")

    def _examples(self, collected: ExampleSet, rows: np.ndarray) -> np.ndarray:
        """Numbers of the rows' examples; what is said of an example must be the same in every row."""
        codes, texts = self.text("example")
        self._needed(codes, rows, self.mapping.columns.get("example", "example"))
        example = collected.ids.add(codes[rows], texts, rows + self.first_row)
        n_examples = len(collected.ids.number)
        if n_examples > LIMITS.examples:
            raise PruneScopeError(f"The file has more than {LIMITS.examples:,} examples; that is the most.")
        labels = with_room(collected.label, n_examples, UNSEEN_LABEL)
        is_new = labels[example] == UNSEEN_LABEL
        column = self.mapping.columns.get("label", "label")
        codes, texts = self.text("label")
        self._needed(codes, rows, column)
        own = collected.labels.add(codes[rows], texts, rows + self.first_row)
        collected.label = self._filled_in(labels, example, own, is_new, rows, column)
        self._add_groups(collected, example, rows)
        for name in self.mapping.attributes:
            values = with_room(collected.attributes.get(name, np.zeros(0)), n_examples, np.nan)
            own = numbers(self.columns[name], name, self.first_row, self.decimal)[rows]
            collected.attributes[name] = self._filled_in(values, example, own, is_new, rows, name)
        return example

    def _add_groups(self, collected: ExampleSet, example: np.ndarray, rows: np.ndarray) -> None:
        for name in self.mapping.groups:
            codes, texts = encoded(self.columns[name], name, self.first_row)
            vocabulary = collected.group_names.setdefault(name, Vocabulary())
            own = vocabulary.add(codes[rows], texts, rows + self.first_row)
            groups = collected.groups.get(name, np.zeros(0, np.int64))
            groups = with_room(groups, len(collected.ids.number), UNSEEN_GROUP)
            is_new = groups[example] == UNSEEN_GROUP
            collected.groups[name] = self._filled_in(groups, example, own, is_new, rows, name)

    def _filled_in(
        self,
        values: np.ndarray,
        example: np.ndarray,
        own: np.ndarray,
        is_new: np.ndarray,
        rows: np.ndarray,
        column: str,
    ) -> np.ndarray:
        """The examples' values with those of the new ones; rows of other examples must repeat what is there."""
        values[example[is_new]] = own[is_new]
        self._compare(values[example], own, rows, column)
        return values

    def _compare(self, earlier: np.ndarray, own: np.ndarray, rows: np.ndarray, column: str) -> None:
        both_missing = np.isnan(earlier.astype(float)) & np.isnan(own.astype(float))
        other = np.flatnonzero((earlier != own) & ~both_missing)
        if len(other):
            row = self.first_row + int(rows[other[0]])
            raise refused(column, row, "an earlier row says something else of the same example.")

    def _model_key(self, column: str, facts: ModelFacts) -> ModelKey:
        """What tells the model of a wide column from others."""
        given: dict[str, Constant] = {**DEFAULTS, **self.mapping.constants, **facts.given()}
        key: list[str | float | None] = ["", *(str(given[role]) for role in IDENTITY[2:])]
        for role in MODEL_NUMBERS:
            value = given.get(role, "nan")
            if role in given:
                role_numbers(role, constant_numbers(role, value, 1), column, None)
            key.append(_or_none(float(value)))
        return tuple(key)

    def _models(self, collected: ExampleSet, rows: np.ndarray) -> np.ndarray:
        """Numbers of the rows' models: what all identity columns say together."""
        code = np.zeros(len(rows), np.int64)
        keys: list[ModelKey] = [()]
        for role in ("run", *IDENTITY[2:]):
            own, texts = self.text(role)
            code, keys = extended_keys(code, keys, own[rows], [*texts, str(DEFAULTS.get(role, ""))])
        for role in MODEL_NUMBERS:
            values = self.number(role)
            distinct, own = distinct_values(np.full(self.n_rows, np.nan) if values is None else values)
            code, keys = extended_keys(code, keys, own[rows], [_or_none(value) for value in distinct])
        number = [collected.models.setdefault(key, len(collected.models)) for key in keys]
        if len(collected.models) > LIMITS.models:
            raise PruneScopeError(f"The file has more than {LIMITS.models:,} models; that is the most.")
        return np.asarray(np.array(number)[code])

    def _add_predictions(
        self, collected: ExampleSet, rows: np.ndarray, model: np.ndarray, example: np.ndarray, column: str
    ) -> None:
        codes, texts = encoded(self.columns[column], column, self.first_row)
        self._needed(codes, rows, column)
        prediction = collected.predicted.add(codes[rows], texts, rows + self.first_row)
        scores = {}
        for role in SCORES if self.mapping.layout == "long" else ():
            values = self.number(role)
            if values is not None:
                scores[role] = values[rows].astype(np.float64 if role == "loss" else np.float16)
        if len(rows) != self.n_rows:  # rows of one data set among others: keep each one's own number
            scores["row"] = rows + self.first_row
        small = [array.astype(np.int32) for array in (model, example, prediction)]
        collected.batches.append(PredictionBatch(self.first_row, small[0], small[1], small[2], scores))


def with_room(values: np.ndarray, n: int, blank: float) -> np.ndarray:
    """The array with room for n examples."""
    return np.concatenate([values, np.full(n - len(values), blank, values.dtype)]) if len(values) < n else values


def distinct_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values and the number of each value among them; quick where there is only one."""
    if len(values) and ((values == values[0]).all() or np.isnan(values).all()):
        return values[:1], np.zeros(len(values), np.int64)
    distinct, number = np.unique(values, return_inverse=True)
    return distinct, number


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def extended_keys(
    code: np.ndarray, keys: list[ModelKey], own: np.ndarray, choices: Sequence[str | float | None]
) -> tuple[np.ndarray, list[ModelKey]]:
    """Codes of keys with one more value each; -1 in `own` stands for the last choice."""
    own = np.where(own < 0, len(choices) - 1, own)
    distinct, code = distinct_values(code * len(choices) + own)
    return code, [(*keys[both // len(choices)], choices[both % len(choices)]) for both in map(int, distinct)]
