"""What cells mean: text, numbers or nothing, whatever their type in the file; a cell that makes no sense is refused.

A refusal is one sentence that names the column and the row. Row 1 is the first one below the header.
"""

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import PruneScopeError
from engine.exchange.limits import LIMITS

MISSING = frozenset(("", "NA", "NaN", "nan", "null", "NULL", "<NA>"))
FORMULA = ("=", "+", "-", "@")
WHOLE = re.compile(r"-?(0|[1-9]\d{0,14})$")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_PLAIN = r"^-?\d{1,15}(\.\d{1,20})?(e-?\d{1,2})?$"
"""Numbers as programs write them, which need no second look."""
_TAG = re.compile(r"<\s*[A-Za-z!/?]|&#|javascript:", re.IGNORECASE)
_LARGEST = {"seed": 2**31 - 1, "level": 1000, "n_weights": 2**62, "n_kept": 2**62}
"""Roles of whole numbers, and the largest one allowed."""
_SHARES = ("sparsity", "sparsity_asked", "validation_accuracy", "probability", "margin")
_NEVER_MISSING = ("seed", "sparsity")
FACTS = ("params", "macs", "latency_ms", "bytes", "bits")
"""What a model costs whoever runs it: numbers of the model, not of its examples."""


def refused(column: str, row: int | str | None, reason: str) -> PruneScopeError:
    """The error for a column, or for one row of it, which is a number or words such as "row 3 of b.csv"."""
    where = f", row {row:,}" if isinstance(row, int) else f", {row}" if row else ""
    place = f"Column {shown(column)}{where}"
    return PruneScopeError(f"{place}: {reason}")


def shown(text: object, most: int = 60) -> str:
    """Text of a user's file for a sentence: quoted, without line breaks, cut to a few words."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in str(text))
    return repr(plain if len(plain) <= most else f"{plain[: most - 1]}…")


class Texts:
    """The distinct texts of a column, numbered as they come; a cell that was read in one batch is known in the next."""

    def __init__(self, all_texts: Iterable[str] = ()) -> None:
        self.all = list(all_texts)
        self._number = {text: number for number, text in enumerate(self.all)}
        self._of_cell: dict[object, int] = {}
        self._type: pa.DataType | None = None

    def codes(self, values: pa.Array, column: str, first_row: int) -> np.ndarray:
        """The cells as numbers of texts, -1 for a missing one; unfit text is refused."""
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_null(values.type):
            return np.full(len(values), -1, np.int64)
        if values.type != self._type:  # 1 and True are one key, and two texts
            self._type, self._of_cell = values.type, {}
        coded = pc.dictionary_encode(values)
        places = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        cells = coded.dictionary.to_pylist()
        numbers = list(map(self._of_cell.get, cells))
        for place in [place for place, number in enumerate(numbers) if number is None]:
            text = _text(cells[place])
            if text not in self._number and text not in MISSING and (problem := unfit(text)):
                raise refused(column, first_row + int(np.argmax(places == place)), f"{shown(text)} {problem}.")
            numbers[place] = self._of_cell[cells[place]] = self._place(text)
        return np.asarray(np.array([*numbers, -1], np.int64)[places])

    def _place(self, text: str) -> int:
        if text in MISSING:
            return -1
        number = self._number.setdefault(text, len(self.all))
        if number == len(self.all):
            self.all.append(text)
        return number


def encoded(values: pa.Array, column: str, first_row: int) -> tuple[np.ndarray, list[str]]:
    """The cells as numbers of distinct texts, -1 for a missing one, and these texts; unfit text is refused."""
    texts = Texts()
    return texts.codes(values, column, first_row), texts.all


def _text(value: object) -> str:
    """A cell as text; whole numbers alike, whether they were written 3, 3.0 or "3.0"."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace").strip()
    text = str(value).strip()
    if text.endswith(".0") and WHOLE.match(text[:-2]):
        return text[:-2]
    if text[:1] == "'" and text[1:2] in FORMULA and len(text) > 1:
        return text[1:]  # as our own exports write it, so that no spreadsheet computes it
    return text


