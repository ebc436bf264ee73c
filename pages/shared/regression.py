"""The Regression page in words and tables: what the effects mean, what the paper found, names of coefficients."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.fits import ERRORS
from engine.analysis.layout import INTERCEPT
from engine.analysis.population import LeftOut
from engine.analysis.regression_record import Regression
from engine.analysis.terms import FACTORS, TERMS
from pages.shared import formats
from pages.shared.charts.regression import MOST_ROWS
from pages.shared.load import Experiment
from pages.shared.load_models import SAME

GROUPS = ("Class", "Unpruned accuracy", "Sparsity", "Treatment", "Technique", "Data set", "Network", "Setup")
"""Headings of the coefficients, what the page is about first."""

FACTS = ("imbalance", "entropy")
PUBLISHED_ROWS = 949_298
NAMES = {
    "dataset": formats.dataset,
    "network": formats.network,
    "treatment": formats.treatment,
    "technique": formats.technique,
}
PAPER_FOUND = {
    "accuracy0": "ends higher too",
    "sparsity": "accuracy falls",
    "treatment": "fine-tuned ends above rewound",
    "technique": "global magnitude keeps most, random channels least",
    "network": "ResNet-18 keeps most, LeNet least",
}
"""What its coefficients add up to, where that is no single number; at 90 % sparsity and unpruned accuracy 90 %."""


def answer_sentence(found: Regression) -> str:
    """What more of the training set and more entropy do to a class, all else equal; markdown."""
    clauses = [_clause(row) for row in _rows(found, FACTS)]
    if clauses:
        return f"**All else equal, a class {'; a class '.join(clauses)}.**"
    rows = _rows(found, ("accuracy0", "sparsity"))
    why = " ".join(_absence(found, key) for key in FACTS)
    return f"**{effect_sentence(rows[0])}** {why}" if rows else f"**No effect can be told.** {why}"


def _clause(row: dict) -> str:
    sure = _give_or_take(row) + (", so it may be chance" if _may_be_zero(row) else "")
    return f"{_class_words(row)} keeps {_more(row['estimate'])} accuracy after pruning ({sure})"


def _class_words(row: dict) -> str:
    if row["key"] == "imbalance":
        return f"with {formats.number(100 * row['end'])} point more of the training set"
    if row["key"] == "entropy":
        return f"whose images hold {formats.number(row['end'])} bit more entropy"
    return f"that starts {formats.number(100 * row['end'])} point higher"


def detail_sentences(found: Regression) -> str:
    """How the answer stands beside the paper, and under which errors it may be chance; markdown."""
    s, rows = found.statistics, _rows(found, FACTS)
    runs = "1 run" if s.n_runs == 1 else f"{formats.count(s.n_runs)} runs"
    parts = [f"From {formats.count(s.n_rows)} class accuracies of {runs} and {formats.count(s.n_classes)} classes."]
    if rows:
        numbers = " and ".join(f"{_more(_published(row))} for {row['key']}" for row in rows)
        parts.append(
            f"The paper found {numbers} on {formats.count(PUBLISHED_ROWS)} class accuracies: {_agreement(rows)}."
        )
        tests = [
            f"{test.key} {'above' if test.direction > 0 else 'below'} 0, p {_p_words(test.p)}"
            for test in found.tests
            if not test.reason
        ]
        words = ERRORS[found.errors].in_words
        kind = f"errors {words}" if " " in words else f"{words} errors"
        parts.append(f"Tested one-sided as there ({kind}): {'; '.join(tests)}.")
    doubts = [text for row in rows if (text := _doubts(found, row))]
    if doubts:
        parts.append(f"**It may be chance, though**: {'; '.join(doubts)}.")
    parts += [text for key in FACTS if rows and (text := _absence(found, key))]
    return " ".join(parts)


def _doubts(found: Regression, row: dict) -> str:
    """The errors with which an effect may be chance, although it is not with the chosen ones."""
    kinds = [
        f"{ERRORS[kind].in_words} ({_give_or_take(other)})"
        for kind, other in _other_errors(found, row).items()
        if not _may_be_zero(row) and _may_be_zero(other) and np.isfinite(other["low"])
    ]
    return f"{row['key']} with errors {' or '.join(kinds)}" if kinds else ""


def _p_words(p: float) -> str:
    text = formats.p_value(p)
    return text if text.startswith("<") else f"= {text}"


def _agreement(rows: Sequence[dict]) -> str:
    other = [row["key"] for row in rows if row["estimate"] * _published(row) < 0]
    if not other:
        return "the same direction" if len(rows) == 1 else "the same directions"
    return "the opposite direction" if len(other) == len(rows) else f"the opposite direction for {other[0]}"


def _published(row: dict) -> float:
    return float((TERMS[row["key"]].published or np.nan) * row["end"])


def _absence(found: Regression, key: str) -> str:
    """Why a fact about classes is not in the model; empty where it is."""
    if _rows(found, (key,)):
        return ""
    reason = next((out.reason for out in found.left_out if out.what == key), "it was not asked for")
    return f"{FACTORS[key].label.capitalize()} is not in the model: {formats.plain(reason)}."


def _rows(found: Regression, keys: Sequence[str]) -> list[dict]:
    """The effects of these keys with the chosen errors."""
    rows = found.effects[found.effects["errors"] == found.errors].to_dict("records")
    return [row for key in keys for row in rows if row["key"] == key]


def _other_errors(found: Regression, row: dict) -> dict[str, dict]:
    rows = found.effects[(found.effects["key"] == row["key"]) & (found.effects["errors"] != found.errors)]
    return {str(other["errors"]): other for other in rows.to_dict("records")}


def _more(change: float) -> str:
    return f"{formats.points_in_words(change)} {'more' if change >= 0 else 'less'}"


def _give_or_take(row: dict) -> str:
    return formats.plus_minus(row["low"], row["high"]) or "± unknown"


def _may_be_zero(row: dict) -> bool:
    return not (row["low"] > 0 or row["high"] < 0)


def effect_sentence(row: dict) -> str:
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


def effect_table(found: Regression) -> pd.DataFrame:
    """Every effect in words with its half intervals in points and what the paper found; markdown."""
    lines = []
    for row in found.effects[found.effects["errors"] == found.errors].to_dict("records"):
        others = _other_errors(found, row) | {found.errors: row}
        halves = {f"± {ERRORS[kind].label}": _half(others[kind]) for kind in ("hac", "run", "class")}
        lines.append({"All else equal, on average": effect_sentence(row), **halves, "In the paper": _paper_words(row)})
    return pd.DataFrame(lines)


def _half(row: dict) -> str:
    text = formats.plus_minus(row["low"], row["high"]).removeprefix("± ") or formats.MISSING
    return f"*{text}*" if _may_be_zero(row) else text


def _paper_words(row: dict) -> str:
    if row["key"] not in FACTS:
        return PAPER_FOUND[row["key"]]
    half = 1.96 * (TERMS[row["key"]].published_se or np.nan) * row["end"]
    return f"{_more(_published(row))} (± {100 * half:.2f})"


def left_out_sentences(found: Regression) -> list[str]:
    """What the fit goes without and why: rows, then terms, then cross terms of those, then columns."""
    rows = [f"{formats.count(out.n_rows)} rows are left out: {out.reason}." for out in found.left_out if out.n_rows]
    terms = [out for out in found.left_out if out.what in TERMS]
    single = [f"{TERMS[out.what].label} ({out.reason})" for out in terms if len(TERMS[out.what].factors) == 1]
    crossed = [TERMS[out.what].label for out in terms if len(TERMS[out.what].factors) > 1]
    if single:
        with_them = f", and with that {', '.join(crossed)}" if crossed else ""
        rows.append(f"Not in the fit: {', '.join(single)}{with_them}.")
    columns: dict[str, list[LeftOut]] = {}
    for out in found.left_out:
        if not out.n_rows and out.what not in TERMS:
            columns.setdefault(out.term, []).append(out)
    return rows + [_column_sentence(term, outs) for term, outs in columns.items()]


def _column_sentence(term: str, outs: Sequence[LeftOut]) -> str:
    first = f"{column_label(outs[0].what, term)}: {outs[0].reason}"
    if len(outs) == 1:
        return f"Not in the fit: {first}."
    return f"Not in the fit: {len(outs)} columns of {TERMS[term].label} that repeat others, such as {first}."


def column_label(column: str, term: str) -> str:
    """A column's name for people: "exp(sparsity) × Channels by L1"."""
    if term not in TERMS:
        return column
    factors = [FACTORS[key] for key in TERMS[term].factors]
    pattern = ":".join(rf"{f.key}\[T\.(.*)\]" if f.is_category else f"({re.escape(f.text)})" for f in factors)
    match = re.fullmatch(pattern, column, re.DOTALL)
    if match is None:
        return column
    words = [
        NAMES.get(factor.key, str)(value) if factor.is_category else factor.label
        for factor, value in zip(factors, match.groups(), strict=True)
    ]
    return " × ".join(words)


