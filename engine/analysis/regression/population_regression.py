"""Which classes does pruning hurt, controlling for the rest: Paganini's regression over a population of networks.

Paganini 2020, Eq. 2 and Appendix D: class accuracy on sparsity, the class's own start, its share of the training set,
the entropy of its images, data set, network, treatment and technique. The classes of one run share a network and are
not independent; HAC errors see only neighbouring rows, so errors by run (and by class) stand beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from engine.analysis.regression import cautions
from engine.analysis.regression.block_design import Design, dense_design, dependent_columns, r_factor, triangle
from engine.analysis.regression.class_evidence import informing_classes, wild_rows, without_each_class
from engine.analysis.regression.design_columns import Layout, layout
from engine.analysis.regression.effects import Setting, changes, effect_rows
from engine.analysis.regression.goodness import statistics
from engine.analysis.regression.least_squares import Fit, linear_fit, logit_fit
from engine.analysis.regression.population import LeftOut, Population
from engine.analysis.regression.residuals import residual_bins
from engine.analysis.regression.result import (
    DIRECTIONS,
    Regression,
    coefficient_rows,
    effect_per_unit,
    lone_coefficient,
    one_sided_test,
    references,
)
from engine.analysis.regression.standard_errors import all_estimates
from engine.analysis.regression.terms import PAPER, TERMS, checked_terms, formula, known_rows, varying_terms
from engine.errors import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NO_TERMS = Layout((), ())
"""Of a formula, whose columns come from no term."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fit of terms, or of a formula, with its rows and columns."""

    formula: str
    fit: Fit
    layout: Layout
    """NO_TERMS for a formula."""
    table: pd.DataFrame
    upper: Floats
    """Triangle of [X y]."""
    left_out: tuple[LeftOut, ...]


def regression(
    population: Population, keys: Sequence[str] = PAPER, link: str = "linear", errors: str = "hac"
) -> Regression:
    """The regression with these terms (keys of TERMS), link (of LINKS) and errors (of ERRORS).

    A term that does not vary and a column that repeats others are left out, and said.
    """
    model = fitted_model(population, keys, link)
    result = _result(model, errors)
    columns, table = model.layout, model.table
    runs = table[~table["run"].duplicated().to_numpy()]
    about_terms = (
        *cautions.class_cautions(columns, len(table), model.fit.n_clusters("class")),
        *cautions.confounding_cautions(columns, table, _inverse(model.upper)),
        *cautions.crossing_cautions(columns, runs),
        *cautions.setup_cautions(columns, runs),
    )
    return replace(result, cautions=(*_size_cautions(model.fit), *about_terms, *result.cautions))


def fitted_model(population: Population, keys: Sequence[str] = PAPER, link: str = "linear") -> FittedModel:
    """The fit alone, from which `estimates` gives the coefficients with errors of any kind."""
    wanted = checked_terms(keys)
    table, unknown, missing = known_rows(population.table, wanted)
    nowhere = {out.name for out in unknown}
    varying, constant = varying_terms(table, [key for key in wanted if key not in nowhere])
    columns = layout(table, varying)
    design, observed = columns.design(table), table["accuracy"].to_numpy()
    upper = _checked_triangle(design, observed)
    repeats = dependent_columns(upper[:-1, :-1])
    repeated = tuple(
        LeftOut(design.names[place], _repeats(design, parts), term=columns.columns[place].term)
        for place, parts in repeats.items()
    )
    if repeats:
        keep = [place for place in range(len(design.names)) if place not in repeats]
        design, columns = design.only(keep), columns.only(keep)
        upper = r_factor(upper[:, [*keep, len(upper) - 1]])
    fit = linear_fit(design, observed, upper) if link == "linear" else logit_fit(design, observed)
    fit = replace(fit, clusters=_clusters(table))
    used = {column.term for column in columns.columns}
    text = formula([key for key in TERMS if key in used])
    left_out = population.left_out + missing + unknown + constant + repeated
    return FittedModel(text, fit, columns, table, upper, left_out)


def formula_regression(population: Population, text: str, link: str = "linear", errors: str = "hac") -> Regression:
    """The regression of a formula of statsmodels, such as "accuracy ~ sparsity + imbalance".

    A formula may call any function: it is for people at their own command line, never for input from elsewhere.
    """
    rows = population.table.replace([np.inf, -np.inf], np.nan)
    parsed = _parsed_formula(text, rows)
    table = rows.loc[parsed.data.row_labels]
    design, observed = (
        dense_design(parsed.exog_names, np.ascontiguousarray(parsed.exog)),
        np.asarray(parsed.endog, float),
    )
    _check_finite(text, {str(parsed.endog_names): observed, **dict(zip(design.names, design.numeric.T, strict=True))})
    upper = _checked_triangle(design, observed)
    repeats = dependent_columns(upper[:-1, :-1])
    if repeats:
        place, parts = next(iter(repeats.items()))
        reason = _repeats(design, parts)
        raise PruneScopeError(f"The formula's column {design.names[place]} cannot be fitted: {reason}. Leave it out.")
    constant = parsed.data.const_idx
    fit = linear_fit(design, observed, upper, constant) if link == "linear" else logit_fit(design, observed, constant)
    fit = replace(fit, clusters=_clusters(table))
    n_missing = len(rows) - len(table)
    missing = (LeftOut("rows", "a number of the formula is missing or infinite", n_missing),) if n_missing else ()
    result = _result(FittedModel(text, fit, NO_TERMS, table, upper, population.left_out + missing), errors)
    return replace(result, cautions=(*_size_cautions(fit), *result.cautions))


