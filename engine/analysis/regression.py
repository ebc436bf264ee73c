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
from scipy.special import stdtr
from statsmodels.stats.stattools import durbin_watson

from engine.analysis import cautions, terms
from engine.analysis.design import Design, dense_design, dependent_columns, r_factor, triangle
from engine.analysis.effects import Setting, degrees, effects
from engine.analysis.fits import ERRORS, Fit, linear_fit, logit_fit
from engine.analysis.population import LeftOut, Population
from engine.analysis.residuals import Residuals, residual_bins
from engine.analysis.terms import FACTORS, PAPER, TERMS, Layout
from engine.records import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

LINKS = {"linear": "Linear (OLS)", "logit": "Fractional logit (GLM)"}
DIRECTIONS = {"imbalance": 1, "entropy": -1}
"""The paper's alternatives: more of the training set helps, more entropy hurts."""


@dataclass(frozen=True)
class Statistics:
    """How well the fit does as a whole."""

    n_rows: int
    n_runs: int
    n_classes: int
    """Classes of all data sets."""
    n_columns: int
    df_residuals: float
    r_squared: float
    """In the logit Cox and Snell's."""
    adjusted_r_squared: float
    """NaN in the logit."""
    f: float
    """Wald's, with the chosen errors; NaN in the logit and where the clusters are too few for it."""
    f_p: float
    log_likelihood: float
    aic: float
    bic: float
    condition: float
    durbin_watson: float


@dataclass(frozen=True)
class OneSidedTest:
    """Is the mean effect of a fact about classes above (direction 1) or below (-1) zero?"""

    key: str
    direction: int
    estimate: float
    """Change of class accuracy per unit; without cross terms of the fact this is its coefficient."""
    se: float
    t: float
    p: float
    published: float
    """The paper's coefficient."""
    published_se: float
    reason: str = ""
    """Why there is no test."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A fit in numbers; it holds no row of the population."""

    formula: str
    link: str
    errors: str
    coefficients: pd.DataFrame
    """One row per column and kind of errors: column, term, group, spread (standard deviation of the column), errors,
    coefficient, se, t, p, low, high (95 %)."""
    references: dict[str, str]
    """Category that the others are compared with, by factor."""
    statistics: Statistics
    tests: tuple[OneSidedTest, ...]
    effects: pd.DataFrame
    """See `effects.effects`; empty for a formula."""
    residuals: Residuals
    left_out: tuple[LeftOut, ...]
    cautions: tuple[str, ...]
    no_errors: dict[str, str]
    """Kinds of errors that cannot be had, and why."""
    summary: str
    """The table as statsmodels prints it, with the chosen errors."""

    def with_errors(self, errors: str) -> pd.DataFrame:
        """The coefficients with one kind of errors."""
        return self.coefficients[self.coefficients["errors"] == errors].reset_index(drop=True)


def regression(
    population: Population, keys: Sequence[str] = PAPER, link: str = "linear", errors: str = "hac"
) -> Regression:
    """The regression with these terms (keys of TERMS); a column that does not vary or repeats others is left out, and said.

    `link` is a key of LINKS, `errors` one of ERRORS.
    """
    table, layout, left_out = prepared(population, keys)
    fit, layout, triangular, repeated = fitted(table, layout, link)
    text = terms.formula([key for key in TERMS if any(column.term == key for column in layout.columns)])
    made = _Made(fit, table, population.left_out + left_out + repeated, text, link, errors)
    results = {kind: fit.results(kind) for kind in ERRORS}
    condition, inverse = _conditioning(triangular)
    warned = [
        *cautions.size_cautions(*fit.design.shape, n_runs=_n_values(fit, "run")),
        *cautions.class_cautions(layout, len(table), _n_values(fit, "class")),
        *cautions.confounding_cautions(layout, table, inverse),
        *cautions.setup_cautions(layout, table),
    ]
    moved = effects(Setting(fit, layout, table), results)
    return _record(made, results, layout, condition, warned, moved)


def prepared(population: Population, keys: Sequence[str]) -> tuple[pd.DataFrame, Layout, tuple[LeftOut, ...]]:
    """Rows with every number that the terms need, the columns of the terms that vary, and what was left out."""
    wanted = terms.checked_terms(keys)
    table, unknown, missing = _known_rows(population.table, wanted)
    varying, still = terms.varying_terms(table, [key for key in wanted if key not in {out.what for out in unknown}])
    return table, terms.layout(table, varying), missing + unknown + still


