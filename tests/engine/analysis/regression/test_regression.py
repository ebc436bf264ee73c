"""The regression against statsmodels' own formula call, its reductions, planted effects, and how it says no."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_hac_simple
from threadpoolctl import threadpool_limits

from engine.analysis.regression import sandwich
from engine.analysis.regression.block_design import Design, dense_design, dependent_columns, triangle
from engine.analysis.regression.cautions import FEW_CLUSTERS
from engine.analysis.regression.design_columns import layout
from engine.analysis.regression.effects import STEPS, Setting, effects
from engine.analysis.regression.fit import fitted_model, formula_regression, regression
from engine.analysis.regression.fits import ERRORS, linear_fit, logit_fit
from engine.analysis.regression.population import NO_DENSE, NO_EXAMPLE, Population, population, quartile
from engine.analysis.regression.residuals import residual_bins
from engine.analysis.regression.terms import NOWHERE, PAPER, PLAIN, TERMS, checked_terms, formula
from engine.commands import main
from engine.errors import PruneScopeError
from engine.store.study import Study, examples_name
from tests.support.population_rows import PUBLISHED, Size, made_population
from tests.support.studies import make_study

HAC = {"cov_type": "HAC", "cov_kwds": {"maxlags": 3, "use_correction": True}}
DEMO = Path(__file__).resolve().parents[4] / "data" / "demo"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """statsmodels on matrices this small is faster alone, far so on a busy machine."""
    with threadpool_limits(1):
        yield


@cache
def people(
    n_datasets: int = 3, n_techniques: int = 3, n_levels: int = 5, n_classes: int = 7, seed: int = 0, n_seeds: int = 2
) -> Population:
    """A small population with planted coefficients: imbalance 1, entropy -0.02, accuracy within 0 and 1."""
    rng = np.random.default_rng(seed)
    shape = (n_datasets, 2, 2, n_techniques, n_seeds, n_levels, n_classes)
    dataset, network, treatment, technique, number, level, name = (axis.ravel() for axis in np.indices(shape))
    run = np.ravel_multi_index((dataset, network, treatment, technique, number), shape[:5])
    start = rng.uniform(0.6, 0.95, (run.max() + 1, n_classes))[run, name]
    share, bits = rng.dirichlet(np.full(n_classes, 9.0), n_datasets), rng.uniform(1, 5, (n_datasets, n_classes))
    imbalance, entropy = (share - 1 / n_classes)[dataset, name], bits[dataset, name]
    sparsity = 1 - 0.7 ** (level + 1.0)
    accuracy = start - 0.1 * np.exp(sparsity) + 0.2 * sparsity + imbalance - 0.02 * entropy - 0.02 * technique
    accuracy = np.clip(accuracy + rng.normal(0, 0.03 + 0.03 * sparsity), 0, 1)
    words = {"dataset": dataset, "network": network, "treatment": treatment, "technique": technique, "run": run}
    table = pd.DataFrame(
        {key: pd.Categorical([f"{key}{value:03}" for value in values]) for key, values in words.items()}
    )
    table = table.assign(seed=number, level=level + 1, sparsity=sparsity, accuracy=accuracy, accuracy0=start)
    table = table.assign(imbalance=imbalance, entropy=entropy, quartile=quartile(start), **{"class": name})
    return Population(table)


def changed(**columns: object) -> Population:
    """The small population with other columns."""
    return Population(people().table.assign(**columns))


def reference(table: pd.DataFrame, keys: tuple[str, ...], **how: object) -> object:
    return smf.ols(formula(keys), table).fit(use_t=True, **how)


# -- equal to statsmodels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys", [PAPER, PLAIN, ("sparsity", "np.exp(sparsity):imbalance")], ids=["paper", "plain", "own"]
)
def test_coefficients_and_all_errors_equal_statsmodels(keys: tuple[str, ...]) -> None:
    model, table = fitted_model(people(), keys), people().table
    keys = checked_terms(keys)
    clusters = model.fit.clusters
    ways = {"hac": HAC, "hc3": {"cov_type": "HC3"}} | {
        kind: {"cov_type": "cluster", "cov_kwds": {"groups": clusters[kind]}} for kind in ("run", "class")
    }
    for kind, how in ways.items():
        theirs, ours = reference(table, keys, **how), model.fit.results(kind)
        assert list(model.fit.design.names) == theirs.model.exog_names
        np.testing.assert_allclose(ours.params, theirs.params, rtol=1e-8)
        np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-6)
        np.testing.assert_allclose(ours.conf_int(), theirs.conf_int(), rtol=1e-6)
        np.testing.assert_allclose(ours.pvalues, theirs.pvalues, rtol=1e-5, atol=1e-12)
    for name in ("rsquared_adj", "llf", "aic", "bic", "condition_number", "fvalue", "df_resid"):
        assert getattr(model.fit.results("hac"), name) == pytest.approx(getattr(reference(table, keys, **HAC), name))


def test_the_printed_table_is_statsmodels_own() -> None:
    found, theirs = regression(people()), reference(people().table, PAPER, **HAC)

    def numbers(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith(("Date", "Time"))]

    assert numbers(found.summary) == numbers(str(theirs.summary()))


def test_the_papers_fifty_columns_and_its_known_coefficients() -> None:
    made, truth = made_population(Size(n_seeds=1, n_levels=6, most_classes=4))
    model = fitted_model(made)
    assert model.fit.design.shape[1] == 50 == len(PUBLISHED)
    theirs = reference(made.table, PAPER, **HAC)
    ours = model.fit.results("hac")
    np.testing.assert_allclose(ours.params, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-6)
    assert np.abs((ours.params - truth) / ours.bse).max() < 3.6  # all 50 intervals together hold with 98 %


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
def test_the_shipped_study_equals_statsmodels(tmp_path: Path) -> None:
    for name in ("runs", "examples"):
        (tmp_path / name).symlink_to(DEMO / name)  # so that its catalog is written here
    study = Study(tmp_path)
    made = population(study.classes(), lambda run: study.class_facts(examples_name(study.run_record(run).spec)))
    n_by_formula = 0
    for keys in (PAPER, PLAIN):
        model = fitted_model(made, keys)
        ours, y = model.fit.results("hac"), model.table["accuracy"].to_numpy()
        theirs = sm.OLS(y, np.asarray(model.fit.design)).fit(**HAC)
        np.testing.assert_allclose(ours.params, theirs.params, rtol=1e-8)
        np.testing.assert_allclose(ours.bse, theirs.bse, rtol=1e-6)
        dropped = {out.what for out in model.left_out}
        by_formula = reference(model.table, tuple(key for key in keys if key not in dropped), **HAC)
        np.testing.assert_allclose(model.fit.fitted, by_formula.fittedvalues, atol=1e-9)
        if not [out for out in model.left_out if out.term and out.what not in TERMS]:
            n_by_formula += 1
            np.testing.assert_allclose(ours.params, by_formula.params, rtol=1e-8)
            np.testing.assert_allclose(ours.bse, by_formula.bse, rtol=1e-6)
    assert n_by_formula, "one of the two has no column that repeats others"


def test_the_logit_equals_statsmodels_glm() -> None:
    model, table = fitted_model(people(), link="logit"), people().table
    matrix, y = np.asarray(model.fit.design), table["accuracy"].to_numpy()
    theirs = sm.GLM(y, matrix, family=sm.families.Binomial())
    for kind, how in (
        ("hac", HAC),
        ("run", {"cov_type": "cluster", "cov_kwds": {"groups": model.fit.clusters["run"]}}),
    ):
        expected, ours = theirs.fit(tol=1e-14, use_t=True, **how), model.fit.results(kind)
        np.testing.assert_allclose(ours.params, expected.params, rtol=1e-8)
        np.testing.assert_allclose(ours.bse, expected.bse, rtol=1e-6)
        for name in ("llf", "deviance", "pearson_chi2", "aic"):
            assert getattr(ours, name) == pytest.approx(getattr(expected, name))
    assert "Logit" in str(model.fit.results("hac").summary())


def test_hc3_of_the_logit_divides_scores_by_one_minus_leverage() -> None:
    fit = fitted_model(people(), PLAIN, "logit").fit
    matrix = np.asarray(fit.design)
    weights = fit.fitted * (1 - fit.fitted)
    bread = np.linalg.inv(matrix.T @ (matrix * weights[:, None]))
    hat = weights * np.einsum("ij,jk,ik->i", matrix, bread, matrix)
    scores = matrix * (fit.residuals / (1 - hat))[:, None]
    np.testing.assert_allclose(fit.covariance("hc3"), bread @ (scores.T @ scores) @ bread, rtol=1e-7, atol=1e-12)


def test_a_formula_equals_statsmodels_and_reaches_the_same_tests() -> None:
    text = "accuracy ~ sparsity + np.log(entropy) + imbalance + C(technique)"
    found = formula_regression(people(), text)
    theirs = smf.ols(text, people().table).fit(use_t=True, **HAC)
    rows = found.with_errors("hac").set_index("column")
    np.testing.assert_allclose(rows["coefficient"], theirs.params[rows.index], rtol=1e-8)
    np.testing.assert_allclose(rows["se"], theirs.bse[rows.index], rtol=1e-6)
    imbalance, entropy = found.tests
    assert imbalance.estimate == pytest.approx(theirs.params["imbalance"]) and entropy.reason


# -- covariances over blocks of any shape -----------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(1, 6), min_size=4, max_size=12), lags=st.integers(0, 4), seed=st.integers(0, 99))
def test_covariances_do_not_depend_on_where_blocks_end(sizes: list[int], lags: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = sum(sizes) + 4
    borders = np.append(0, np.cumsum([*sizes[:-1], sizes[-1] + 4]))
    on = rng.integers(0, 2, (len(sizes), 2, 3)).astype(float)
    design = Design(("a", "b", "c"), rng.normal(size=(n, 2)), borders, on)
    matrix, residuals = np.asarray(design), rng.normal(size=n)
    root, clusters = rng.normal(size=(3, 3)), rng.integers(0, 3, n)
    clusters[:3] = [0, 1, 2]
    inverse, scores = root @ root.T, matrix * residuals[:, None]
    expected = cov_hac_simple((scores, inverse), nlags=lags)
    np.testing.assert_allclose(sandwich.hac(design, root, residuals, lags), expected, rtol=1e-8, atol=1e-8)
    by_cluster = cov_cluster((scores, inverse), clusters)
    np.testing.assert_allclose(sandwich.clustered(design, root, residuals, clusters), by_cluster, rtol=1e-8, atol=1e-8)
    hat = np.einsum("ij,jk,ik->i", matrix, inverse, matrix)
    np.testing.assert_allclose(sandwich.leverage(design, root), hat, rtol=1e-8, atol=1e-8)


def test_hac_is_symmetric_and_positive_semi_definite() -> None:
    covariance = fitted_model(people()).fit.covariance("hac")
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-15)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12


def test_badly_scaled_columns_keep_eight_digits() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)) * [1, 1e6, 1e-6] + [0, 1e8, 0]
    matrix = np.column_stack([np.ones(500), x])
    truth = np.array([1.0, 2.0, 3e-6, 4e6])
    y = matrix @ truth
    design = dense_design(("one", "a", "b", "c"), matrix)
    np.testing.assert_allclose(linear_fit(design, y, triangle(design, y)).params[1:], truth[1:], rtol=1e-8)


def test_dependent_columns_are_found_with_what_they_combine() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    matrix = np.column_stack([np.ones(50), x, 2 * x[:, 0] - 3, np.zeros(50)])
    upper = triangle(dense_design(tuple("abcdef"), matrix), rng.normal(size=50))
    assert dependent_columns(upper[:-1, :-1]) == {4: [0, 1], 5: []}


# -- what is left out -------------------------------------------------------------------------------------------------


def test_terms_that_do_not_vary_drop_out_and_are_listed() -> None:
    table = people().table
    one = Population(table[table["dataset"] == "dataset000"].reset_index(drop=True))
    found = regression(one)
    assert {out.what for out in found.left_out} == {"dataset", "np.exp(sparsity):dataset"}
    assert "dataset" not in found.formula
    kept = tuple(key for key in PAPER if "dataset" not in key)
    theirs = reference(one.table, kept, **HAC)
    np.testing.assert_allclose(found.with_errors("hac")["coefficient"], theirs.params, rtol=1e-8)


def test_a_constant_number_drops_out_with_its_value() -> None:
    found = regression(changed(imbalance=0.0))
    (out,) = found.left_out
    assert (out.what, out.reason) == ("imbalance", "it is 0 in all rows")
    assert found.tests[0].reason and np.isnan(found.tests[0].p) and not found.tests[1].reason


def test_a_column_that_repeats_others_is_left_out_and_the_rest_is_exact() -> None:
    table = people().table
    doubled = changed(entropy=3 - 2 * table["imbalance"])
    found = regression(doubled)
    (out,) = found.left_out
    assert out.what == "entropy" and out.reason == "it is a combination of Intercept, imbalance"
    theirs = reference(table, tuple(key for key in PAPER if key != "entropy"), **HAC)
    np.testing.assert_allclose(found.with_errors("hac")["coefficient"], theirs.params, rtol=1e-8)


def test_a_combination_without_runs_is_left_out() -> None:
    table = people().table
    never = (table["treatment"] == "treatment001") & (table["technique"] == "technique002")
    found = regression(Population(table[~never].reset_index(drop=True)))
    assert [out.what for out in found.left_out] == ["treatment[T.treatment001]:technique[T.technique002]"]
    assert found.left_out[0].reason == "it is 0 in all rows"
    assert any("1 of 6 combinations of treatment and technique" in caution for caution in found.cautions)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_with_a_missing_or_infinite_number_are_left_out_and_counted(bad: float) -> None:
    entropy = people().table["entropy"].to_numpy().copy()
    entropy[5:25] = bad
    found = regression(changed(entropy=entropy))
    (out,) = found.left_out
    assert (out.n_rows, out.reason) == (20, "entropy is missing or infinite")
    rest = people().table.drop(index=range(5, 25))
    np.testing.assert_allclose(found.with_errors("hac")["coefficient"], reference(rest, PAPER).params, rtol=1e-8)


def test_a_number_that_no_row_has_takes_its_term_along_and_not_the_rows() -> None:
    found = regression(changed(entropy=np.nan))
    assert [(out.what, out.reason) for out in found.left_out] == [("entropy", NOWHERE)]
    assert found.statistics.n_rows == len(people().table)


def refused(table: pd.DataFrame, keys: tuple[str, ...] = PAPER, link: str = "linear") -> str:
    with pytest.raises(PruneScopeError) as error:
        regression(Population(table), keys, link)
    return str(error.value)


def test_what_cannot_be_fitted_is_refused_in_a_sentence() -> None:
    table = people().table
    assert "rows cannot carry" in refused(table.iloc[::200])
    assert "nothing to fit" in refused(table.iloc[:0])
    assert "Every class accuracy is 0.5" in refused(table.assign(accuracy=0.5))
    assert "No row has all numbers" in refused(table.assign(accuracy=np.nan))
    assert "There is no term 'sparsty'" in refused(table, ("sparsty",))
    assert "one is 1.5" in refused(table.assign(accuracy=np.where(table.index == 3, 1.5, 0.5)), link="logit")
    assert "does not settle" in refused(
        table.assign(accuracy=(table["technique"] == "technique001").astype(float)), ("technique",), "logit"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy ~ sparsit", "'sparsit' is not defined"),
        ("accuracy ~ sparsity + I(2 * sparsity)", "it is a combination of sparsity"),
        ("accuracy ~ (", "cannot be used"),
        ("accuracy ~ np.log(quartile)", "np.log(quartile) is not finite in 630 rows"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_formula_that_cannot_be_fitted_is_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(PruneScopeError, match="formula") as error:
        formula_regression(people(), text)
    assert message in str(error.value)


def test_one_run_has_no_errors_by_run_and_says_so() -> None:
    table = people(n_levels=12).table
    found = regression(Population(table[table["run"] == "run000"].reset_index(drop=True)), PLAIN)
    assert set(found.no_errors) == {"run"}
    assert found.with_errors("run")["se"].isna().all() and found.with_errors("hac")["se"].notna().all()


def test_cautions_name_a_small_study_and_confounded_terms() -> None:
    table = people(n_datasets=1, n_techniques=2, n_levels=3, n_seeds=1).table
    close = table.assign(entropy=1 + 10 * table["imbalance"] + 1e-4 * table["class"], protocol=table["run"])
    found = regression(Population(close))
    said = " ".join(found.cautions)
    assert f"fewer than {FEW_CLUSTERS} classes" in said and "runs for" in said
    assert "explain" in said and "condition number" in said and "differ in protocol" in said
    assert not regression(people(n_datasets=5), PLAIN).cautions


# -- effects and tests ------------------------------------------------------------------------------------------------


def mean_prediction(table: pd.DataFrame, keys: tuple[str, ...]) -> Callable[..., float]:
    """Mean fitted accuracy by statsmodels' formula when columns are changed."""
    theirs = reference(table, keys)
    return lambda **columns: float(theirs.predict(table.assign(**columns)).mean())