def reference_sentence(found: Regression) -> str:
    """What the categories are compared with."""
    names = [f"{FACTORS[key].label} with {NAMES.get(key, str)(value)}" for key, value in found.references.items()]
    return f"Compared: {', '.join(names)}." if names else ""


def chart_caption(found: Regression, standardised: bool) -> str:
    """How to read the chart of coefficients; markdown."""
    parts = ["Hollow: the interval includes 0.", formats.plain(reference_sentence(found))]
    if found.link == "linear" and not standardised:
        parts.append(
            "The paper's coefficients of exp\\(sparsity\\) and unpruned accuracy hold for its own references: "
            "CIFAR-10, global magnitude, fine-tuned."
        )
    return " ".join(part for part in parts if part)


def coefficient_table(found: Regression, errors: str, groups: Sequence[str], standardised: bool) -> pd.DataFrame:
    """Coefficients of these groups as the chart draws them: label, group, coefficient, low, high, text, published."""
    rows = found.with_errors(errors)
    rows = rows[rows["group"].isin(groups)].copy()
    rows["label"] = [column_label(*pair) for pair in zip(rows["column"], rows["term"], strict=True)]
    rows["text"] = [_coefficient_text(row) for row in rows.to_dict("records")]
    comparable = found.link == "linear" and not standardised
    published = [TERMS[term].published for term in rows["term"]]
    rows["published"] = pd.Series(published if comparable else np.nan, rows.index, dtype=float)
    if standardised:
        rows[["coefficient", "low", "high"]] = rows[["coefficient", "low", "high"]].mul(rows["spread"], axis=0)
    place = {group: number for number, group in enumerate(GROUPS)}
    return rows.sort_values("group", key=lambda column: column.map(place), kind="stable").reset_index(drop=True)