def fitted(table: pd.DataFrame, layout: Layout, link: str) -> tuple[Fit, Layout, Floats, tuple[LeftOut, ...]]:
    """The fit, its columns, the triangle of [X y], and the columns that were left out because they repeat others."""
    y = table["accuracy"].to_numpy()
    design = layout.design(table)
    _check_size(design, y)
    upper = triangle(design, y)
    repeats = dependent_columns(upper[:-1, :-1])
    left_out = tuple(LeftOut(design.names[place], _repeats(design, parts)) for place, parts in repeats.items())
    keep = [place for place in range(len(design.names)) if place not in repeats]
    if repeats:
        design, layout = design.only(keep), layout.only(keep)
        upper = r_factor(upper[:, [*keep, len(upper) - 1]])
    fit = linear_fit(design, y, upper) if link == "linear" else logit_fit(design, y)
    return replace(fit, clusters=_clusters(table)), layout, upper, left_out


def formula_regression(population: Population, formula: str, link: str = "linear", errors: str = "hac") -> Regression:
    """The regression of a formula of statsmodels, such as "accuracy ~ sparsity + imbalance".

    The formula may call any function: it is for people at their own command line, never for input from elsewhere.
    """
    rows = population.table.replace([np.inf, -np.inf], np.nan)
    model = _formula_model(formula, rows)
    table = rows.loc[model.data.row_labels]
    design, y = dense_design(model.exog_names, np.ascontiguousarray(model.exog)), np.asarray(model.endog, float)
    _check_size(design, y)
    upper = triangle(design, y)
    repeats = dependent_columns(upper[:-1, :-1])
    if repeats:
        place, parts = next(iter(repeats.items()))
        raise PruneScopeError(f"The formula's column {design.names[place]} {_repeats(design, parts)}; leave it out.")
    constant = model.data.const_idx
    name = str(model.endog_names)
    fit = linear_fit(design, y, upper, name, constant) if link == "linear" else logit_fit(design, y, name, constant)
    fit = replace(fit, clusters=_clusters(table))
    n_missing = len(rows) - len(table)
    missing = (LeftOut("rows", "a number of the formula is missing or infinite", n_missing),) if n_missing else ()
    warned = cautions.size_cautions(*fit.design.shape, n_runs=_n_values(fit, "run"))
    made = _Made(fit, table, population.left_out + missing, formula, link, errors)
    results = {kind: fit.results(kind) for kind in ERRORS}
    return _record(made, results, None, _conditioning(upper)[0], warned, pd.DataFrame())


def _formula_model(formula: str, table: pd.DataFrame) -> Any:
    from statsmodels.formula.api import ols

    try:
        return ols(formula, table)
    except Exception as error:  # whatever a formula's code raises
        columns = ", ".join(map(str, table.columns))
        raise PruneScopeError(f"The formula {formula!r} cannot be used: {error}. Columns are {columns}.") from error


@dataclass(frozen=True, eq=False)
class _Made:
    """A fit, its rows and what was asked for."""

    fit: Fit
    table: pd.DataFrame
    left_out: tuple[LeftOut, ...]
    formula: str
    link: str
    errors: str


def _record(
    made: _Made,
    results: dict[str, Any],
    layout: Layout | None,
    condition: float,
    warned: Sequence[str],
    moved: pd.DataFrame,
) -> Regression:
    fit, chosen = made.fit, results[made.errors]
    observed = np.asarray(fit.model.endog)
    residuals = residual_bins(observed, fit.fitted)
    shape = cautions.shape_cautions(condition, residuals.n_outside, len(observed))
    return Regression(
        formula=made.formula,
        link=made.link,
        errors=made.errors,
        coefficients=_coefficients(fit.design, results, layout),
        references={f: str(made.table[f].cat.categories[0]) for f in _categories(layout)},
        statistics=_statistics(fit, chosen, condition),
        tests=tuple(_tests(fit, chosen, moved, made.errors)),
        effects=moved,
        residuals=residuals,
        left_out=made.left_out,
        cautions=(*warned, *shape),
        no_errors={kind: fit.reason(kind) for kind in results if fit.reason(kind)},
        summary=str(chosen.summary()),
    )


