"""statsmodels is the referee: the same designs fitted by OLS, GLM and by formula give the same numbers to 1e-8."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.stats import kurtosis, normaltest, skew

from engine.analysis.regression.block_design import dense_design
from engine.analysis.regression.least_squares import Fit, logit_fit
from engine.analysis.regression.population import Population, population
from engine.analysis.regression.population_regression import FittedModel, fitted_model, formula_regression, regression
from engine.analysis.regression.standard_errors import ERRORS, Estimates, estimates
from engine.analysis.regression.terms import PAPER, PLAIN, TERMS, checked_terms
from engine.store.study import Study, examples_name
from tests.engine.analysis.regression.planted import HAC, planted_population, reference
from tests.support.population_rows import PUBLISHED, Size, made_population

DEMO = Path(__file__).resolve().parents[4] / "data" / "demo"


SIZES = ("small", "medium")
STATISTICS = {
    "r_squared": "rsquared",
    "adjusted_r_squared": "rsquared_adj",
    "f": "fvalue",
    "f_p": "f_pvalue",
    "log_likelihood": "llf",
    "aic": "aic",
    "bic": "bic",
    "condition": "condition_number",
    "df_model": "df_model",
    "df_residuals": "df_resid",
}
"""Our name and statsmodels' name of what the table prints about a linear fit."""
LOGIT_STATISTICS = {
    "log_likelihood": "llf",
    "aic": "aic",
    "bic": "bic",
    "deviance": "deviance",
    "pearson_chi2": "pearson_chi2",
    "df_model": "df_model",
    "df_residuals": "df_resid",
}


@cache
def sized_population(size: str) -> Population:
    """2,520 rows and 3 data sets, or 9,408 rows and the paper's 7, with accuracies that the logit takes too."""
    if size == "small":
        return planted_population()
    table = made_population(Size(n_seeds=1, n_levels=6, most_classes=4))[0].table
    return Population(table.assign(accuracy=table["accuracy"].clip(0, 1)))


@cache
def sized_model(size: str, link: str, keys: tuple[str, ...] = PAPER) -> FittedModel:
    return fitted_model(sized_population(size), keys, link)


def their_way(errors: str, fit: Fit) -> dict[str, Any]:
    """How statsmodels is asked for a kind of errors."""
    if errors in ("run", "class"):
        return {"cov_type": "cluster", "cov_kwds": {"groups": fit.clusters[errors]}, "use_t": True}
    return {**(HAC if errors == "hac" else {"cov_type": "HC3"}), "use_t": True}