def _result(model: FittedModel, errors: str) -> Regression:
    """What the fit says in numbers, with cautions about its shape only."""
    fit, columns = model.fit, model.layout.columns
    estimates = all_estimates(fit)
    chosen = estimates[errors]
    changed = changes(Setting(fit, model.layout, model.table)) if columns else []
    about = pd.concat([effect_rows(changed, estimates), wild_rows(fit, changed)], ignore_index=True)
    slopes = {
        key: effect_per_unit(about, key, errors) if columns else lone_coefficient(fit, key, chosen)
        for key in DIRECTIONS
    }
    condition = _condition(model.upper)
    residuals = residual_bins(fit.observed, fit.fitted)
    return Regression(
        formula=model.formula,
        link=fit.link,
        errors=errors,
        coefficients=coefficient_rows(fit, [column.term for column in columns] or fit.design.names, estimates),
        degrees=chosen.degrees,
        references=references(model.layout, model.table),
        statistics=statistics(fit, chosen, condition),
        tests=tuple(one_sided_test(key, *slope, chosen.degrees) for key, slope in slopes.items()),
        effects=about,
        residuals=residuals,
        left_out=model.left_out,
        cautions=tuple(cautions.shape_cautions(condition, residuals, len(fit.observed))),
        no_errors={kind: result.reason for kind, result in estimates.items() if result.reason},
        without_class=without_each_class(fit, [change for change in changed if change.key in DIRECTIONS], model.table),
        informing={key: informing_classes(model.table, key) for key in DIRECTIONS if key in model.layout.factors},
    )


def _size_cautions(fit: Fit) -> list[str]:
    return cautions.size_cautions(*fit.design.shape, n_runs=fit.n_clusters("run"))


def _parsed_formula(text: str, table: pd.DataFrame) -> Any:
    """statsmodels' model of a formula, which is not fitted."""
    from statsmodels.formula.api import ols

    try:
        return ols(text, table)
    except Exception as error:  # whatever the formula's code raises
        columns = ", ".join(map(str, table.columns))
        reason = str(error).strip().partition("\n")[0]
        raise PruneScopeError(f"The formula {text!r} cannot be used: {reason}. Columns are {columns}.") from error


def _check_finite(text: str, columns: dict[str, Floats]) -> None:
    for name, values in columns.items():
        n_bad = int((~np.isfinite(values)).sum())
        if n_bad:
            raise PruneScopeError(f"The formula {text!r} cannot be used: {name} is not finite in {n_bad} rows.")


def _checked_triangle(design: Design, observed: Floats) -> Floats:
    """The triangle of [X y], refused where there is nothing to fit."""
    n_rows, n_columns = design.shape
    if n_rows <= n_columns:
        raise PruneScopeError(f"{n_rows} rows cannot carry {n_columns} coefficients: choose fewer terms.")
    if np.ptp(observed) == 0:
        raise PruneScopeError(f"Every class accuracy is {observed[0]:g}: there is nothing to explain.")
    return triangle(design, observed)


def _repeats(design: Design, parts: list[int]) -> str:
    """Why a column adds nothing to those before it."""
    if not parts:
        return "it is 0 in all rows"
    names = [design.names[place] for place in parts]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"it is a combination of {shown}"


def _clusters(table: pd.DataFrame) -> dict[str, Ints]:
    """Run and class of each row, as numbers."""
    codes = np.zeros(len(table), np.int64)
    for column in ("dataset", "split", "class"):
        if column in table:
            code = pd.factorize(table[column])[0]
            codes = codes * (code.max() + 1) + code
    return {"run": pd.factorize(table["run"])[0], "class": pd.factorize(codes)[0]}


def _condition(upper: Floats) -> float:
    """Condition number of X as statsmodels has it, from the triangle of [X y]."""
    sizes = np.linalg.svd(upper[:-1, :-1], compute_uv=False)
    return float(sizes[0] / sizes[-1])


def _inverse(upper: Floats) -> Floats:
    """Inverse of X'X, from the triangle of [X y]."""
    root = solve_triangular(upper[:-1, :-1], np.eye(len(upper) - 1))
    return np.asarray(root @ root.T)
