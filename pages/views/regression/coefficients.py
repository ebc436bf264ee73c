"""The coefficients of a regression: names, groups, tables, and what the fit goes without."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.regression.design_columns import INTERCEPT
from engine.analysis.regression.population import LeftOut
from engine.analysis.regression.result import Regression
from engine.analysis.regression.terms import FACTORS, TERMS
from pages.shared import formats
from pages.shared.names import dataset_name, network_name, technique_name, treatment_name
from pages.views.regression.charts import MOST_ROWS

GROUPS = ("Class", "Unpruned accuracy", "Sparsity", "Treatment", "Technique", "Data set", "Network", "Setup")
"""Headings of the coefficients, what the page is about first."""

NAMES = {
    "dataset": dataset_name,
    "network": network_name,
    "treatment": treatment_name,
    "technique": technique_name,
}


def left_out_sentences(regression: Regression) -> list[str]:
    """What the fit goes without and why: rows, then terms, then cross terms of those, then columns."""
    rows = [
        f"{formats.count(out.n_rows)} rows are left out: {out.reason}." for out in regression.left_out if out.n_rows
    ]
    terms = [out for out in regression.left_out if out.name in TERMS]
    single = [f"{TERMS[out.name].label} ({out.reason})" for out in terms if len(TERMS[out.name].factors) == 1]
    crossed = [TERMS[out.name].label for out in terms if len(TERMS[out.name].factors) > 1]
    if single:
        with_them = f", and with that {', '.join(crossed)}" if crossed else ""
        rows.append(f"Not in the fit: {', '.join(single)}{with_them}.")
    columns: dict[str, list[LeftOut]] = {}
    for out in regression.left_out:
        if not out.n_rows and out.name not in TERMS:
            columns.setdefault(out.term, []).append(out)
    return rows + [_column_sentence(term, outs) for term, outs in columns.items()]


def _column_sentence(term: str, outs: Sequence[LeftOut]) -> str:
    first = f"{column_label(outs[0].name, term)}: {outs[0].reason}"
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


def reference_sentence(regression: Regression) -> str:
    """What the categories are compared with."""
    names = [f"{FACTORS[key].label} with {NAMES.get(key, str)(value)}" for key, value in regression.references.items()]
    return f"Compared: {', '.join(names)}." if names else ""


def chart_caption(regression: Regression, standardised: bool) -> str:
    """How to read the chart of coefficients; markdown."""
    parts = ["Hollow: the interval includes 0.", formats.plain(reference_sentence(regression))]
    if regression.link == "linear" and not standardised:
        parts.append(
            "The paper's coefficients of exp\\(sparsity\\) and unpruned accuracy hold for its own references: "
            "CIFAR-10, global magnitude, fine-tuned."
        )
    return " ".join(part for part in parts if part)


def coefficient_table(regression: Regression, errors: str, groups: Sequence[str], standardised: bool) -> pd.DataFrame:
    """Coefficients of these groups as the chart draws them: label, group, coefficient, low, high, text, published."""
    rows = regression.with_errors(errors)
    rows = rows[rows["group"].isin(groups)].copy()
    rows["label"] = [column_label(*pair) for pair in zip(rows["column"], rows["term"], strict=True)]
    rows["text"] = [_coefficient_text(row) for row in rows.to_dict("records")]
    comparable = regression.link == "linear" and not standardised
    published = [TERMS[term].published for term in rows["term"]]
    rows["published"] = pd.Series(published if comparable else np.nan, rows.index, dtype=float)
    if standardised:
        rows[["coefficient", "low", "high"]] = rows[["coefficient", "low", "high"]].mul(rows["spread"], axis=0)
    place = {group: number for number, group in enumerate(GROUPS)}
    return rows.sort_values("group", key=lambda column: column.map(place), kind="stable").reset_index(drop=True)


def _coefficient_text(row: dict[str, Any]) -> str:
    return (
        f"<b>{formats.chart_text(row['label'])}</b><br>coefficient {formats.number(row['coefficient'], 4)}"
        f"<br>95 %: {formats.number(row['low'], 4)} to {formats.number(row['high'], 4)}"
        f"<br>p {formats.p_value(row['p'])}<br>standard deviation of the column {formats.number(row['spread'])}"
    )


def groups_of(regression: Regression) -> dict[str, int]:
    """How many coefficients each group has, in the order of GROUPS."""
    counts = regression.with_errors(regression.errors)["group"].value_counts()
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


def coefficient_csv(regression: Regression) -> pd.DataFrame:
    """All coefficients with errors of every kind, for download."""
    return regression.coefficients.drop(columns="group").assign(
        intercept=regression.coefficients["column"] == INTERCEPT
    )


def figures(regression: Regression) -> list[tuple[str, str, str]]:
    """Label, number and help of the figures on top."""
    s = regression.statistics
    linear = regression.link == "linear"
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