def unfit(text: str) -> str:
    """Why a text is no name, or nothing."""
    if len(text) > LIMITS.letters:
        return f"has {len(text):,} letters; allowed are {LIMITS.letters}"
    if not text.isprintable():
        return "holds a letter that cannot be printed"
    if _TAG.search(text):
        return "looks like HTML; names are plain text"
    if text[0] in FORMULA and len(text) > 1 and not _NUMBER.match(text):
        return "begins like a spreadsheet formula; put a letter in front"
    return ""


def numbers(values: pa.Array, column: str, first_row: int, decimal: str = ".") -> np.ndarray:
    """The cells as floats, NaN for a missing one; a cell that is no number is refused."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        floats = values.cast(pa.float64(), safe=False).fill_null(np.nan)
        return np.asarray(floats.to_numpy(zero_copy_only=False), float)
    if decimal == "." and pa.types.is_string(kind):
        coded = pc.dictionary_encode(values)
        if pc.all(pc.match_substring_regex(coded.dictionary, _PLAIN)).as_py():
            own = np.append(coded.dictionary.cast(pa.float64()).to_numpy(), np.nan)
            return np.asarray(own[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
    codes, texts = encoded(values, column, first_row)
    number_of_code = np.full(len(texts) + 1, np.nan)
    for number, text in enumerate(texts):
        plain = text.replace(decimal, ".") if decimal != "." else text
        if not _NUMBER.match(plain):
            row = first_row + int(np.argmax(codes == number))
            raise refused(column, row, f"{shown(text)} is no number.")
        number_of_code[number] = float(plain)
    return np.asarray(number_of_code[codes])


def constant_numbers(role: str, value: object, n: int) -> np.ndarray:
    """One number n times; text that is none is refused."""
    try:
        return np.full(n, float(str(value)))
    except ValueError:
        raise refused(role, None, f"{shown(value)} is no number.") from None


def role_numbers(role: str, values: np.ndarray, column: str, first_row: int | None) -> np.ndarray:
    """The values, refused where they cannot be what the role says; no row is named where `first_row` is None."""
    if role in _LARGEST:
        present = values if role in _NEVER_MISSING else np.nan_to_num(values, nan=0.0, posinf=np.inf)
        _refuse_no_whole_number(present, column, first_row, _LARGEST[role])
        return values
    if role in _SHARES:
        _refuse_no_share(role, values, column, first_row)
    if role in FACTS and (values < 0).any():
        first = int(np.argmax(values < 0))
        row = None if first_row is None else first_row + first
        raise refused(column, row, f"{values[first]:g} is not allowed; it should be 0 or more.")
    if np.isinf(values).any():
        first = int(np.argmax(np.isinf(values)))
        raise refused(column, None if first_row is None else first_row + first, "the number is infinite.")
    return values


def _refuse_no_whole_number(values: np.ndarray, column: str, first_row: int | None, most: int) -> None:
    bad = np.flatnonzero(~((values >= 0) & (values <= most) & (values == np.floor(values))))
    if len(bad):
        value = values[bad[0]]
        fault = "the cell is empty" if np.isnan(value) else f"{value:g} is not allowed"
        row = None if first_row is None else first_row + int(bad[0])
        raise refused(column, row, f"{fault}; it should be a whole number from 0 to {most:,}.")


def _refuse_no_share(role: str, values: np.ndarray, column: str, first_row: int | None) -> None:
    wrong = np.isnan(values) if role in _NEVER_MISSING else np.zeros(len(values), bool)
    with np.errstate(invalid="ignore"):
        wrong |= (values < 0) | (values > 1) | ((values == 1) & (role == "sparsity"))
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    row = None if first_row is None else first_row + first
    if np.isnan(values[first]):
        raise refused(column, row, "the cell is empty.")
    hint = " (a percentage? divide it by 100)" if 1 < values[first] <= 100 else ""
    most = "below 1" if role == "sparsity" else "up to 1"
    raise refused(column, row, f"{values[first]:g} is not allowed{hint}; it should be from 0 {most}.")


def natural(texts: Iterable[str]) -> list[str]:
    """The texts sorted: as numbers where all are whole numbers, else as text."""
    texts = list(texts)
    return sorted(texts, key=int) if all(WHOLE.match(text) for text in texts) else sorted(texts)
