"""From rows to models and examples: batch by batch, with every contradiction refused at the row where it shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.exchange.cells import encoded, numbers, whole_numbers
from engine.exchange.limits import LIMITS
from engine.exchange.mapping import DEFAULTS, IDENTITY, MODEL_NUMBERS, SCORES, ColumnMapping, check_file_name
from engine.exchange.refusal import refused, shown
from engine.exchange.table_file import Table

Columns = Mapping[str, pa.Array]
NO_GROUP = -1
TEXTS = ("run", *IDENTITY)
WHOLE_NUMBERS = {"seed": 2**31 - 1, "level": 1000, "n_weights": 2**62, "n_kept": 2**62}
SHARES = ("sparsity", "sparsity_asked", "validation_accuracy", "probability", "margin")


class Words:
    """Distinct texts in the order in which they came, with the row where each came first."""

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        self.number = {text: place for place, text in enumerate(texts)}
        self.rows: dict[str, int] = {}

    def add(self, codes: np.ndarray, texts: list[str], first_row: int) -> np.ndarray:
        """The texts' numbers here in place of their codes; -1 stays."""
        place = np.full(len(texts) + 1, -1, np.int64)
        for code, text in enumerate(texts):
            if text not in self.number:
                self.rows[text] = first_row + int(np.argmax(codes == code))
            place[code] = self.number.setdefault(text, len(self.number))
        return place[codes]

    @property
    def texts(self) -> list[str]:
        """All texts, by number."""
        return list(self.number)


@dataclass(frozen=True, eq=False)
class Part:
    """What some rows say: model, example, prediction and scores, and the number of the first row."""

    first_row: int
    model: np.ndarray
    example: np.ndarray
    prediction: np.ndarray
    scores: dict[str, np.ndarray]


@dataclass(eq=False)
class Gathering:
    """The examples of one data set and what the models say of them, as it grows."""

    dataset: str
    split: str
    declared: tuple[str, ...]
    ids: Words = field(default_factory=Words)
    labels: Words = field(default_factory=Words)
    predicted: Words = field(default_factory=Words)
    words: dict[str, Words] = field(default_factory=dict)
    label: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    groups: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict[str, np.ndarray] = field(default_factory=dict)
    models: dict[tuple[Any, ...], int] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    prediction_column: str = "prediction"


def gather(table: Table, plan: ColumnMapping) -> list[Gathering]:
    """All rows of the table as the plan reads them, one gathering per data set and split."""
    sets: dict[tuple[str, str], Gathering] = {}
    wanted = [*plan.columns.values(), *plan.groups, *plan.attributes, *plan.models]
    for first_row, columns in table.batches(wanted):
        reader = Reader(columns, plan, first_row, table.decimal)
        for (dataset, split), rows in reader.sets().items():
            found = sets.get((dataset, split))
            if found is None:
                names = tuple(str(facts.get("name", "")) for facts in plan.classes)
                found = sets[dataset, split] = Gathering(dataset, split, names)
                found.prediction_column = plan.columns.get("prediction", "prediction")
            reader.add_to(found, rows)
    return list(sets.values())


