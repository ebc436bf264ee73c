"""The effects of a regression in words, beside what the paper found."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.regression.class_evidence import ENOUGH_CLASSES
from engine.analysis.regression.goodness import Statistics
from engine.analysis.regression.result import Regression
from engine.analysis.regression.standard_errors import ERRORS, KINDS, WILD
from engine.analysis.regression.terms import FACTORS, TERMS
from pages.shared import formats
from pages.views.regression.coefficients import NAMES

Row = dict[Hashable, Any]
"""An effect, by the columns of the table of effects."""

FACTS = ("imbalance", "entropy")
FACT_NAMES = {"imbalance": "size", "entropy": "entropy"}
"""The facts as people say them: a class's share of the training set, and how varied its images are."""

LEAST_ROWS, ROWS_PER_COLUMN = 50, 10
"""Rows below which no effect is put into words: fewer let a handful of rows decide it."""
PUBLISHED_ROWS = 949_298
PAPER_FOUND = {
    "accuracy0": "ends higher too",
    "sparsity": "accuracy falls",
    "treatment": "keep training ends above restart",
    "technique": "global magnitude keeps most, random channels least",
    "network": "ResNet-18 keeps most, LeNet least",
}
"""What its coefficients add up to, where that is no single number; at 90 % sparsity and unpruned accuracy 90 %."""


def answer_sentence(regression: Regression) -> str:
    """What more of the training set and more entropy do to a class, all else equal; or why that cannot be told, where
    rows or classes are too few; markdown."""
    few = few_rows_sentence(regression.statistics)
    if few:
        return few
    if text := effects_sentence(regression):
        return unidentified_sentence(regression) or f"**{text}**"
    rows = _rows(regression, ("accuracy0", "sparsity"))
    why = " ".join(_absence(regression, key) for key in FACTS)
    return f"**{effect_sentence(rows[0])}** {why}" if rows else f"**No effect can be told.** {why}"


def effects_sentence(regression: Regression) -> str:
    """The effects of facts about classes with the widest interval of all kinds; empty where there is none; markdown."""
    rows = [regression.widest(row["key"]) for row in _rows(regression, FACTS)]
    return f"All else equal, a class {'. A class '.join(map(_clause, rows))}." if rows else ""


def few_rows_sentence(statistics: Statistics) -> str:
    """Why there is no headline, where the rows are too few for the coefficients; empty where they are enough."""
    needed = max(LEAST_ROWS, ROWS_PER_COLUMN * statistics.n_columns)
    if statistics.n_rows >= needed:
        return ""
    return (
        f"**Too few rows to say anything**: {formats.count(statistics.n_rows)} rows for "
        f"{formats.count(statistics.n_columns)} coefficients; at least {formats.count(needed)} are needed, by more "
        "training runs, levels or classes."
    )


def _clause(row: Row) -> str:
    sure = f"{_give_or_take(row)}, {KINDS[row['errors']].in_words}"
    sure += ", so it may be chance" if _may_be_zero(row) else ""
    return f"{_class_words(row)} keeps {_more(row['estimate'])} accuracy after pruning ({sure})"


def unidentified_sentence(regression: Regression) -> str:
    """Which facts too few classes differ in for their effect to be identified; empty where there is none; markdown."""
    few = {key: n for key, n in regression.informing.items() if n < ENOUGH_CLASSES}
    if not few:
        return ""
    facts = " and ".join(FACT_NAMES.get(key, key) for key in few)
    return (
        f"**Which classes lose cannot be told from {formats.count(min(few.values()))} classes**: at least "
        f"{ENOUGH_CLASSES} that differ in {facts} are needed."
    )


def without_sentence(regression: Regression) -> str:
    """Which class moves the first fact's effect most; empty where none can be left out; markdown."""
    rows = regression.without_class.dropna(subset="estimate")
    keys = [key for key in FACTS if key in set(rows["key"])]
    if not keys:
        return ""
    row = rows[rows["key"] == keys[0]].iloc[0]
    was = row["estimate"] - row["change"]
    name = f"{formats.plain(NAMES['dataset'](row['dataset']))} class {row['class']}"
    return (
        f"{name} moves {keys[0]} most: without it, the effect is {formats.points(row['estimate'])} instead of "
        f"{formats.points(was)}."
    )


def without_table(regression: Regression) -> pd.DataFrame:
    """Each class with the effects when its rows are left out and their changes, in points."""
    rows = regression.without_class
    return pd.DataFrame(
        {
            "fact": rows["key"],
            "data set": [NAMES["dataset"](name) for name in rows["dataset"]],
            "class left out": rows["class"],
            "effect without it, pt": (100 * rows["estimate"].astype(float)).round(2),
            "change, pt": (100 * rows["change"].astype(float)).round(2),
        }
    )


def _class_words(row: Row) -> str:
    if row["key"] == "imbalance":
        return f"with {formats.number(100 * row['end'])} point more of the training set"
    if row["key"] == "entropy":
        return f"whose images hold {formats.number(row['end'])} bit more entropy"
    return f"that starts {formats.number(100 * row['end'])} point higher"