def test_effects_are_differences_of_mean_predictions() -> None:
    table = people().table
    keys = checked_terms((*PAPER, "np.exp(sparsity):imbalance"))
    mean = mean_prediction(table, keys)
    rows = regression(people(), keys).effects.query("errors == 'hac'").set_index("key")
    for key, step in STEPS.items():
        assert rows.loc[key, "estimate"] == pytest.approx(mean(**{key: table[key] + step}) - mean())
    low, high = rows.loc["sparsity", ["begin", "end"]]
    assert rows.loc["sparsity", "estimate"] == pytest.approx(mean(sparsity=high) - mean(sparsity=low))
    by_technique = {name: mean(technique=name) for name in table["technique"].cat.categories}
    assert rows.loc["technique", "end"] == max(by_technique, key=by_technique.__getitem__)
    assert rows.loc["technique", "estimate"] == pytest.approx(max(by_technique.values()) - min(by_technique.values()))


def test_an_effect_without_cross_terms_is_its_coefficient_with_its_errors() -> None:
    found = regression(people(), PAPER)
    for kind in ERRORS:
        row = found.effects.query("errors == @kind and key == 'imbalance'").iloc[0]
        coefficient = found.with_errors(kind).set_index("column").loc["imbalance"]
        assert row["estimate"] == pytest.approx(0.01 * coefficient["coefficient"])
        assert (row["low"], row["high"]) == pytest.approx((0.01 * coefficient["low"], 0.01 * coefficient["high"]))