@dataclass(frozen=True, eq=False)
class Reader:
    """One batch of rows and how to read it."""

    columns: Columns
    plan: ColumnMapping
    first_row: int
    decimal: str

    @property
    def n_rows(self) -> int:
        """Rows of the batch."""
        return len(next(iter(self.columns.values())))

    def text(self, role: str) -> tuple[np.ndarray, list[str]]:
        """The texts of a role: its column, or one value for all."""
        if role in self.plan.columns:
            return encoded(self.columns[self.plan.columns[role]], self.plan.columns[role], self.first_row)
        value = str(self.plan.constants.get(role, DEFAULTS.get(role, "")))
        return np.zeros(self.n_rows, np.int64), [value]

    def number(self, role: str) -> np.ndarray | None:
        """The numbers of a role, checked; None where the file does not say."""
        column = self.plan.columns.get(role, role)
        if role in self.plan.columns:
            values = numbers(self.columns[column], column, self.first_row, self.decimal)
        elif role in self.plan.constants or role in DEFAULTS:
            values = constant(role, self.plan.constants.get(role, DEFAULTS.get(role)), self.n_rows)
        else:
            return None
        return checked_number(role, values, column, self.first_row)

    def sets(self) -> dict[tuple[str, str], np.ndarray]:
        """Rows of each data set and split."""
        (data, data_names), (split, split_names) = self.text("dataset"), self.text("split")
        for role, codes, names in (("dataset", data, data_names), ("split", split, split_names)):
            column = self.plan.columns.get(role, role)
            if role == "dataset" and (codes < 0).any():
                raise refused(column, self.first_row + int(np.argmax(codes < 0)), "the cell is empty.")
            for code, name in enumerate(names):
                row = self.first_row + int(np.argmax(codes == code))
                check_file_name(name, role, column, row if role in self.plan.columns else None)
        names = [*split_names, ""]
        pairs = np.unique(np.stack([data, split]), axis=1).T
        return {(data_names[d], names[s]): np.flatnonzero((data == d) & (split == s)) for d, s in pairs}

    def add_to(self, found: Gathering, rows: np.ndarray) -> None:
        """Add these rows to the examples and predictions of their data set."""
        example = self._examples(found, rows)
        if self.plan.layout == "wide":
            for column, facts in self.plan.models.items():
                model = np.full(
                    len(rows), found.models.setdefault(self._constant_model(column, facts), len(found.models))
                )
                self._add_part(found, rows, model, example, column)
            return
        self._add_part(found, rows, self._models(found, rows), example, self.plan.columns["prediction"])

    def _needed(self, codes: np.ndarray, rows: np.ndarray, column: str) -> None:
        empty = np.flatnonzero(codes[rows] < 0)
        if len(empty):
            raise refused(column, self.first_row + int(rows[empty[0]]), "the cell is empty.")

    def _examples(self, found: Gathering, rows: np.ndarray) -> np.ndarray:
        """Numbers of the rows' examples; what is said of an example must be the same in every row."""
        codes, texts = self.text("example")
        self._needed(codes, rows, self.plan.columns.get("example", "example"))
        example = found.ids.add(codes, texts, self.first_row)[rows]
        n_before, n_now = len(found.label), len(found.ids.number)
        if n_now > LIMITS.examples:
            raise PruneScopeError(f"The file has more than {LIMITS.examples:,} examples; that is the most.")
        found.label = np.concatenate([found.label, np.full(n_now - n_before, -1, np.int64)])
        fresh = found.label[example] < 0
        column = self.plan.columns.get("label", "label")
        codes, texts = self.text("label")
        self._needed(codes, rows, column)
        found.label = self._agreed(
            found.label, example, found.labels.add(codes, texts, self.first_row)[rows], rows, column
        )
        for name in self.plan.groups:
            codes, texts = encoded(self.columns[name], name, self.first_row)
            words = found.words.setdefault(name, Words())
            own = grown(found.groups.get(name), n_now, -2)
            found.groups[name] = self._agreed(own, example, words.add(codes, texts, self.first_row)[rows], rows, name)
        for name in self.plan.attributes:
            values = numbers(self.columns[name], name, self.first_row, self.decimal)[rows]
            own = grown(found.attributes.get(name), n_now, np.nan)
            own[example[fresh]] = values[fresh]
            self._compare(own[example], values, rows, name)
            found.attributes[name] = own
        return example

    def _agreed(
        self, own: np.ndarray, example: np.ndarray, values: np.ndarray, rows: np.ndarray, column: str
    ) -> np.ndarray:
        fresh = own[example] == (-1 if column == self.plan.columns.get("label", "label") else -2)
        own[example[fresh]] = values[fresh]
        self._compare(own[example], values, rows, column)
        return own

    def _compare(self, own: np.ndarray, values: np.ndarray, rows: np.ndarray, column: str) -> None:
        both_missing = np.isnan(own.astype(float)) & np.isnan(values.astype(float))
        other = np.flatnonzero((own != values) & ~both_missing)
        if len(other):
            row = self.first_row + int(rows[other[0]])
            raise refused(column, row, "an earlier row says something else of the same example.")

    def _constant_model(self, column: str, facts: Mapping[str, Any]) -> tuple[Any, ...]:
        given = {**self.plan.constants, **facts}
        numbers_given = []
        for role in MODEL_NUMBERS:
            value = given.get(role, DEFAULTS.get(role))
            known = None if value is None else checked_number(role, constant(role, value, 1), column, None)[0]
            numbers_given.append(None if known is None or np.isnan(known) else float(known))
        return ("", *(str(given.get(role, DEFAULTS[role])) for role in IDENTITY[2:]), *numbers_given)

    def _models(self, found: Gathering, rows: np.ndarray) -> np.ndarray:
        """Numbers of the rows' models: what all identity columns say together."""
        code, keys = np.zeros(len(rows), np.int64), [()]
        for role in ("run", *IDENTITY[2:]):
            own, texts = self.text(role)
            code, keys = joined(code, keys, own[rows], [*texts, str(DEFAULTS.get(role, ""))])
        for role in MODEL_NUMBERS:
            values = self.number(role)
            distinct, own = (np.array([np.nan]), np.zeros(self.n_rows, int)) if values is None else split_up(values)
            code, keys = joined(code, keys, own[rows], [None if np.isnan(v) else float(v) for v in distinct])
        number = [found.models.setdefault(key, len(found.models)) for key in keys]
        if len(found.models) > LIMITS.models:
            raise PruneScopeError(f"The file has more than {LIMITS.models:,} models; that is the most.")
        return np.array(number)[code]

    def _add_part(
        self, found: Gathering, rows: np.ndarray, model: np.ndarray, example: np.ndarray, column: str
    ) -> None:
        codes, texts = encoded(self.columns[column], column, self.first_row)
        self._needed(codes, rows, column)
        prediction = found.predicted.add(codes, texts, self.first_row)[rows]
        scores = {}
        for role in SCORES if self.plan.layout == "long" else ():
            values = self.number(role)
            if values is not None:
                scores[role] = values[rows].astype(np.float64 if role == "loss" else np.float16)
        if len(rows) != self.n_rows:  # rows of one data set among others: keep each one's own number
            scores["row"] = rows + self.first_row
        small = [array.astype(np.int32) for array in (model, example, prediction)]
        found.parts.append(Part(self.first_row, small[0], small[1], small[2], scores))