def detail_sentences(regression: Regression) -> str:
    """How the answer stands beside the paper, and how likely it is chance; markdown."""
    s, rows = regression.statistics, _rows(regression, FACTS)
    runs = "1 run" if s.n_runs == 1 else f"{formats.count(s.n_runs)} runs"
    parts = [f"From {formats.count(s.n_rows)} class accuracies of {runs} and {formats.count(s.n_classes)} classes."]
    if rows:
        numbers = " and ".join(f"{_more(_published(row))} for {row['key']}" for row in rows)
        parts.append(
            f"The paper found {numbers} on {formats.count(PUBLISHED_ROWS)} class accuracies: {_agreement(rows)}."
        )
        tests = [
            f"{test.key} {'above' if test.direction > 0 else 'below'} 0, p {_p_words(test.p)}"
            for test in regression.tests
            if not test.reason
        ]
        words = ERRORS[regression.errors].in_words
        kind = f"errors {words}" if " " in words else f"{words} errors"
        parts.append(f"Tested one-sided as there ({kind}): {'; '.join(tests)}.")
    wild = [f"{row['key']} p {_p_words(row['p'])}" for row in _rows(regression, FACTS, "wild")]
    if wild:
        parts.append(f"Two-sided by a wild cluster bootstrap of the classes: {'; '.join(wild)}.")
    parts += [text for key in FACTS if rows and (text := _absence(regression, key))]
    return " ".join(parts)


def _p_words(p: float) -> str:
    text = formats.p_value(p)
    return text if text.startswith("<") else f"= {text}"


def _agreement(rows: Sequence[Row]) -> str:
    other = [row["key"] for row in rows if row["estimate"] * _published(row) < 0]
    if not other:
        return "the same direction" if len(rows) == 1 else "the same directions"
    return "the opposite direction" if len(other) == len(rows) else f"the opposite direction for {other[0]}"


def _published(row: Row) -> float:
    return float((TERMS[row["key"]].published or np.nan) * row["end"])


def _absence(regression: Regression, key: str) -> str:
    """Why a fact about classes is not in the model; empty where it is."""
    if _rows(regression, (key,)):
        return ""
    reason = next((out.reason for out in regression.left_out if out.name == key), "it was not asked for")
    return f"{FACTORS[key].label.capitalize()} is not in the model: {formats.plain(reason)}."


def _rows(regression: Regression, keys: Sequence[str], errors: str = "") -> list[Row]:
    """The effects of these keys with these errors, or the chosen ones."""
    rows = regression.effects[regression.effects["errors"] == (errors or regression.errors)].to_dict("records")
    return [row for key in keys for row in rows if row["key"] == key]


def _other_errors(regression: Regression, row: Row) -> dict[str, Row]:
    rows = regression.effects[
        (regression.effects["key"] == row["key"]) & (regression.effects["errors"] != regression.errors)
    ]
    return {str(other["errors"]): other for other in rows.to_dict("records")}


def _more(change: float) -> str:
    return f"{formats.points_in_words(change)} {'more' if change >= 0 else 'less'}"


def _give_or_take(row: Row) -> str:
    if not np.isfinite(row["high"] - row["low"]):
        return "± unknown"
    if row["errors"] == WILD.key:  # its two sides differ
        return f"95 %: {formats.points(row['low'])} to {formats.points(row['high'])}"
    return formats.plus_minus(row["low"], row["high"])


def _may_be_zero(row: Row) -> bool:
    return not (row["low"] > 0 or row["high"] < 0)


def effect_sentence(row: Row) -> str:
    """One effect, without its interval."""
    size = formats.points_in_words(row["estimate"])
    if row["key"] in FACTS:
        return f"A class {_class_words(row)} keeps {_more(row['estimate'])} accuracy."
    if row["key"] == "accuracy0":
        return f"A class {_class_words(row)} ends {size} {'higher' if row['estimate'] >= 0 else 'lower'}."
    if row["key"] == "sparsity":
        ends = f"From {formats.sparsity(row['begin'])} to {formats.sparsity(row['end'])} sparsity"
        return f"{ends} accuracy {'rises' if row['estimate'] >= 0 else 'falls'} by {size}."
    name = NAMES[row["key"]]
    return f"{formats.plain(name(row['end']))} ends {size} above {formats.plain(name(row['begin']))}."


def effect_table(regression: Regression) -> pd.DataFrame:
    """Every effect in words with its half intervals in points and what the paper found; markdown."""
    lines = []
    for row in regression.effects[regression.effects["errors"] == regression.errors].to_dict("records"):
        others = _other_errors(regression, row) | {regression.errors: row}
        halves = {
            f"± {KINDS[kind].label}": _half(others[kind]) if kind in others else formats.MISSING
            for kind in ("hac", "run", "class", "wild")
        }
        lines.append({"All else equal, on average": effect_sentence(row), **halves, "In the paper": _paper_words(row)})
    return pd.DataFrame(lines)


def _half(row: Row) -> str:
    if not np.isfinite(row["high"] - row["low"]):
        return formats.MISSING
    text = formats.plus_minus(row["low"], row["high"]).removeprefix("± ")
    return f"*{text}*" if _may_be_zero(row) else text


def _paper_words(row: Row) -> str:
    if row["key"] not in FACTS:
        return PAPER_FOUND[row["key"]]
    half = 1.96 * (TERMS[row["key"]].published_se or np.nan) * row["end"]
    return f"{_more(_published(row))} (± {100 * half:.2f})"