def _coefficient_text(row: dict) -> str:
    return (
        f"<b>{formats.chart_text(row['label'])}</b><br>coefficient {formats.number(row['coefficient'], 4)}"
        f"<br>95 %: {formats.number(row['low'], 4)} to {formats.number(row['high'], 4)}"
        f"<br>p {formats.p_value(row['p'])}<br>standard deviation of the column {formats.number(row['spread'])}"
    )


def groups_of(found: Regression) -> dict[str, int]:
    """How many coefficients each group has, in the order of GROUPS."""
    counts = found.with_errors(found.errors)["group"].value_counts()
    return {group: int(counts[group]) for group in GROUPS if group in counts}


def first_groups(counts: dict[str, int]) -> list[str]:
    """As many groups as one chart has room for."""
    shown: list[str] = []
    rows = 0
    for group, n in counts.items():
        rows += n + 1
        if shown and rows > MOST_ROWS:
            break
        shown.append(group)
    return shown


def coefficient_csv(found: Regression) -> pd.DataFrame:
    """All coefficients with errors of every kind, for download."""
    return found.coefficients.drop(columns="group").assign(intercept=found.coefficients["column"] == INTERCEPT)


def figures(found: Regression) -> list[tuple[str, str, str]]:
    """Label, number and help of the figures on top."""
    s = found.statistics
    linear = found.link == "linear"
    squared = formats.fixed(s.adjusted_r_squared if linear else s.r_squared)
    return [
        ("Class accuracies", formats.count(s.n_rows), "Rows: one for each pruned network and class."),
        ("Runs", formats.count(s.n_runs), "The rows of one run share a network and are not independent."),
        ("Classes", formats.count(s.n_classes), "Of all data sets together."),
        ("Coefficients", formats.count(s.n_columns), "With the intercept."),
        (
            "Adjusted R²" if linear else "Pseudo R²",
            squared,
            "Share of the spread that the fit explains. The paper: 0.753." if linear else "Cox and Snell's.",
        ),
    ]


@dataclass(frozen=True)
class Asked:
    """What the page was asked for."""

    experiment: Experiment
    scope: str
    without: tuple[str, ...]
    """Techniques and treatments that are switched off."""
    model: str
    terms: tuple[str, ...]
    link: str
    errors: str


def command(study: str, asked: Asked) -> str:
    """The command that prints the same."""
    words = ["python", "-m", "engine", "regression", "--study", study]
    for name in SAME[asked.scope]:
        words += ["--only", f"{name}={getattr(asked.experiment, name)}"]
    for value in asked.without:
        words += ["--without", value]
    if asked.model != "paper":
        words += ["--terms", "plain" if asked.model == "plain" else ",".join(asked.terms)]
    words += ["--link", asked.link] if asked.link != "linear" else []
    words += ["--errors", asked.errors] if asked.errors != "hac" else []
    return shlex.join(words)