def test_effects_of_the_logit_are_those_of_its_predictions_with_delta_method_errors() -> None:
    model = fitted_model(people(), PLAIN, "logit")
    results = {"hac": model.fit.results("hac")}
    row = effects(Setting(model.fit, model.layout, model.table), results).set_index("key").loc["imbalance"]
    now = np.asarray(model.fit.design)
    moved = np.asarray(layout(model.table, PLAIN).design(model.table.assign(imbalance=model.table["imbalance"] + 0.01)))

    def change(params: np.ndarray) -> float:
        means = [1 / (1 + np.exp(-(matrix @ params))) for matrix in (now, moved)]
        return float((means[1] - means[0]).mean())

    params = model.fit.params
    slopes = [(change(params + h) - change(params - h)) / 2e-5 for h in 1e-5 * np.eye(len(params))]
    assert row["estimate"] == pytest.approx(change(params))
    assert row["se"] == pytest.approx(np.sqrt(slopes @ model.fit.covariance("hac") @ slopes), rel=1e-5)


def test_one_sided_tests_point_where_the_paper_points() -> None:
    found = regression(people())
    theirs = reference(people().table, PAPER, **HAC)
    imbalance, entropy = found.tests
    assert (imbalance.direction, entropy.direction) == (1, -1)
    assert imbalance.p == pytest.approx(theirs.pvalues["imbalance"] / 2, abs=1e-12) and imbalance.p < 0.001
    assert entropy.p == pytest.approx(theirs.pvalues["entropy"] / 2, abs=1e-12) and entropy.p < 0.001
    upside_down = regression(changed(imbalance=-people().table["imbalance"])).tests[0]
    assert upside_down.p == pytest.approx(1 - imbalance.p)


