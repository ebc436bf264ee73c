"""The printed table: every number of the record stands in it, and it stays within 120 columns whatever the names."""

import re

import numpy as np
import pytest

from engine.analysis.regression.population import Population
from engine.analysis.regression.population_regression import formula_regression, regression
from engine.analysis.regression.regression_table import LONGEST, NUMBER, regression_table
from engine.analysis.regression.standard_errors import ERRORS
from engine.analysis.regression.terms import PLAIN
from tests.engine.analysis.regression.planted import planted_population, planted_with


def numbers_of(line: str) -> list[float]:
    """The six numbers at the end of a coefficient's line."""
    return [float(cell.replace(",", "").replace("<", "")) for cell in line.split()[-6:]]


def facts_of(text: str) -> dict[str, str]:
    """Labels and numbers above the coefficients, which stand in three columns of one width."""
    _, rule, *lines = text.splitlines()
    block = lines[: next(place for place, line in enumerate(lines) if line.startswith("---"))]
    step = (len(rule) - 6) // 3 + 3
    cells = [line[begin : begin + step].strip() for line in block for begin in (0, step, 2 * step)]
    return dict(tuple(re.split(" {2,}", cell)) for cell in cells if cell)


@pytest.mark.parametrize("link", ["linear", "logit"])
@pytest.mark.parametrize("errors", ERRORS)
def test_every_coefficient_has_its_line_with_its_numbers(link: str, errors: str) -> None:
    result = regression(planted_population(), PLAIN, link, errors)
    lines = regression_table(result).splitlines()
    for row in result.with_errors(errors).to_dict("records"):
        (line,) = [line for line in lines if line.startswith(f"{row['column']} ")]
        expected = [row[key] for key in ("coefficient", "se", "t", "p", "low", "high")]
        np.testing.assert_allclose(numbers_of(line), expected, rtol=5e-3, atol=5.1e-5)
    assert f"Errors {ERRORS[errors].in_words}: {ERRORS[errors].method}." in " ".join(lines)
    assert f"{result.degrees:,} degrees of freedom" in " ".join(lines)


def test_facts_of_a_linear_fit_are_those_of_the_record() -> None:
    result = regression(planted_population(), PLAIN)
    facts, numbers = facts_of(regression_table(result)), result.statistics
    assert facts["Rows"] == f"{numbers.n_rows:,}" and facts["Residual df"] == f"{numbers.df_residuals:,}"
    assert facts["R²"] == f"{numbers.r_squared:.4f}" and facts["Adjusted R²"] == f"{numbers.adjusted_r_squared:.4f}"
    assert facts["F (Wald)"] == f"{numbers.f:,.2f}" and facts["Errors"] == "HAC"
    assert facts["Log-likelihood"] == f"{numbers.log_likelihood:,.1f}"
    assert (facts["AIC"], facts["BIC"]) == (f"{numbers.aic:,.1f}", f"{numbers.bic:,.1f}")
    assert facts["Durbin-Watson"] == f"{numbers.residuals.durbin_watson:.3f}"
    assert facts["Jarque-Bera"] == f"{numbers.residuals.jarque_bera:,.3f}"


def test_facts_of_a_logit_are_those_of_the_record() -> None:
    result = regression(planted_population(), PLAIN, "logit", "run")
    facts, numbers = facts_of(regression_table(result)), result.statistics
    assert facts["Deviance"] == f"{numbers.deviance:,.1f}" and facts["Pearson chi²"] == f"{numbers.pearson_chi2:,.1f}"
    assert facts["Pseudo R² (Cox-Snell)"] == f"{numbers.r_squared:.4f}" and facts["Errors"] == "by run"
    assert "R²" not in facts and "Omnibus" not in facts


def test_the_table_stays_within_120_columns_and_keeps_long_names_whole() -> None:
    name = "a name that no screen has room for, " * 5 + "with-no-end" * 9
    technique = planted_population().table["technique"].cat.rename_categories({"technique002": name})
    text = regression_table(regression(planted_with(technique=technique)))
    assert max(map(len, text.splitlines())) == 120 == LONGEST + 6 * NUMBER
    assert text.count(re.sub(r"\s", "", name)[:30]) == 0
    assert re.sub(r"\s", "", name) in re.sub(r"\s", "", text)


def test_huge_and_tiny_numbers_keep_their_columns() -> None:
    table = planted_population().table
    scaled = planted_with(imbalance=1e9 * table["imbalance"], entropy=1e-9 * table["entropy"])
    text = regression_table(regression(scaled, PLAIN))
    tiny, huge = (next(line for line in text.splitlines() if line.startswith(key)) for key in ("imbalance", "entropy"))
    assert "e-" in tiny.split()[1] and "e+" in huge.split()[1]
    assert len(tiny) == len(huge) == len(text.splitlines()[1])


def test_errors_that_cannot_be_had_are_dashes_with_their_reason() -> None:
    table = planted_population(n_levels=12).table
    alone = Population(table[table["run"] == "run000"].reset_index(drop=True))
    text = regression_table(regression(alone, PLAIN, errors="run"))
    line = next(line for line in text.splitlines() if line.startswith("imbalance"))
    assert line.split()[2:] == ["-"] * 5
    assert "There are no errors by run: fewer than two of them." in text
    assert facts_of(text)["F (Wald)"] == "-"


def test_a_formula_names_its_own_outcome() -> None:
    text = regression_table(formula_regression(planted_population(), "accuracy0 ~ sparsity + entropy"))
    assert text.splitlines()[0] == "Linear (OLS) regression of accuracy0"