def grown(own: np.ndarray | None, n: int, blank: float) -> np.ndarray:
    """The array with room for n examples."""
    own = np.zeros(0, np.int64 if blank == -2 else float) if own is None else own
    return np.concatenate([own, np.full(n - len(own), blank, own.dtype)]) if len(own) < n else own


def constant(role: str, value: object, n: int) -> np.ndarray:
    """One number n times; text that is none is refused."""
    try:
        return np.full(n, float(str(value)))
    except ValueError:
        raise refused(role, None, f"{shown(value)} is no number.") from None


def checked_number(role: str, values: np.ndarray, column: str, first_row: int | None) -> np.ndarray:
    """The values, refused where they cannot be what the role says."""
    needed = role in ("seed", "sparsity")
    start = 0 if first_row is None else first_row
    if role in WHOLE_NUMBERS:
        known = values if needed else values[~np.isnan(values)]
        if len(known) < len(values):
            bad = values[~np.isnan(values)]
            whole_numbers(bad, column, start, WHOLE_NUMBERS[role])
            return values
        return whole_numbers(values, column, start, WHOLE_NUMBERS[role]).astype(float)
    if role in SHARES:
        wrong = np.isnan(values) if needed else np.zeros(len(values), bool)
        with np.errstate(invalid="ignore"):
            wrong |= (values < 0) | (values > 1) | ((values == 1) & (role == "sparsity"))
        if wrong.any():
            at = int(np.argmax(wrong))
            row = None if first_row is None else first_row + at
            if np.isnan(values[at]):
                raise refused(column, row, "the cell is empty.")
            hint = " (a percentage? divide it by 100)" if 1 < values[at] <= 100 else ""
            most = "below 1" if role == "sparsity" else "up to 1"
            raise refused(column, row, f"{values[at]:g} is not allowed{hint}; it should be from 0 {most}.")
    if np.isinf(values).any():
        at = int(np.argmax(np.isinf(values)))
        raise refused(column, None if first_row is None else first_row + at, "the number is infinite.")
    return values


def split_up(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values and the place of each value among them; quick where there is only one."""
    if len(values) and (values == values[0]).all():
        return values[:1], np.zeros(len(values), np.int64)
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, place


def joined(
    code: np.ndarray, keys: list[tuple[Any, ...]], own: np.ndarray, choices: list[Any]
) -> tuple[np.ndarray, list[tuple[Any, ...]]]:
    """Codes of keys with one more value each; -1 in `own` stands for the last choice."""
    own = np.where(own < 0, len(choices) - 1, own)
    distinct, code = split_up(code * len(choices) + own)
    return code, [(*keys[both // len(choices)], choices[both % len(choices)]) for both in map(int, distinct)]