def assert_same_estimates(ours: Estimates, theirs: Any) -> None:
    """Coefficients, errors, t, p and intervals agree to 1e-8."""
    np.testing.assert_allclose(ours.coefficients, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors, theirs.bse, rtol=1e-8)
    assert_same_covariance(ours, np.asarray(theirs.cov_params()))
    np.testing.assert_allclose(ours.t, theirs.tvalues, rtol=1e-8)
    np.testing.assert_allclose(ours.p, theirs.pvalues, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(np.stack([ours.low, ours.high], axis=1), theirs.conf_int(), rtol=1e-8, atol=1e-10)


def assert_same_covariance(ours: Estimates, expected: np.ndarray) -> None:
    """Covariances agree to 1e-8 of the two errors that each is made of."""
    scale = np.outer(ours.standard_errors, ours.standard_errors)
    np.testing.assert_allclose(ours.covariance / scale, expected / scale, rtol=0, atol=1e-8)


# -- linear -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("size", SIZES)
def test_linear_estimates_equal_those_of_ols(size: str, errors: str) -> None:
    fit = sized_model(size, "linear").fit
    theirs = sm.OLS(fit.observed, np.asarray(fit.design)).fit(**their_way(errors, fit))
    assert_same_estimates(estimates(fit, errors), theirs)


@pytest.mark.parametrize("keys", [PLAIN, ("sparsity", "np.exp(sparsity):imbalance")], ids=["plain", "own"])
def test_columns_and_estimates_equal_those_of_the_formula(keys: tuple[str, ...]) -> None:
    fit = sized_model("small", "linear", keys).fit
    for errors in ERRORS:
        theirs = reference(planted_population().table, checked_terms(keys), **their_way(errors, fit))
        assert list(fit.design.names) == theirs.model.exog_names
        assert_same_estimates(estimates(fit, errors), theirs)


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.filterwarnings("ignore:covariance of constraints does not have full rank")
def test_linear_statistics_equal_those_of_ols(size: str, errors: str) -> None:
    fit = sized_model(size, "linear").fit
    theirs = sm.OLS(fit.observed, np.asarray(fit.design)).fit(**their_way(errors, fit))
    ours = regression(sized_population(size), errors=errors).statistics
    too_few = errors in fit.clusters and fit.n_clusters(errors) - 1 <= ours.df_model
    for name, their_name in STATISTICS.items():
        if too_few and name in ("f", "f_p"):
            assert np.isnan(getattr(ours, name))
        else:
            assert getattr(ours, name) == pytest.approx(float(getattr(theirs, their_name)), rel=1e-8, abs=1e-12), name
    tests = ours.residuals
    assert (tests.omnibus, tests.omnibus_p) == pytest.approx(tuple(normaltest(theirs.resid)), rel=1e-8)
    assert (tests.skew, tests.kurtosis) == pytest.approx((skew(theirs.resid), kurtosis(theirs.resid) + 3), rel=1e-8)


def test_without_an_intercept_r2_is_about_zero_as_in_statsmodels() -> None:
    text = "accuracy ~ 0 + sparsity + entropy"
    theirs = smf.ols(text, planted_population().table).fit(use_t=True, **HAC)
    ours = formula_regression(planted_population(), text).statistics
    for name, their_name in STATISTICS.items():
        assert getattr(ours, name) == pytest.approx(float(getattr(theirs, their_name)), rel=1e-8, abs=1e-12), name


def test_the_papers_fifty_columns_and_its_known_coefficients() -> None:
    made, truth = made_population(Size(n_seeds=1, n_levels=6, most_classes=4))
    fit = fitted_model(made).fit
    assert fit.design.shape[1] == 50 == len(PUBLISHED)
    ours = estimates(fit, "hac")
    away = np.abs((ours.coefficients - truth) / ours.standard_errors)
    assert away.max() < 3.6, "all 50 intervals together hold with 98 %"


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
def test_the_shipped_study_equals_statsmodels(tmp_path: Path) -> None:
    for name in ("runs", "examples"):
        (tmp_path / name).symlink_to(DEMO / name)  # so that its catalog is written here
    study = Study(tmp_path)
    made = population(study.classes(), lambda run: study.class_facts(examples_name(study.run_record(run).spec)))
    n_by_formula = 0
    for keys in (PAPER, PLAIN):
        model = fitted_model(made, keys)
        ours, y = estimates(model.fit, "hac"), model.table["accuracy"].to_numpy()
        theirs = sm.OLS(y, np.asarray(model.fit.design)).fit(**HAC)
        np.testing.assert_allclose(ours.coefficients, theirs.params, rtol=1e-8)
        np.testing.assert_allclose(ours.standard_errors, theirs.bse, rtol=1e-8)
        dropped = {out.name for out in model.left_out}
        by_formula = reference(model.table, tuple(key for key in keys if key not in dropped), **HAC)
        np.testing.assert_allclose(model.fit.fitted, by_formula.fittedvalues, atol=1e-9)
        if not [out for out in model.left_out if out.term and out.name not in TERMS]:
            n_by_formula += 1
            np.testing.assert_allclose(ours.coefficients, by_formula.params, rtol=1e-8)
            np.testing.assert_allclose(ours.standard_errors, by_formula.bse, rtol=1e-8)
    assert n_by_formula, "one of the two has no column that repeats others"


def test_a_formula_equals_statsmodels_and_reaches_the_same_tests() -> None:
    text = "accuracy ~ sparsity + np.log(entropy) + imbalance + C(technique)"
    result = formula_regression(planted_population(), text)
    theirs = smf.ols(text, planted_population().table).fit(use_t=True, **HAC)
    rows = result.with_errors("hac").set_index("column")
    np.testing.assert_allclose(rows["coefficient"], theirs.params[rows.index], rtol=1e-8)
    np.testing.assert_allclose(rows["se"], theirs.bse[rows.index], rtol=1e-8)
    imbalance, entropy = result.tests
    assert imbalance.estimate == pytest.approx(theirs.params["imbalance"]) and entropy.reason


# -- logit ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("errors", ["hac", "run", "class"])
@pytest.mark.parametrize("size", SIZES)
def test_logit_estimates_equal_those_of_glm(size: str, errors: str) -> None:
    fit = sized_model(size, "logit").fit
    theirs = sm.GLM(fit.observed, np.asarray(fit.design), family=sm.families.Binomial())
    assert_same_estimates(estimates(fit, errors), theirs.fit(tol=1e-14, **their_way(errors, fit)))


@pytest.mark.parametrize("size", SIZES)
def test_hc3_of_the_logit_divides_scores_by_one_minus_leverage(size: str) -> None:
    """statsmodels has no HC3 of a GLM, but its leverage and scores."""
    fit = sized_model(size, "logit").fit
    matrix = np.asarray(fit.design)
    theirs = sm.GLM(fit.observed, matrix, family=sm.families.Binomial()).fit(tol=1e-14)
    leverage = theirs.get_influence(observed=False).hat_matrix_diag
    scores = matrix * (theirs.resid_response / (1 - leverage))[:, None]
    bread = theirs.cov_params()
    expected = bread @ (scores.T @ scores) @ bread
    ours = estimates(fit, "hc3")
    np.testing.assert_allclose(ours.standard_errors, np.sqrt(np.diag(expected)), rtol=1e-8)
    assert_same_covariance(ours, expected)


@pytest.mark.parametrize("size", SIZES)
def test_logit_statistics_equal_those_of_glm(size: str) -> None:
    fit = sized_model(size, "logit").fit
    theirs = sm.GLM(fit.observed, np.asarray(fit.design), family=sm.families.Binomial()).fit(tol=1e-14, **HAC)
    ours = regression(sized_population(size), link="logit").statistics
    for name, their_name in LOGIT_STATISTICS.items():
        assert getattr(ours, name) == pytest.approx(float(getattr(theirs, their_name)), rel=1e-8), name
    assert ours.r_squared == pytest.approx(theirs.pseudo_rsquared("cs"), rel=1e-8)
    assert np.isnan([ours.adjusted_r_squared, ours.f, ours.f_p, ours.residuals.omnibus]).all()


def test_logit_of_an_empty_design_is_the_mean() -> None:
    y = np.array([0.2, 0.4, 0.9])
    fit = logit_fit(dense_design(("Intercept",), np.ones((3, 1))), y)
    assert fit.fitted == pytest.approx(np.full(3, 0.5))
