"""Effects as differences of mean predictions, the paper's one-sided tests, and intervals that cover planted values."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from engine.analysis.regression.block_design import triangle
from engine.analysis.regression.design_columns import layout
from engine.analysis.regression.effects import STEPS, Setting, effects
from engine.analysis.regression.least_squares import linear_fit
from engine.analysis.regression.population import Population
from engine.analysis.regression.population_regression import fitted_model, regression
from engine.analysis.regression.standard_errors import ERRORS, estimates
from engine.analysis.regression.terms import PAPER, PLAIN, checked_terms
from tests.engine.analysis.regression.planted import HAC, planted_population, planted_with, reference


def mean_prediction(table: pd.DataFrame, keys: tuple[str, ...]) -> Callable[..., float]:
    """Mean fitted accuracy by statsmodels' formula when columns are changed."""
    theirs = reference(table, keys)
    return lambda **columns: float(theirs.predict(table.assign(**columns)).mean())


def test_effects_are_differences_of_mean_predictions() -> None:
    table = planted_population().table
    keys = checked_terms((*PAPER, "np.exp(sparsity):imbalance"))
    mean = mean_prediction(table, keys)
    rows = regression(planted_population(), keys).effects.query("errors == 'hac'").set_index("key")
    for key, step in STEPS.items():
        assert rows.loc[key, "estimate"] == pytest.approx(mean(**{key: table[key] + step}) - mean())
    low, high = rows.loc["sparsity", ["begin", "end"]]
    assert rows.loc["sparsity", "estimate"] == pytest.approx(mean(sparsity=high) - mean(sparsity=low))
    by_technique = {name: mean(technique=name) for name in table["technique"].cat.categories}
    assert rows.loc["technique", "end"] == max(by_technique, key=by_technique.__getitem__)
    assert rows.loc["technique", "estimate"] == pytest.approx(max(by_technique.values()) - min(by_technique.values()))


def test_an_effect_without_cross_terms_is_its_coefficient_with_its_errors() -> None:
    result = regression(planted_population(), PAPER)
    for kind in ERRORS:
        row = result.effects.query("errors == @kind and key == 'imbalance'").iloc[0]
        coefficient = result.with_errors(kind).set_index("column").loc["imbalance"]
        assert row["estimate"] == pytest.approx(0.01 * coefficient["coefficient"])
        assert (row["low"], row["high"]) == pytest.approx((0.01 * coefficient["low"], 0.01 * coefficient["high"]))


def test_effects_of_the_logit_are_those_of_its_predictions_with_delta_method_errors() -> None:
    model = fitted_model(planted_population(), PLAIN, "logit")
    results = {"hac": estimates(model.fit, "hac")}
    row = effects(Setting(model.fit, model.layout, model.table), results).set_index("key").loc["imbalance"]
    now = np.asarray(model.fit.design)
    moved = np.asarray(layout(model.table, PLAIN).design(model.table.assign(imbalance=model.table["imbalance"] + 0.01)))

    def change(params: np.ndarray) -> float:
        means = [1 / (1 + np.exp(-(matrix @ params))) for matrix in (now, moved)]
        return float((means[1] - means[0]).mean())

    params = model.fit.coefficients
    slopes = [(change(params + h) - change(params - h)) / 2e-5 for h in 1e-5 * np.eye(len(params))]
    assert row["estimate"] == pytest.approx(change(params))
    assert row["se"] == pytest.approx(np.sqrt(slopes @ estimates(model.fit, "hac").covariance @ slopes), rel=1e-5)


def test_one_sided_tests_point_where_the_paper_points() -> None:
    result = regression(planted_population())
    theirs = reference(planted_population().table, PAPER, **HAC)
    imbalance, entropy = result.tests
    assert (imbalance.direction, entropy.direction) == (1, -1)
    assert imbalance.p == pytest.approx(theirs.pvalues["imbalance"] / 2, abs=1e-12) and imbalance.p < 0.001
    assert entropy.p == pytest.approx(theirs.pvalues["entropy"] / 2, abs=1e-12) and entropy.p < 0.001
    upside_down = regression(planted_with(imbalance=-planted_population().table["imbalance"])).tests[0]
    assert upside_down.p == pytest.approx(1 - imbalance.p)


def test_planted_effects_lie_in_95_percent_intervals_in_93_to_97_percent_of_seeds() -> None:
    base = planted_population(n_datasets=2, n_techniques=2, n_levels=3, n_classes=10).table
    design = layout(base, PLAIN).design(base)
    truth = np.random.default_rng(1).normal(size=design.shape[1])
    mean, rng = design.times(truth), np.random.default_rng(2)
    covered = []
    for _ in range(400):
        y = mean + rng.normal(0, 0.1, len(base)) * (0.5 + base["sparsity"].to_numpy())
        fit = linear_fit(design, y, triangle(design, y))
        se = np.sqrt(np.diag(estimates(fit, "hc3").covariance))
        covered.append(np.abs(fit.coefficients - truth) < 1.96 * se)
    assert 0.93 < np.mean(covered) < 0.97


def test_errors_by_run_see_what_hac_does_not() -> None:
    table = planted_population(n_datasets=4, n_seeds=4).table
    shock = np.random.default_rng(0).normal(0, 0.1, table["run"].nunique())[table["run"].cat.codes]
    result = regression(Population(table.assign(accuracy=table["accuracy"] + shock)), PLAIN)
    network = result.coefficients[result.coefficients["term"] == "network"].set_index("errors")["se"]
    assert network["run"] > 2 * network["hac"]
