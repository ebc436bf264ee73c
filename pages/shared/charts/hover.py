"""What hover says of the points of a trace: one sentence for all, and what differs in it point by point.

Numbers travel as an array and the browser writes them into the sentence, which takes a tenth of a text for each point.
"""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

_CLAUSE = re.compile(r"\[([^\]]*)\]")
_FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")


def hover(words: str, title: str = "", texts: Iterable[str] = (), **columns: Any) -> dict[str, Any]:
    """The part of a trace that makes hover say `words`, in which {name:.1f} stands for a point's value in a column.

    Columns are of numbers, with d3's formats, or of words. {title} is the same for all points, {text} is the point's of
    `texts`. A clause in square brackets is left out where one of its numbers is NaN.
    """
    named = {match[1] for match in _FIELD.finditer(words)}
    known = {name: _column(values) for name, values in columns.items() if name in named}
    parts = _CLAUSE.split(words)
    for place in range(1, len(parts), 2):
        parts[place] = _clause(parts[place], known)
    sent: dict[str, np.ndarray] = {}

    def written(match: re.Match[str]) -> str:
        name, form = match[1], match[2] or ""
        if name in ("title", "text"):
            return "%{meta}" if name == "title" else "%{text}"
        values = known[name]
        if len(values) > 1 and (values == values[0]).all():
            return d3_format(values[0], form).replace("%{", "&#37;{")
        sent.setdefault(name, values)
        return f"%{{customdata[{list(sent).index(name)}]{form and f':{form}'}}}"

    trace: dict[str, Any] = {"hovertemplate": f"{_FIELD.sub(written, ''.join(parts))}<extra></extra>"}
    if title:
        trace["meta"] = title
    if texts := list(texts):
        trace["text"] = texts
    if sent:
        trace["customdata"] = _rows(list(sent.values()))
    return trace


def d3_format(value: Any, form: str) -> str:
    """A value as the browser writes it, in the formats that hover uses: f, with a sign or commas, and ~r."""
    if not form.endswith("~r"):
        return f"{value:{form}}"
    digits = int(form[form.index(".") + 1 : -2])
    rounded = float(f"{value:.{digits - 1}e}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else np.format_float_positional(rounded, trim="-")


def _column(values: Any) -> np.ndarray:
    column = np.asarray(values)
    return column.astype(float) if column.dtype.kind in "fiub" else column.astype(object)


def _clause(words: str, columns: dict[str, np.ndarray]) -> str:
    """The clause, or nothing where no point has its numbers; where only some have, it becomes a column of words."""
    names = [match[1] for match in _FIELD.finditer(words)]
    there = np.all([~np.isnan(columns[name]) for name in names if columns[name].dtype != object], axis=0)
    if there.all():
        return words
    if not there.any():
        return ""

    def said(place: int) -> str:
        return _FIELD.sub(lambda match: d3_format(columns[match[1]][place], match[2] or ""), words)

    column = f"clause{len(columns)}"
    columns[column] = np.array([said(place) if known else "" for place, known in enumerate(there)], object)
    return f"{{{column}}}"


def _rows(columns: list[np.ndarray]) -> Any:
    """The columns point by point; an array where all are numbers."""
    if all(column.dtype != object for column in columns):
        return np.column_stack(columns)
    plain = (column.tolist() if column.dtype == object else column.round(4).tolist() for column in columns)
    return [list(row) for row in zip(*plain, strict=True)]
