"""A regression as text: facts of the fit, one line per coefficient, and how its errors were computed."""

import math
import textwrap
from collections.abc import Iterable, Iterator

from engine.analysis.regression.goodness import ResidualTests, Statistics
from engine.analysis.regression.least_squares import LINKS
from engine.analysis.regression.result import Regression
from engine.analysis.regression.standard_errors import CONFIDENCE, ERRORS

NUMBER = 11
"""Width of a column of numbers."""
COLUMNS = {"coefficient": "estimate", "se": "std. error", "t": "t", "p": "p", "low": "low", "high": "high"}
"""Columns of a regression's coefficients, and their heads."""
SHORTEST, LONGEST = 30, 120 - NUMBER * len(COLUMNS)
"""Width of the column of terms; a longer name goes on in the next line."""
FACTS_BESIDE = 3
GAP = "   "
NONE = "-"
SMALLEST = 1e-300
"""Below which a p is not told from 0."""

Fact = tuple[str, str]


def regression_table(regression: Regression) -> str:
    """The table of a regression with the chosen errors, at most 120 characters wide; `-` is a number not to be had."""
    rows = regression.with_errors(regression.errors).to_dict("records")
    names = [" ".join(str(row["column"]).split()) for row in rows]
    width = min(max(SHORTEST, 1 + max(map(len, names))), LONGEST)
    whole = width + NUMBER * len(COLUMNS)
    outcome = regression.formula.partition("~")[0].strip()
    lines = [f"{LINKS[regression.link]} regression of {outcome}", "=" * whole]
    lines += _fact_lines(_facts(regression), whole)
    lines += ["-" * whole, _line("term", COLUMNS.values(), width), "-" * whole]
    for name, row in zip(names, rows, strict=True):
        numbers = [_p(row[key]) if key == "p" else _fixed(row[key], 4, NUMBER - 1) for key in COLUMNS]
        *begin, end = textwrap.wrap(name, width - 1)
        lines += [*begin, _line(end, numbers, width)]
    notes = [line for note in _notes(regression) for line in textwrap.wrap(note, whole)]
    return "\n".join([*lines, "=" * whole, *notes])


def _facts(regression: Regression) -> list[Fact]:
    """Label and number of what is known about the whole fit."""
    facts = regression.statistics
    counts = [
        ("Rows", f"{facts.n_rows:,}"),
        ("Runs", f"{facts.n_runs:,}"),
        ("Classes", f"{facts.n_classes:,}"),
        ("Coefficients", f"{facts.n_columns:,}"),
        ("Model df", f"{facts.df_model:,}"),
        ("Residual df", f"{facts.df_residuals:,}"),
        ("Errors", ERRORS[regression.errors].in_words),
        ("Condition number", f"{facts.condition:,.0f}"),
    ]
    likelihood = [
        ("Log-likelihood", _fixed(facts.log_likelihood, 1)),
        ("AIC", _fixed(facts.aic, 1)),
        ("BIC", _fixed(facts.bic, 1)),
        ("Durbin-Watson", _fixed(facts.residuals.durbin_watson, 3)),
    ]
    if regression.link == "linear":
        return [*counts, *_squares(facts), *likelihood, *_normality(facts.residuals)]
    return [*counts, *likelihood, *_deviance(facts)]


def _squares(facts: Statistics) -> list[Fact]:
    return [
        ("R²", _fixed(facts.r_squared, 4)),
        ("Adjusted R²", _fixed(facts.adjusted_r_squared, 4)),
        ("F (Wald)", _fixed(facts.f, 2)),
        ("p of F", _p(facts.f_p)),
    ]


def _normality(tests: ResidualTests) -> list[Fact]:
    return [
        ("Skew of residuals", _fixed(tests.skew, 3)),
        ("Kurtosis", _fixed(tests.kurtosis, 3)),
        ("Omnibus", _fixed(tests.omnibus, 3)),
        ("p of omnibus", _p(tests.omnibus_p)),
        ("Jarque-Bera", _fixed(tests.jarque_bera, 3)),
        ("p of Jarque-Bera", _p(tests.jarque_bera_p)),
    ]


def _deviance(facts: Statistics) -> list[Fact]:
    return [
        ("Pseudo R² (Cox-Snell)", _fixed(facts.r_squared, 4)),
        ("Deviance", _fixed(facts.deviance, 1)),
        ("Pearson chi²", _fixed(facts.pearson_chi2, 1)),
        ("Steps", f"{facts.n_steps}"),
    ]


def _fact_lines(facts: list[Fact], whole: int) -> Iterator[str]:
    """The facts in columns beside each other, read down."""
    height = math.ceil(len(facts) / FACTS_BESIDE)
    width = (whole - len(GAP) * (FACTS_BESIDE - 1)) // FACTS_BESIDE
    for place in range(height):
        cells = [f"{label}{number:>{width - len(label)}}" for label, number in facts[place::height]]
        yield GAP.join(cells)


def _notes(regression: Regression) -> Iterator[str]:
    """How errors and intervals were computed, or why there are none."""
    kind = ERRORS[regression.errors]
    yield f"Errors {kind.in_words}: {kind.method}. {kind.help}"
    yield f"Low to high: {CONFIDENCE:.0%} interval; it and p by Student's t, {regression.degrees:,} degrees of freedom."
    if regression.errors in regression.no_errors:
        yield f"There are no errors {kind.in_words}: {regression.no_errors[regression.errors]}."


def _line(name: str, cells: Iterable[str], width: int) -> str:
    return f"{name:<{width}}" + "".join(f"{cell:>{NUMBER}}" for cell in cells)


def _fixed(number: float, digits: int, most: int = 14) -> str:
    """A number with so many digits behind the point; in powers of ten where it is too small, or too long, for that."""
    if not math.isfinite(number):
        return NONE
    text = f"{number:,.{digits}f}"
    too_small = number != 0 and abs(number) < 10.0 ** (1 - digits)
    return f"{number:.3e}" if too_small or len(text) > most else text


def _p(number: float) -> str:
    if not math.isfinite(number):
        return NONE
    if number < SMALLEST:
        return f"<{SMALLEST:.0e}"
    return f"{number:.4f}" if number >= 0.001 else f"{number:.2e}"
