"""How numbers and text are written: one formatter for sentences, tables and hover text."""

import csv
import html
import math
import re
from functools import lru_cache

import pandas as pd

from engine.analysis.unfairness import UNFAIRNESS

MISSING = "—"

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^&])")
_ADDRESS = re.compile(r"https?(?=\\:)|www(?=\\\.)|@", re.IGNORECASE)
JOINER = "\u2060"
"""Word joiner: a letter without width. Markdown makes links of bare addresses, escaped or not, unless one is inside."""


def percent(value: float, digits: int = 1) -> str:
    """A rate as "97.3 %"."""
    return MISSING if _unknown(value) else f"{100 * value:.{digits}f} %"


@lru_cache(4096)
def sparsity(value: float) -> str:
    """A sparsity with enough digits to tell levels apart: "48.8 %", "98.85 %", "99.954 %"."""
    if _unknown(value):
        return MISSING
    kept = 1 - value
    digits = max(1, min(4, -math.floor(math.log10(kept)))) if kept > 0 else 0
    return percent(value, digits)


def points(value: float, digits: int = 1, sign: bool = True) -> str:
    """A difference of rates in points: "-3.2 pt"; what rounds to nothing has no sign."""
    if _unknown(value):
        return MISSING
    rounded = round(100 * value, digits)
    return f"{rounded:{'+' if sign and rounded else ''}z.{digits}f} pt"


def points_in_words(value: float, digits: int = 1) -> str:
    """The size of a difference of rates for a sentence: "3.2 points"."""
    return MISSING if _unknown(value) else f"{100 * abs(value):.{digits}f} points"


def share(value: float) -> str:
    """A share of weights where no level has to be told from another: "93 %"; in full where that would say "100 %"."""
    return percent(value, 0) if _unknown(value) or round(100 * value) < 100 else sparsity(value)


def from_points_on(value: float) -> str:
    """A loss that counts from there on: "3 points or more", "1 point or more"."""
    return f"{100 * value:.3g} point{'' if round(100 * value, 3) == 1 else 's'} or more"


def number(value: float, digits: int = 3) -> str:
    """Any other number, with so many significant digits."""
    if _unknown(value):
        return MISSING
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:,.{digits}g}"


def fixed(value: float, digits: int = 3) -> str:
    """A number with so many digits after the point, for columns of coefficients: "-0.025"."""
    return MISSING if _unknown(value) else f"{value:z.{digits}f}"


def p_value(value: float) -> str:
    """A p-value: "0.034", "< 0.001"."""
    return MISSING if _unknown(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: float) -> str:
    """A count with thousands marked."""
    return MISSING if _unknown(value) else f"{int(value):,}"


def times(value: float) -> str:
    """A factor as "2.3 times"."""
    return MISSING if _unknown(value) else f"{value:.1f} times"


def plus_minus(low: float, high: float, digits: int = 1) -> str:
    """Half of an interval as "± 1.2"; empty where there is none."""
    return "" if _unknown(low) or _unknown(high) else f"± {100 * (high - low) / 2:.{digits}f}"


def unfairness(value: float, measure: str) -> str:
    """An unfairness in its measure's unit: points for gaps of accuracy, a plain number otherwise."""
    return points(value, sign=False) if in_points(measure) else number(value)


def in_points(measure: str) -> bool:
    """Whether a measure is a difference of rates, as accuracy and all but a few measures of unfairness are."""
    return measure not in UNFAIRNESS or UNFAIRNESS[measure].unit == "points"


@lru_cache(4096)
def seeds(n: float) -> str:
    """A number of seeds as people say it: "6 training runs"."""
    return MISSING if _unknown(n) else "1 training run" if n == 1 else f"{count(n)} training runs"


def plain(text: object) -> str:
    """Text from a user's file, so that markdown shows it as it is."""
    return _ADDRESS.sub(lambda match: match[0] + JOINER, _MARKDOWN.sub(r"\\\1", str(text).replace("\n", " ")))


def unmarked(text: str) -> str:
    """A sentence of ours without its markdown: bold marks go, and names stand as they are."""
    return re.sub(r"\\(.)|\*\*", lambda match: match[1] or "", text.replace(JOINER, ""))


def chart_text(text: object) -> str:
    """Text from a user's file, so that a chart shows it as it is: Plotly reads a few HTML tags."""
    return html.escape(str(text).replace("\n", " "), quote=False)


def csv_bytes(table: pd.DataFrame) -> bytes:
    """The table as CSV; text that a spreadsheet would read as a formula gets a leading apostrophe."""
    safe = table.copy()
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]) and not pd.api.types.is_bool_dtype(safe[name]):
            text = safe[name].astype("object")
            risky = text.map(lambda value: isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"))
            safe[name] = text.where(~risky.astype(bool), "'" + text.astype(str))
    return str(safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)).encode()


def _unknown(value: float | None) -> bool:
    return value is None or value is pd.NA or math.isnan(value)
