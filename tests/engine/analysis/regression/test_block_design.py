"""Blocks of any shape: their triangles and covariances against statsmodels, scales, and columns that repeat others."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_hac_simple

from engine.analysis.regression import sandwich
from engine.analysis.regression.block_design import Design, dense_design, dependent_columns, triangle
from engine.analysis.regression.least_squares import linear_fit
from engine.analysis.regression.population_regression import fitted_model
from engine.analysis.regression.standard_errors import estimates
from tests.engine.analysis.regression.planted import planted_population


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
    covariance = estimates(fitted_model(planted_population()).fit, "hac").covariance
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-15)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12


def test_badly_scaled_columns_keep_eight_digits() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)) * [1, 1e6, 1e-6] + [0, 1e8, 0]
    matrix = np.column_stack([np.ones(500), x])
    truth = np.array([1.0, 2.0, 3e-6, 4e6])
    y = matrix @ truth
    design = dense_design(("one", "a", "b", "c"), matrix)
    np.testing.assert_allclose(linear_fit(design, y, triangle(design, y)).coefficients[1:], truth[1:], rtol=1e-8)


def test_dependent_columns_are_found_with_what_they_combine() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    matrix = np.column_stack([np.ones(50), x, 2 * x[:, 0] - 3, np.zeros(50)])
    upper = triangle(dense_design(tuple("abcdef"), matrix), rng.normal(size=50))
    assert dependent_columns(upper[:-1, :-1]) == {4: [0, 1], 5: []}
