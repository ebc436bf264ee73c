"""The promise against MAPIE, against sums written out, and against a known truth."""

import os
from math import comb

import numpy as np
import pytest
from mapie.risk_control import control_fwer
from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value

from engine.analysis.frontier.promise import (
    ALL_KEPT,
    EMPTY,
    NONE_KEPT,
    STOPPED,
    binomial_p_value,
    fixed_sequence,
    hoeffding_bentkus_p_value,
    promised_accuracy,
    promised_choice,
    promised_loss,
)

N_SIMULATED = 1000 if os.environ.get("PRUNESCOPE_FULL") else 300
DELTA = 0.10
SLACK = 0.0 if N_SIMULATED == 1000 else 2 * np.sqrt(DELTA * (1 - DELTA) / N_SIMULATED)


@pytest.mark.parametrize(("errors", "n", "limit"), [(0, 10, 0.1), (3, 20, 0.3), (20, 20, 0.5), (5, 50, 0.02)])
def test_binomial_tail_equals_its_sum(errors: int, n: int, limit: float) -> None:
    tail = sum(comb(n, k) * limit**k * (1 - limit) ** (n - k) for k in range(errors + 1))
    assert binomial_p_value(errors / n, n, limit) == pytest.approx(tail)


def test_limits_beyond_a_rate() -> None:
    assert binomial_p_value(0.5, 10, [-0.1, 0.0, 1.0]).tolist() == [1, 1, 0]
    assert hoeffding_bentkus_p_value(0.5, 10, [-0.1, 0.0]).tolist() == [1, 1]


def test_hoeffding_bentkus_equals_mapie() -> None:
    rng = np.random.default_rng(0)
    mean, n = rng.uniform(0, 0.4, 50), rng.integers(20, 2000, 50)
    for limit in (0.05, 0.1, 0.3):
        referee = np.minimum(compute_hoeffding_bentkus_p_value(mean, n, limit)[:, 0], 1)
        np.testing.assert_allclose(hoeffding_bentkus_p_value(mean, n, limit), referee, rtol=1e-6, atol=1e-300)


def test_sequence_equals_mapie() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        p = np.sort(rng.uniform(0, 0.3, 8)) if rng.random() < 0.5 else rng.uniform(0, 0.2, 8)
        passed = list(control_fwer(p, DELTA, fwer_method="fixed_sequence"))
        chosen = fixed_sequence(p[:, None], DELTA).chosen
        assert ([] if chosen is None else list(range(chosen + 1))) == passed


def test_every_group_must_pass_and_testing_stops_at_the_first_failure() -> None:
    got = fixed_sequence([[0.01, 0.02], [0.05, 0.09], [0.2, 0.01], [0.0, 0.0]], DELTA)
    assert (got.chosen, got.stopped, got.worst_group, got.reason) == (1, 2, 0, STOPPED)
    assert got.p_values[:3] == (0.02, 0.09, 0.2) and np.isnan(got.p_values[3])
    assert fixed_sequence([[0.5], [0.0]], DELTA).reason == NONE_KEPT
    assert fixed_sequence([[0.05], [0.0]], DELTA).reason == ALL_KEPT
    assert fixed_sequence(np.zeros((0, 0)), DELTA).reason == EMPTY
    with pytest.raises(ValueError, match="delta"):
        fixed_sequence([[0.1]], 0)


def test_group_without_examples_keeps_no_promise() -> None:
    got = promised_accuracy([100, 0], [[100, 0]], 0.5)
    assert got.chosen is None and got.worst_group == 1
    assert promised_loss([100, 0], [[0, 0]], [[0, 0]], 0.5).worst_group == 1
    assert promised_accuracy([], np.zeros((0, 0)), 0.5).reason == EMPTY


TRUTH = np.array([[0.97, 0.95], [0.96, 0.94], [0.95, 0.905], [0.94, 0.895], [0.9, 0.7]])
"""Accuracy of two groups as networks become sparser; at 0.90 the fourth breaks the promise by its second group."""


def test_accuracy_promise_breaks_in_at_most_delta() -> None:
    rng, broken, used = np.random.default_rng(2), 0, 0
    n = np.array([800, 400])
    for _ in range(N_SIMULATED):
        chosen = promised_accuracy(n, rng.binomial(n, TRUTH), 0.90, DELTA).chosen
        broken += chosen is not None and TRUTH[chosen].min() < 0.90
        used += chosen is not None
    assert broken / N_SIMULATED <= DELTA + SLACK
    assert used > 0.9 * N_SIMULATED, "a promise that never chooses is kept too easily"


def test_promise_on_the_border_breaks_nearly_as_often_as_allowed() -> None:
    rng, n = np.random.default_rng(3), np.array([500])
    broken = sum(
        promised_choice(n, rng.binomial(n, [[0.8999]]), 0.95, 0.05, DELTA).chosen == 0 for _ in range(N_SIMULATED)
    )
    assert 0.04 <= broken / N_SIMULATED <= DELTA + SLACK


def test_paired_promise_breaks_in_at_most_delta_and_allows_something() -> None:
    rng, n, broken, used = np.random.default_rng(4), np.array([1500, 1500]), 0, 0
    lost = np.array([[0.01, 0.01], [0.02, 0.03], [0.05, 0.071], [0.2, 0.3]])
    for _ in range(N_SIMULATED):
        counts = np.array(
            [[rng.multinomial(n[g], [rate, 0.01, 0.99 - rate])[:2] for g, rate in enumerate(row)] for row in lost]
        )
        chosen = promised_loss(n, counts[..., 0], counts[..., 1], 0.06, DELTA).chosen
        broken += chosen is not None and (lost[chosen] - 0.01).max() > 0.06
        used += chosen is not None
    assert broken / N_SIMULATED <= DELTA + SLACK and used > 0.9 * N_SIMULATED
