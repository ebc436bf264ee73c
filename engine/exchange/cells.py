"""What cells mean: text, numbers or nothing, whatever their type in the file; a cell that makes no sense is refused."""

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.exchange.limits import LIMITS
from engine.exchange.refusal import refused, shown

MISSING = frozenset(("", "NA", "NaN", "nan", "null", "NULL", "<NA>"))
FORMULA = ("=", "+", "-", "@")
WHOLE = re.compile(r"-?(0|[1-9]\d{0,14})$")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_TAG = re.compile(r"<\s*[A-Za-z!/?]|&#|javascript:", re.IGNORECASE)


def encoded(values: pa.Array, column: str, first_row: int, decimal: str = ".") -> tuple[np.ndarray, list[str]]:
    """The cells as numbers of distinct texts, -1 for a missing one, and these texts; unfit text is refused."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_null(values.type):
        return np.full(len(values), -1, np.int64), []
    coded = pc.dictionary_encode(values)
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    texts = [_text(value) for value in coded.dictionary.to_pylist()]
    distinct: dict[str, int] = {}
    place = np.full(len(texts) + 1, -1, np.int64)
    for number, text in enumerate(texts):
        if text in MISSING:
            continue
        problem = unfit(text)
        if problem:
            raise refused(column, first_row + int(np.argmax(codes == number)), f"{shown(text)} {problem}.")
        place[number] = distinct.setdefault(text, len(distinct))
    return place[codes], list(distinct)


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
        return values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False).astype(float)
    codes, texts = encoded(values, column, first_row)
    table = np.full(len(texts) + 1, np.nan)
    for number, text in enumerate(texts):
        plain = text.replace(decimal, ".") if decimal != "." else text
        if not _NUMBER.match(plain):
            row = first_row + int(np.argmax(codes == number))
            raise refused(column, row, f"{shown(text)} is no number.")
        table[number] = float(plain)
    return table[codes]


def whole_numbers(values: np.ndarray, column: str, first_row: int, most: int = 2**31 - 1) -> np.ndarray:
    """Floats that must be whole, not missing, and from 0 to `most`."""
    bad = np.flatnonzero(~((values >= 0) & (values <= most) & (values == np.floor(values))))
    if len(bad):
        seen = values[bad[0]]
        said = "the cell is empty" if np.isnan(seen) else f"{seen:g} is not allowed"
        raise refused(column, first_row + int(bad[0]), f"{said}; it should be a whole number from 0 to {most:,}.")
    return values.astype(np.int64)


def natural(texts: Iterable[str]) -> list[str]:
    """The texts sorted: as numbers where all are whole numbers, else as text."""
    texts = list(texts)
    return sorted(texts, key=int) if all(WHOLE.match(text) for text in texts) else sorted(texts)