def _coefficients(design: Design, results: dict[str, Any], layout: Layout | None) -> pd.DataFrame:
    of = [column.term for column in layout.columns] if layout else list(design.names)
    spread = design.spreads()
    parts = []
    for kind, result in results.items():
        low, high = np.asarray(result.conf_int()).T
        columns = {
            "column": design.names,
            "term": of,
            "group": [TERMS[term].group if term in TERMS else "" for term in of],
            "spread": spread,
            "errors": kind,
            "coefficient": result.params,
            "se": result.bse,
            "t": result.tvalues,
            "p": result.pvalues,
            "low": low,
            "high": high,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _categories(layout: Layout | None) -> list[str]:
    return [key for key, factor in FACTORS.items() if layout and factor.is_category and key in layout.factors]


def _statistics(fit: Fit, result: Any, condition: float) -> Statistics:
    linear = hasattr(result, "rsquared")
    return Statistics(
        n_rows=fit.design.shape[0],
        n_runs=_n_values(fit, "run"),
        n_classes=_n_values(fit, "class"),
        n_columns=fit.design.shape[1],
        df_residuals=float(result.df_resid),
        r_squared=float(result.rsquared if linear else result.pseudo_rsquared()),
        adjusted_r_squared=float(result.rsquared_adj) if linear else np.nan,
        f=float(result.fvalue) if linear else np.nan,
        f_p=float(result.f_pvalue) if linear else np.nan,
        log_likelihood=float(result.llf),
        aic=float(result.aic),
        bic=float(result.bic),
        condition=condition,
        durbin_watson=float(durbin_watson(fit.residuals)),
    )


def _tests(fit: Fit, result: Any, moved: pd.DataFrame, errors: str) -> list[OneSidedTest]:
    """The paper's two tests: from the effects, or for a formula from the facts' own coefficients."""
    found = []
    for key, direction in DIRECTIONS.items():
        estimate, se, reason = np.nan, np.nan, "it is not in the model"
        rows = moved[(moved["key"] == key) & (moved["errors"] == errors)] if len(moved) else moved
        if len(rows):
            step = float(rows["end"].iloc[0])
            estimate, se, reason = float(rows["estimate"].iloc[0]) / step, float(rows["se"].iloc[0]) / step, ""
        elif key in fit.design.names:
            place = fit.design.names.index(key)
            estimate, se, reason = float(result.params[place]), float(result.bse[place]), ""
        t = estimate / se if se > 0 else np.nan
        p = float(stdtr(degrees(result), -direction * t))
        published = TERMS[key].published or np.nan, TERMS[key].published_se or np.nan
        found.append(OneSidedTest(key, direction, estimate, se, t, p, *published, reason=reason))
    return found


def _known_rows(
    table: pd.DataFrame, keys: Sequence[str]
) -> tuple[pd.DataFrame, tuple[LeftOut, ...], tuple[LeftOut, ...]]:
    """Rows whose numbers are all finite, the terms that no row has a number for, and how many rows lack which."""
    if table.empty:
        raise PruneScopeError("There is no pruned level with a class accuracy: nothing to fit.")
    numbers = dict.fromkeys(f for key in keys for f in TERMS[key].factors if not FACTORS[f].is_category)
    finite = {f: np.isfinite(terms.factor_values(table, f)) for f in numbers}
    nowhere = {f for f, known in finite.items() if not known.any()}
    unknown = tuple(LeftOut(key, "it is known for no row") for key in keys if nowhere & set(TERMS[key].factors))
    keep, missing = np.isfinite(table["accuracy"].to_numpy()), []
    if not keep.all():
        missing.append(LeftOut("rows", "accuracy is missing or infinite", int((~keep).sum())))
    for factor, known in finite.items():
        lost = keep & ~known
        if factor not in nowhere and lost.any():
            missing.append(LeftOut("rows", f"{FACTORS[factor].label} is missing or infinite", int(lost.sum())))
            keep &= known
    if not keep.any():
        raise PruneScopeError("No row has all numbers: " + "; ".join(f"{m.n_rows} rows: {m.reason}" for m in missing))
    rows = table if keep.all() else table[keep].reset_index(drop=True)
    words = {f: rows[f].cat.remove_unused_categories() for f in FACTORS if f in rows and FACTORS[f].is_category}
    return rows.assign(**words), unknown, tuple(missing)


def _check_size(design: Design, y: Floats) -> None:
    n_rows, n_columns = design.shape
    if n_rows <= n_columns:
        raise PruneScopeError(f"{n_rows} rows cannot carry {n_columns} coefficients: choose fewer terms.")
    if np.ptp(y) == 0:
        raise PruneScopeError(f"Every class accuracy is {y[0]:g}: there is nothing to explain.")


def _repeats(design: Design, parts: list[int]) -> str:
    """Why a column adds nothing to those before it."""
    if not parts:
        return "is 0 in all rows"
    names = [design.names[place] for place in parts]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"is a combination of {shown}"


def _clusters(table: pd.DataFrame) -> dict[str, Ints]:
    """Run and class of each row, as numbers."""
    same = [column for column in ("dataset", "split", "class") if column in table]
    codes = np.zeros(len(table), np.int64)
    for column in same:
        code = pd.factorize(table[column])[0]
        codes = codes * (code.max() + 1) + code
    return {"run": pd.factorize(table["run"])[0], "class": pd.factorize(codes)[0]}


def _n_values(fit: Fit, kind: str) -> int:
    return int(fit.clusters[kind].max()) + 1


def _conditioning(upper: Floats) -> tuple[float, Floats]:
    """Condition number of X as statsmodels has it, and the inverse of X'X, from the triangle of [X y]."""
    square = upper[:-1, :-1]
    sizes = np.linalg.svd(square, compute_uv=False)
    root = np.linalg.solve(square, np.eye(len(square)))
    return float(sizes[0] / sizes[-1]), root @ root.T
