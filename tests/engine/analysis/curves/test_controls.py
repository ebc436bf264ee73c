"""Changes against the control, beside scipy's paired t-test."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from engine.analysis.curves.controls import against_control
from engine.analysis.distortion.series_controls import series_beside_controls


def table(values: dict[tuple[int, int], float]) -> pd.DataFrame:
    """Rows by (seed, level)."""
    return pd.DataFrame([{"seed": seed, "level": level, "accuracy": value} for (seed, level), value in values.items()])


def test_change_and_interval_are_scipys() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.9, 0.02, 6), rng.normal(0.95, 0.02, 6)
    models = table({(seed, 3): value for seed, value in enumerate(ours)})
    controls = table({(seed, level): value - (level != 3) for level in (0, 3) for seed, value in enumerate(theirs)})
    found = against_control(models, controls.sample(frac=1, random_state=1), "accuracy")
    assert found is not None and found.n_seeds == 6
    expected = ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.model, found.control) == pytest.approx((ours.mean(), theirs.mean()))
    assert found.change == pytest.approx(ours.mean() - theirs.mean())


def test_only_seeds_that_both_have_count() -> None:
    models = table({(0, 2): 0.5, (1, 2): 0.7, (2, 2): np.nan})
    controls = table({(1, 2): 0.9, (2, 2): 0.1, (5, 2): 0.0, (0, 1): 0.0})
    found = against_control(models, controls, "accuracy")
    assert found is not None and (found.n_seeds, found.model, found.control) == (1, 0.7, 0.9)
    assert found.change == pytest.approx(-0.2) and np.isnan(found.low) and np.isnan(found.high)


def test_no_pair_is_none() -> None:
    assert against_control(table({(0, 2): 0.5}), table({(0, 1): 0.5, (1, 2): 0.5}), "accuracy") is None
    assert against_control(table({(0, 2): 0.5}), table({(0, 2): 0.5}).iloc[:0], "accuracy") is None


def test_models_beside_controls_are_what_pairs_give() -> None:
    rng = np.random.default_rng(1)
    keys = [(seed, level) for seed in range(4) for level in (1, 2)]
    models, controls = (
        table(dict(zip(keys, rng.random(8), strict=True))).assign(alpha=rng.random(8)) for _ in range(2)
    )
    models = models.assign(dense_accuracy=0.5, series="tuned")
    shuffled = controls.sample(frac=1, random_state=2)
    found, controlled = series_beside_controls(models, {"tuned": shuffled})
    assert controlled == {"tuned"} and list(found) == [*models]
    for level in (1, 2):
        pairs = against_control(models[models["level"] == level], controls, "alpha")
        assert pairs is not None
        assert found.loc[found["level"] == level, "alpha"].mean() - 1 == pytest.approx(pairs.change)
    np.testing.assert_allclose(found["dense_accuracy"], controls["accuracy"])
    assert series_beside_controls(models, {"tuned": shuffled[shuffled["seed"] > 0]})[1] == frozenset(), "one lacks it"
