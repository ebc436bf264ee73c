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
from engine.analysis.regression.design_columns import Layout, layout
from engine.analysis.regression.effects import Setting, effects
from engine.analysis.regression.fits import ERRORS, Fit, linear_fit, logit_fit
from engine.analysis.regression.population import LeftOut, Population
from engine.analysis.regression.result import FitParts, Regression, record, references
from engine.analysis.regression.terms import PAPER, TERMS, checked_terms, formula, known_rows, varying_terms
from engine.errors import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

LINKS = {"linear": "Linear (OLS)", "logit": "Fractional logit (GLM)"}


@dataclass(frozen=True, eq=False)
class Model:
    """A fit of terms, with its rows and columns."""

    fit: Fit
    layout: Layout
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
    fit, columns, table = model.fit, model.layout, model.table
    runs = table[~table["run"].duplicated().to_numpy()]
    condition, inverse = _conditioning(model.upper)
    results = {kind: fit.results(kind) for kind in ERRORS}
    used = {column.term for column in columns.columns}
    return record(
        FitParts(
            fit,
            results,
            formula([key for key in TERMS if key in used]),
            link,
            errors,
            condition,
            model.left_out,
            [
                *cautions.size_cautions(*fit.design.shape, n_runs=fit.n_clusters("run")),
                *cautions.class_cautions(columns, len(table), fit.n_clusters("class")),
                *cautions.confounding_cautions(columns, table, inverse),
                *cautions.crossing_cautions(columns, runs),
                *cautions.setup_cautions(columns, runs),
            ],
            columns,
            references(columns, table),
            effects(Setting(fit, columns, table), results),
        )
    )


def fitted_model(population: Population, keys: Sequence[str] = PAPER, link: str = "linear") -> Model:
    """The fit alone, from which `fit.results(errors)` gives statsmodels' results."""
    wanted = checked_terms(keys)
    table, unknown, missing = known_rows(population.table, wanted)
    nowhere = {out.what for out in unknown}
    varying, still = varying_terms(table, [key for key in wanted if key not in nowhere])
    columns = layout(table, varying)
    design, y = columns.design(table), table["accuracy"].to_numpy()
    upper = _checked_triangle(design, y)
    repeats = dependent_columns(upper[:-1, :-1])
    repeated = tuple(
        LeftOut(design.names[place], _repeats(design, parts), term=columns.columns[place].term)
        for place, parts in repeats.items()
    )
    if repeats:
        keep = [place for place in range(len(design.names)) if place not in repeats]
        design, columns = design.only(keep), columns.only(keep)
        upper = r_factor(upper[:, [*keep, len(upper) - 1]])
    fit = linear_fit(design, y, upper) if link == "linear" else logit_fit(design, y)
    left_out = population.left_out + missing + unknown + still + repeated
    return Model(replace(fit, clusters=_clusters(table)), columns, table, upper, left_out)


def formula_regression(population: Population, text: str, link: str = "linear", errors: str = "hac") -> Regression:
    """The regression of a formula of statsmodels, such as "accuracy ~ sparsity + imbalance".

    A formula may call any function: it is for people at their own command line, never for input from elsewhere.
    """
    rows = population.table.replace([np.inf, -np.inf], np.nan)
    model = _formula_model(text, rows)
    table = rows.loc[model.data.row_labels]
    design, y = dense_design(model.exog_names, np.ascontiguousarray(model.exog)), np.asarray(model.endog, float)
    _check_finite(text, {str(model.endog_names): y, **dict(zip(design.names, design.numeric.T, strict=True))})
    upper = _checked_triangle(design, y)
    repeats = dependent_columns(upper[:-1, :-1])
    if repeats:
        place, parts = next(iter(repeats.items()))
        why = _repeats(design, parts)
        raise PruneScopeError(f"The formula's column {design.names[place]} cannot be fitted: {why}. Leave it out.")
    names = str(model.endog_names), model.data.const_idx
    fit = linear_fit(design, y, upper, *names) if link == "linear" else logit_fit(design, y, *names)
    fit = replace(fit, clusters=_clusters(table))
    n_missing = len(rows) - len(table)
    missing = (LeftOut("rows", "a number of the formula is missing or infinite", n_missing),) if n_missing else ()
    warned = cautions.size_cautions(*fit.design.shape, n_runs=fit.n_clusters("run"))
    results = {kind: fit.results(kind) for kind in ERRORS}
    left_out = population.left_out + missing
    return record(FitParts(fit, results, text, link, errors, _conditioning(upper)[0], left_out, warned))


def _formula_model(text: str, table: pd.DataFrame) -> Any:
    from statsmodels.formula.api import ols

    try:
        return ols(text, table)
    except Exception as error:  # whatever the formula's code raises
        columns = ", ".join(map(str, table.columns))
        why = str(error).strip().partition("\n")[0]
        raise PruneScopeError(f"The formula {text!r} cannot be used: {why}. Columns are {columns}.") from error


def _check_finite(text: str, columns: dict[str, Floats]) -> None:
    for name, values in columns.items():
        n_bad = int((~np.isfinite(values)).sum())
        if n_bad:
            raise PruneScopeError(f"The formula {text!r} cannot be used: {name} is not finite in {n_bad} rows.")


def _checked_triangle(design: Design, y: Floats) -> Floats:
    """The triangle of [X y], refused where there is nothing to fit."""
    n_rows, n_columns = design.shape
    if n_rows <= n_columns:
        raise PruneScopeError(f"{n_rows} rows cannot carry {n_columns} coefficients: choose fewer terms.")
    if np.ptp(y) == 0:
        raise PruneScopeError(f"Every class accuracy is {y[0]:g}: there is nothing to explain.")
    return triangle(design, y)


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


def _conditioning(upper: Floats) -> tuple[float, Floats]:
    """Condition number of X as statsmodels has it, and the inverse of X'X, from the triangle of [X y]."""
    square = upper[:-1, :-1]
    sizes = np.linalg.svd(square, compute_uv=False)
    root = solve_triangular(square, np.eye(len(square)))
    return float(sizes[0] / sizes[-1]), root @ root.T
