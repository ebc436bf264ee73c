"""From rows to models and examples: batch by batch, with every contradiction refused at the row where it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.exchange.cells import FACTS, Texts, constant_numbers, numbers, refused, role_numbers
from engine.exchange.example_set import ExampleSet, ModelKey, PredictionBatch, Said, Vocabulary
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
UNSEEN_LABEL = NO_GROUP = -1


@dataclass(frozen=True, eq=False)
class Part:
    """One file of an import: what the user calls it, its table, and what its columns mean."""

    name: str
    table: Table
    mapping: ColumnMapping


def collect_examples(parts: Sequence[Part], known: Sequence[ExampleSet] = ()) -> list[ExampleSet]:
    """All rows of the files, one set of examples per data set and split; `known` has those of the study."""
    sets = {(own.dataset, own.split): own for own in known}
    n_before = {pair: len(own.batches) for pair, own in sets.items()}
    for number, part in enumerate(parts):
        for own in sets.values():
            own.files.append(part.name)
        before = [*([""] if known else []), *(earlier.name for earlier in parts[: number + 1])]
        try:
            _collect_part(part, sets, before)
        except PruneScopeError as error:
            raise PruneScopeError(f"{part.name}: {error}") if len(parts) > 1 else error from None
    return [own for pair, own in sets.items() if len(own.batches) > n_before.get(pair, 0)]


def _collect_part(part: Part, sets: dict[tuple[str, str], ExampleSet], files: list[str]) -> None:
    seen: dict[str, Texts] = {}
    for first_row, columns in part.table.batches(part.mapping.used_columns):
        batch = RowBatch(columns, part.mapping, first_row, part.table.decimal, seen)
        for (dataset, split), rows in batch.sets().items():
            collected = sets.get((dataset, split))
            if collected is None:
                names = tuple(facts.name for facts in part.mapping.classes)
                collected = sets[dataset, split] = ExampleSet(dataset, split, names, list(files))
            collected.prediction_column = part.mapping.columns.get("prediction", collected.prediction_column)
            batch.add_to(collected, rows)


@dataclass(frozen=True, eq=False)
class RowBatch:
    """One batch of rows and how to read it."""

    columns: Columns
    mapping: ColumnMapping
    first_row: int
    decimal: str
    seen: dict[str, Texts]
    """By column or, of one value for all, by role: the texts of this batch and of those before."""

    @property
    def n_rows(self) -> int:
        """Rows of the batch."""
        return len(next(iter(self.columns.values())))

    def text(self, role: str) -> tuple[np.ndarray, Texts]:
        """The texts of a role: its column, or one value for all."""
        if role in self.mapping.columns:
            return self.column(self.mapping.columns[role])
        value = str(self.mapping.constants.get(role, DEFAULTS.get(role, "")))
        return np.zeros(self.n_rows, np.int64), self.seen.setdefault(f"all {role}", Texts([value]))

    def column(self, name: str) -> tuple[np.ndarray, Texts]:
        """The texts of a column."""
        texts = self.seen.setdefault(f"column {name}", Texts())
        return texts.codes(self.columns[name], name, self.first_row), texts

    def number(self, role: str) -> np.ndarray | None:
        """The numbers of a role, checked; None where the file does not say."""
        column = self.mapping.columns.get(role, role)
        if role in self.mapping.columns:
            values = numbers(self.columns[column], column, self.first_row, self.decimal)
        elif role == "sparsity" and role not in self.mapping.constants:
            values = np.zeros(self.n_rows)  # a model of fewer bits, not pruned
        elif role in self.mapping.constants or role in DEFAULTS:
            values = constant_numbers(role, self.mapping.constants.get(role, DEFAULTS.get(role)), self.n_rows)
        else:
            return None
        return role_numbers(role, values, column, self.first_row)

    def sets(self) -> dict[tuple[str, str], np.ndarray]:
        """Rows of each data set and split."""
        (data, datasets), (split, splits) = self.text("dataset"), self.text("split")
        for role, codes, names in (("dataset", data, datasets.all), ("split", split, splits.all)):
            column = self.mapping.columns.get(role, role)
            if role == "dataset" and (codes < 0).any():
                raise refused(column, self.first_row + int(np.argmax(codes < 0)), "the cell is empty.")
            for code, name in enumerate(names):
                row = self.first_row + int(np.argmax(codes == code))
                check_file_name(name, role, column, row if role in self.mapping.columns else None)
        names = [*splits.all, ""]
        pairs, own = distinct_values((data + 1) * len(names) + split + 1)
        places = [(pair // len(names) - 1, pair % len(names) - 1) for pair in map(int, pairs)]
        return {(datasets.all[d], names[s]): np.flatnonzero(own == number) for number, (d, s) in enumerate(places)}

    def add_to(self, collected: ExampleSet, rows: np.ndarray) -> None:
        """Add these rows to the examples and predictions of their data set."""
        example = self._examples(collected, rows)
        for column, facts in self.mapping.models.items() if self.mapping.layout == "wide" else ():
            number = collected.models.setdefault(self._model_key(column, facts), len(collected.models))
            given = {
                role: value for role, value in facts.given().items() if role in FACTS and role not in MODEL_NUMBERS
            }
            for role, value in given.items():
                collected.facts.setdefault(role, {})[number] = float(value)
            self._add_predictions(collected, rows, np.full(len(rows), number), example, column)
        if self.mapping.layout == "long" and self.mapping.says("prediction"):
            model = self._models(collected, rows)
            self._add_facts(collected, model, rows)
            self._add_predictions(collected, rows, model, example, self.mapping.columns["prediction"])

    def _needed(self, codes: np.ndarray, rows: np.ndarray, column: str) -> None:
        empty = np.flatnonzero(codes[rows] < 0)
        if len(empty):
            raise refused(column, self.first_row + int(rows[empty[0]]), "the cell is empty.")

    def _examples(self, collected: ExampleSet, rows: np.ndarray) -> np.ndarray:
        """Numbers of the rows' examples; what is said of an example must be the same in every row."""
        codes, texts = self.text("example")
        self._needed(codes, rows, self.mapping.columns.get("example", "example"))
        example = collected.ids.add(codes[rows], texts, rows + collected.place(self.first_row))
        n_examples = len(collected.ids.number)
        if n_examples > LIMITS.examples:
            raise PruneScopeError(f"The file has more than {LIMITS.examples:,} examples; that is the most.")
        collected.label = with_room(collected.label, n_examples, UNSEEN_LABEL)
        if self.mapping.says("label"):
            column = self.mapping.columns.get("label", "label")
            codes, texts = self.text("label")
            self._needed(codes, rows, column)
            own = collected.labels.add(codes[rows], texts, rows + collected.place(self.first_row))
            self._fill_in(collected, "label", collected.label, Said(example, own, rows, column, collected.labels))
        try:
            self._add_groups(collected, example, rows)
            self._add_attributes(collected, example, rows)
        except PruneScopeError as error:
            hint = "leave the column out (--leave-out) if it is about models or free text."
            raise PruneScopeError(f"{str(error).rstrip('.')}; {hint}") from None
        return example

    def _add_attributes(self, collected: ExampleSet, example: np.ndarray, rows: np.ndarray) -> None:
        for name in self.mapping.attributes:
            values = with_room(collected.attributes.get(name, np.zeros(0)), len(collected.ids.number), np.nan)
            own = numbers(self.columns[name], name, self.first_row, self.decimal)[rows]
            collected.attributes[name] = values
            self._fill_in(collected, name, values, Said(example, own, rows, name))

    def _add_groups(self, collected: ExampleSet, example: np.ndarray, rows: np.ndarray) -> None:
        for name in self.mapping.groups:
            codes, texts = self.column(name)
            vocabulary = collected.group_names.setdefault(name, Vocabulary())
            own = vocabulary.add(codes[rows], texts, rows + collected.place(self.first_row))
            groups = collected.groups.get(name, np.zeros(0, np.int64))
            groups = collected.groups[name] = with_room(groups, len(collected.ids.number), NO_GROUP)
            self._fill_in(collected, name, groups, Said(example, own, rows, name, vocabulary))

    def _fill_in(self, collected: ExampleSet, name: str, values: np.ndarray, said: Said) -> None:
        """Put what rows say of examples into `values`; rows of examples that have it already must repeat it."""
        first = with_room(collected.said_in.get(name, np.zeros(0, np.int64)), len(values), -1)
        new = np.flatnonzero(first[said.example] < 0)[::-1]  # the first row that says it comes last, and stays
        values[said.example[new]] = said.own[new]
        first[said.example[new]] = said.rows[new] + collected.place(self.first_row)
        collected.said_in[name] = first
        earlier = values[said.example]
        other = np.flatnonzero((earlier != said.own) & ~(np.isnan(earlier) & np.isnan(said.own)))
        if len(other):
            here = int(other[0])
            where = collected.row_words(int(first[said.example[here]]))
            raise refused(
                said.column,
                self.first_row + int(said.rows[here]),
                f"{said.words(said.own[here])} contradicts {where}, which says {said.words(earlier[here])} of the same "
                "example.",
            )

    def _add_facts(self, collected: ExampleSet, model: np.ndarray, rows: np.ndarray) -> None:
        """Note what the models of these rows cost; it is one number for a whole model."""
        for role in FACTS:
            values = None if role in MODEL_NUMBERS else self.number(role)
            if values is None:
                continue
            own, facts = values[rows], collected.facts.setdefault(role, {})
            numbers_seen, firsts = np.unique(model, return_index=True)
            for number, first in zip(numbers_seen.tolist(), firsts, strict=True):
                facts.setdefault(number, float(own[first]))
            expected = np.array([facts[number] for number in numbers_seen])[np.searchsorted(numbers_seen, model)]
            other = np.flatnonzero((own != expected) & ~(np.isnan(own) & np.isnan(expected)))
            if len(other):
                row, column = self.first_row + int(rows[other[0]]), self.mapping.columns.get(role, role)
                raise refused(
                    column,
                    row,
                    f"{own[other[0]]:g} is not the {expected[other[0]]:g} of earlier rows of the same model; it is one "
                    "number for a model, not for each example.",
                )

    def _model_key(self, column: str, facts: ModelFacts) -> ModelKey:
        """What tells the model of a wide column from others."""
        given: dict[str, Constant] = {"sparsity": 0, **DEFAULTS, **self.mapping.constants, **facts.given()}
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
            code, keys = extended_keys(code, keys, own[rows], [*texts.all, str(DEFAULTS.get(role, ""))])
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
        codes, texts = self.column(column)
        self._needed(codes, rows, column)
        prediction = collected.predicted.add(codes[rows], texts, rows + collected.place(self.first_row))
        scores = {}
        for role in SCORES if self.mapping.layout == "long" else ():
            values = self.number(role)
            if values is not None:
                scores[role] = values[rows].astype(np.float64 if role == "loss" else np.float16)
        if len(rows) != self.n_rows:  # rows of one data set among others: keep each one's own number
            scores["row"] = rows + collected.place(self.first_row)
        small = [array.astype(np.int32) for array in (model, example, prediction)]
        collected.batches.append(PredictionBatch(collected.place(self.first_row), small[0], small[1], small[2], scores))


def with_room(values: np.ndarray, n: int, blank: float) -> np.ndarray:
    """The array with room for n examples."""
    return np.concatenate([values, np.full(n - len(values), blank, values.dtype)]) if len(values) < n else values


def distinct_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values and the number of each value among them; quick where there is only one."""
    if len(values) and ((values == values[0]).all() or np.isnan(values).all()):
        return values[:1], np.zeros(len(values), np.int64)
    starts = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
    if 8 * len(starts) > len(values):
        distinct, number = np.unique(values, return_inverse=True)
        return distinct, number
    distinct, number = np.unique(values[starts], return_inverse=True)  # one model after the other, as most files are
    return distinct, np.repeat(number, np.diff(starts, append=len(values)))


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def extended_keys(
    code: np.ndarray, keys: list[ModelKey], own: np.ndarray, choices: Sequence[str | float | None]
) -> tuple[np.ndarray, list[ModelKey]]:
    """Codes of keys with one more value each; -1 in `own` stands for the last choice."""
    own = np.where(own < 0, len(choices) - 1, own)
    distinct, code = distinct_values(code * len(choices) + own)
    return code, [(*keys[both // len(choices)], choices[both % len(choices)]) for both in map(int, distinct)]
