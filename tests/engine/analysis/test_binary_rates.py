"""Rates of a binary target between groups, against fairlearn."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    equalized_odds_difference,
    false_negative_rate,
    false_positive_rate,
)
from sklearn.metrics import accuracy_score

from engine.analysis.binary_rates import BINARY_RATES
from engine.analysis.columns import MODEL
from engine.analysis.groupings import group_rows, group_unfairness_table, grouping_of
from engine.api.fair_between import unfairness


def drawn(seed: int, n_groups: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, groups and what a model says that serves them unequally."""
    random = np.random.default_rng(seed)
    groups = random.integers(0, n_groups, 400)
    labels = (random.random(400) < 0.3 + 0.1 * groups).astype(int)
    flips = random.random(400) < 0.05 + 0.1 * groups
    return labels, np.array(["a", "b", "c", "d"])[groups], np.where(flips, 1 - labels, labels)


def referee(labels: np.ndarray, groups: np.ndarray, said: np.ndarray) -> dict[str, float]:
    def difference(metric: object) -> float:
        frame = MetricFrame(metrics=metric, y_true=labels, y_pred=said, sensitive_features=groups)
        return float(frame.difference(method="between_groups"))

    return {
        "error_gap": difference(accuracy_score),
        "fpr_gap": difference(false_positive_rate),
        "fnr_gap": difference(false_negative_rate),
        "selection_gap": float(demographic_parity_difference(labels, said, sensitive_features=groups)),
        "equalized_odds": float(equalized_odds_difference(labels, said, sensitive_features=groups)),
    }


@pytest.mark.parametrize("seed", range(20))
def test_every_rate_equals_fairlearn(seed: int) -> None:
    labels, groups, said = drawn(seed, 2 + seed % 3)
    values = unfairness(labels, said, groups)
    expected = referee(labels, groups, said)
    assert set(expected) == set(BINARY_RATES)
    assert values[list(expected)].to_dict() == pytest.approx(expected, abs=1e-12)


def test_a_target_of_three_classes_has_no_such_rates() -> None:
    labels, groups, _ = drawn(0)
    labels = np.where(np.arange(400) % 7, labels, 2)
    assert not set(BINARY_RATES) & set(unfairness(labels, labels, groups).index)


def test_a_group_without_positives_has_no_false_negative_rate() -> None:
    examples = pd.DataFrame({"label": [0, 0, 1, 1], "group": ["a", "a", "b", "b"]})
    models = pd.DataFrame({"run": "one", "level": [0]})
    grouping, right = grouping_of(examples, "group", 1), np.array([[True, False, True, False]])
    rows = group_rows(models, right, grouping, examples["label"].to_numpy() == 1)
    levels = models.assign(**dict.fromkeys(MODEL, ""), seed=0, sparsity=0.0)
    table = group_unfairness_table(levels, rows)
    assert np.isnan(table[["fnr_gap", "fpr_gap", "equalized_odds"]]).all(axis=None)
    assert table["error_gap"].tolist() == [0.0]