def test_planted_effects_lie_in_95_percent_intervals_in_93_to_97_percent_of_seeds() -> None:
    base = people(n_datasets=2, n_techniques=2, n_levels=3, n_classes=10).table
    design = layout(base, PLAIN).design(base)
    truth = np.random.default_rng(1).normal(size=design.shape[1])
    mean, rng = design.times(truth), np.random.default_rng(2)
    covered = []
    for _ in range(400):
        y = mean + rng.normal(0, 0.1, len(base)) * (0.5 + base["sparsity"].to_numpy())
        fit = linear_fit(design, y, triangle(design, y))
        se = np.sqrt(np.diag(fit.covariance("hc3")))
        covered.append(np.abs(fit.params - truth) < 1.96 * se)
    assert 0.93 < np.mean(covered) < 0.97


def test_errors_by_run_see_what_hac_does_not() -> None:
    table = people(n_datasets=4, n_seeds=4).table
    shock = np.random.default_rng(0).normal(0, 0.1, table["run"].nunique())[table["run"].cat.codes]
    found = regression(Population(table.assign(accuracy=table["accuracy"] + shock)), PLAIN)
    network = found.coefficients[found.coefficients["term"] == "network"].set_index("errors")["se"]
    assert network["run"] > 2 * network["hac"]


