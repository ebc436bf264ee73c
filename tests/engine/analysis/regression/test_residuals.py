"""Bins of residuals hold every row."""

import numpy as np
import pytest

from engine.analysis.regression.residuals import residual_bins


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
