"""Wild cluster bootstrap, effects without each class: against direct computation, and coverage with few classes."""

import os

import numpy as np
import pandas as pd
import pytest

from engine.analysis.regression.block_design import dense_design, triangle
from engine.analysis.regression.class_evidence import (
    WildTest,
    class_scores,
    informing_classes,
    wild_rows,
    wild_weights,
    without_each_class,
)
from engine.analysis.regression.effects import Change, Setting, changes
from engine.analysis.regression.least_squares import Fit, linear_fit
from engine.analysis.regression.population_regression import fitted_model, regression
from tests.engine.analysis.regression.planted import planted_population

N_STUDIES = 1000 if os.environ.get("PRUNESCOPE_FULL") else 150


def small_fit(seed: int, n_clusters: int = 6, effect: float = 0.0) -> Fit:
    """A number that varies between clusters only, one that varies within, and errors that clusters share."""
    random = np.random.default_rng(seed)
    size = 8
    clusters = np.repeat(np.arange(n_clusters), size)
    between, within = random.normal(size=n_clusters)[clusters], random.normal(size=len(clusters))
    y = effect * between + 0.5 * within + random.normal(size=n_clusters)[clusters] + random.normal(size=len(clusters))
    design = dense_design(["one", "between", "within"], np.column_stack([np.ones(len(clusters)), between, within]))
    fit = linear_fit(design, y, triangle(design, y))
    return Fit(**(vars(fit) | {"clusters": {"class": clusters}}))


def slope_of(fit: Fit) -> Change:
    gradient = np.array([0.0, 1.0, 0.0])
    return Change("between", 0.0, 1.0, float(fit.coefficients[1]), gradient)


def direct_p(fit: Fit, draws: np.ndarray, null: float) -> float:
    """The same p by fitting the restricted model and every drawn outcome anew."""
    x, y, clusters = np.asarray(fit.design), fit.observed, fit.clusters["class"]
    others = x[:, [0, 2]]
    restricted = np.linalg.lstsq(others, y - null * x[:, 1])[0]
    mean = others @ restricted + null * x[:, 1]

    def t_of(outcome: np.ndarray) -> float:
        coefficients = np.linalg.lstsq(x, outcome)[0]
        residuals = outcome - x @ coefficients
        inverse = np.linalg.inv(x.T @ x)
        sums = np.stack([x[clusters == c].T @ residuals[clusters == c] for c in np.unique(clusters)])
        n_clusters, (n, k) = len(sums), x.shape
        factor = n_clusters / (n_clusters - 1) * (n - 1) / (n - k)
        return float((coefficients[1] - null) / np.sqrt(factor * (inverse @ sums.T @ sums @ inverse)[1, 1]))

    drawn = np.array([t_of(mean + (y - mean) * weights[clusters]) for weights in draws.T])
    return float((1 + (np.abs(drawn) >= abs(t_of(y)) * (1 - 1e-9)).sum()) / (1 + len(drawn)))


@pytest.mark.parametrize("n_clusters", [5, 13])
@pytest.mark.parametrize("null", [0.0, 0.7])
def test_the_bootstrap_equals_fitting_every_draw_anew(n_clusters: int, null: float) -> None:
    fit, draws = small_fit(1, n_clusters), wild_weights(n_clusters, 99, 3)
    assert WildTest(fit, class_scores(fit), slope_of(fit), draws).p(null) == direct_p(fit, draws, null)


def test_weights_have_mean_0_and_variance_1() -> None:
    for n_clusters, n_values in ((20, 2), (6, 6)):
        draws = wild_weights(n_clusters, 20_000, 0)
        assert len(np.unique(draws)) == n_values
        assert (draws.mean(), draws.var()) == pytest.approx((0, 1), abs=0.02)


def test_the_interval_holds_exactly_the_nulls_that_are_not_rejected() -> None:
    fit = small_fit(2, 9)
    test = WildTest(fit, class_scores(fit), slope_of(fit), wild_weights(9, 399, 0))
    low, high = test.ends()
    assert low < test.estimate < high
    inside, outside = (high - low) * 1e-6, (high - low) * 1e-3
    for end, sign in ((low, 1), (high, -1)):
        assert test.p(end + sign * inside) > 0.05 >= test.p(end - sign * outside * 0.001)


def test_intervals_cover_with_ten_classes_where_clustered_ones_do_not() -> None:
    covered, by_formula = 0, 0
    for seed in range(N_STUDIES):
        fit = small_fit(100 + seed, 10, effect=0.3)
        test = WildTest(fit, class_scores(fit), slope_of(fit), wild_weights(10, 199, seed))
        covered += test.p(0.3) > 0.05
        by_formula += abs(test.estimate - 0.3) < 1.96 * test.error
    assert 0.90 <= covered / N_STUDIES <= 0.985
    assert by_formula < covered


def test_effects_without_a_class_equal_fits_without_it() -> None:
    model = fitted_model(planted_population(), ("sparsity", "imbalance", "entropy", "dataset", "accuracy0"))
    changed = changes(Setting(model.fit, model.layout, model.table))[:2]
    rows = without_each_class(model.fit, changed, model.table)
    assert len(rows) == 2 * model.fit.n_clusters("class")
    assert rows["change"].abs().is_monotonic_decreasing
    x, names = np.asarray(model.fit.design), model.table["dataset"].astype(str)
    for row in rows.iloc[::7].to_dict("records"):
        kept = ~((names == row["dataset"]) & (model.table["class"] == row["class"])).to_numpy()
        coefficients = np.linalg.lstsq(x[kept], model.fit.observed[kept])[0]
        change = next(change for change in changed if change.key == row["key"])
        assert row["estimate"] == pytest.approx(change.gradient @ coefficients, rel=1e-7)
        assert row["change"] == pytest.approx(row["estimate"] - change.estimate)


def test_an_effect_that_one_class_alone_carries_is_unknown_without_it() -> None:
    table = planted_population().table
    lone = (table["dataset"] == "dataset000") & (table["class"] == 0)
    made = type(planted_population())(table.assign(imbalance=np.where(lone, 0.1, 0.0)))
    model = fitted_model(made, ("sparsity", "imbalance"))
    changed = [change for change in changes(Setting(model.fit, model.layout, model.table)) if change.key == "imbalance"]
    rows = without_each_class(model.fit, changed, model.table).set_index(["dataset", "class"])
    assert np.isnan(rows.loc[("dataset000", 0), "estimate"]) and rows["estimate"].isna().sum() == 1
    assert informing_classes(model.table, "imbalance") == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.0] * 6, 0), ([0.0, 0.0, 0.0, 0.0, 0.1, -0.1], 2), ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 6)],
)
def test_classes_inform_where_they_differ_from_the_majority(values: list[float], expected: int) -> None:
    table = pd.DataFrame({"dataset": "a", "class": range(6), "imbalance": values})
    assert informing_classes(pd.concat([table, table]), "imbalance") == expected


def test_the_widest_interval_is_found_and_the_logit_has_no_bootstrap() -> None:
    result = regression(planted_population())
    for key in ("imbalance", "entropy"):
        rows = result.effects[result.effects["key"] == key]
        assert "wild" in set(rows["errors"])
        assert result.widest(key)["high"] - result.widest(key)["low"] == (rows["high"] - rows["low"]).max()
    logit = regression(planted_population(), link="logit")
    assert "wild" not in set(logit.effects["errors"]) and logit.without_class.empty
    assert result.informing == {"imbalance": 21, "entropy": 21}
    assert wild_rows(fitted_model(planted_population()).fit, []).empty