# -- residuals --------------------------------------------------------------------------------------------------------


def test_bins_hold_every_row_and_columns_add_up_to_one() -> None:
    rng = np.random.default_rng(0)
    observed = np.append(rng.random(500), [0, 1, 0.3, 0.7])
    fitted = observed + rng.normal(0, 0.3, 504)
    bins = residual_bins(observed, fitted)
    for cells in (bins.fitted, bins.by_target):
        assert cells["n"].sum() == 504
        np.testing.assert_allclose(cells.groupby("observed")["share"].sum(), 1)
    assert bins.histogram["n"].sum() == bins.means["n"].sum() == 504
    assert bins.n_outside == ((fitted < 0) | (fitted > 1)).sum()
    third = (observed >= 0.3) & (observed < 0.35)
    row = bins.means[np.isclose(bins.means["observed"], 0.325)].iloc[0]
    assert (row["n"], row["fitted"]) == (third.sum(), pytest.approx(fitted[third].mean()))


# -- the population ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two data sets and two networks; class 3 of the second has no test example."""
    path = tmp_path_factory.mktemp("many")
    few = {"writers": 0, "examples": 400, "levels": 4, "seeds": 2}
    make_study(path, **few)
    make_study(path, **few, network="vgg11", treatments=("rewind",))
    return make_study(path, **few, dataset="fashion-mnist", split="official", without_examples=(3,), random=5)


def gathered(study: Study, **how: bool) -> Population:
    return population(study.classes(), lambda run: study.class_facts(examples_name(study.run_record(run).spec)), **how)


def test_population_has_each_runs_own_start_and_its_classes_facts(study: Study) -> None:
    table, classes = gathered(study).table, study.classes()
    assert (table["level"] > 0).all() and len(gathered(study, with_dense=True).table) > len(table)
    row = table.iloc[137]
    same = classes[(classes["run"] == row["run"]) & (classes["class"] == row["class"])].set_index("level")
    assert row["accuracy"] == same.loc[row["level"], "correct"] / same.loc[row["level"], "n"]
    assert row["accuracy0"] == same.loc[0, "correct"] / same.loc[0, "n"]
    facts = study.class_facts(f"{row['dataset']}-{row['split']}").set_index("class")
    share = facts["n_train"] / facts["n_train"].sum()
    assert row["imbalance"] == pytest.approx(share[row["class"]] - 1 / len(facts))
    assert row["entropy"] == facts["entropy"][row["class"]]
    assert (table["quartile"] == quartile(table["accuracy0"].to_numpy())).all()


def test_population_is_ordered_whatever_the_order_of_the_table(study: Study) -> None:
    mixed = study.classes().sample(frac=1, random_state=0)
    facts = lambda run: study.class_facts(examples_name(study.run_record(run).spec))  # noqa: E731
    pd.testing.assert_frame_equal(population(mixed, facts).table, gathered(study).table)
    keys = ["dataset", "network", "treatment", "technique", "seed", "level", "class"]
    assert (
        gathered(study)
        .table[keys]
        .astype({"dataset": str})
        .equals(gathered(study).table[keys].sort_values(keys, kind="stable").astype({"dataset": str}))
    )


def test_quartile_is_that_of_qcut() -> None:
    values = np.random.default_rng(0).random(101)
    np.testing.assert_array_equal(quartile(values), pd.qcut(values, 4, labels=False))
    assert set(quartile(np.array([0.9, 0.9, 0.9, np.nan]))[:3]) == {0.0}
    assert np.isnan(quartile(np.array([np.nan]))).all()


def test_population_lists_what_it_leaves_out(study: Study) -> None:
    made = gathered(study)
    n_untested = int(((study.classes()["n"] == 0) & (study.classes()["level"] > 0)).sum())
    assert [(out.reason, out.n_rows) for out in made.left_out] == [(NO_EXAMPLE, n_untested)]
    classes = study.classes()
    headless = classes[~((classes["run"] == classes["run"].iloc[0]) & (classes["level"] == 0))]
    facts = lambda run: study.class_facts(examples_name(study.run_record(run).spec))  # noqa: E731
    assert NO_DENSE in {out.reason for out in population(headless, facts).left_out}


def test_a_data_set_without_facts_loses_the_terms_not_the_rows(study: Study) -> None:
    def nothing(run: str) -> pd.DataFrame:
        raise PruneScopeError("there are none")

    found = regression(population(study.classes(), nothing))
    assert {"imbalance", "entropy"} <= {out.what for out in found.left_out}
    assert found.statistics.n_rows == len(gathered(study).table)


@pytest.mark.parametrize("wrong", ["twice", "percent"])
def test_a_table_that_makes_no_sense_is_refused(study: Study, wrong: str) -> None:
    classes = study.classes()
    classes = pd.concat([classes, classes.iloc[:1]]) if wrong == "twice" else classes.assign(sparsity=95.0)
    with pytest.raises(PruneScopeError, match="stand twice" if wrong == "twice" else "A sparsity is 95"):
        population(classes, lambda run: study.class_facts("qmnist-writers"))


# -- the command ------------------------------------------------------------------------------------------------------


def test_command_prints_the_table_and_writes_the_coefficients(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coefficients.csv"
    words = ["regression", "--study", str(study.path), "--only", "network=lenet", "--csv", str(file)]
    assert main([*words, "--without", "finetune"]) == 0
    said = capsys.readouterr().out
    assert "OLS Regression Results" in said and "Left out: treatment: all rows have the same treatment." in said
    assert "imbalance > 0" in said and "Caution:" in said and "sparsity" in said
    written = pd.read_csv(file)
    assert set(written["errors"]) == set(ERRORS) and "np.exp(sparsity)" in set(written["column"])
    assert main([*words[:3], "--terms", "plain", "--link", "logit", "--errors", "run"]) == 0
    assert "Generalized Linear Model" in capsys.readouterr().out
    assert main([*words[:3], "--formula", "accuracy ~ sparsity + entropy"]) == 0
    assert "entropy < 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--terms", "sparsity,foo"], "There is no term 'foo'"),
        (["--only", "colour=red"], "There is no column 'colour'"),
        (["--only", "network=lennet"], "No row has network 'lennet'; there are lenet, vgg11."),
        (["--formula", "accuracy ~ nothing"], "'nothing' is not defined"),
    ],
)
def test_command_says_mistakes_in_a_sentence(
    study: Study, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["regression", "--study", str(study.path), *arguments]) == 1
    assert message in capsys.readouterr().err


def test_logit_of_an_empty_design_is_the_mean() -> None:
    y = np.array([0.2, 0.4, 0.9])
    fit = logit_fit(dense_design(("Intercept",), np.ones((3, 1))), y)
    assert fit.fitted == pytest.approx(np.full(3, 0.5))
