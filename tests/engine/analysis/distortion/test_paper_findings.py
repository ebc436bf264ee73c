"""Findings of the paper: planted ones are found, their opposites called so, and noise decides nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.analysis.distortion.paper_findings import findings

RATIOS = (2.0, 10.0, 50.0)
PAPER = {
    "global_unstructured": (0.9, 1.2, 2.0),
    "undecayed": (0.8, 1.05, 1.5),
    "global_random": (0.5, 0.3, -0.2),
}
REVERSED = {
    "global_unstructured": (2.0, 1.2, 0.5),
    "undecayed": (2.5, 1.6, 0.8),
    "global_random": (1.5, 1.6, 1.7),
}


def models(planted: dict[str, tuple[float, ...]], noise: float = 0.05, n_seeds: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        {"series": name, "technique": name, "ratio": ratio, "seed": seed, "alpha": alpha + noise * rng.normal()}
        for name, alphas in planted.items()
        for ratio, alpha in zip(RATIOS, alphas, strict=True)
        for seed in range(n_seeds)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("planted", "said"), [(PAPER, "as there"), (REVERSED, "opposite")])
def test_what_is_planted_is_said(planted: dict[str, tuple[float, ...]], said: str) -> None:
    found = findings(models(planted))
    assert [one.key for one in found] == ["low", "high", "growth", "random", "undecayed"]
    assert [len(one.evidence) for one in found] == [2, 2, 4, 3, 3]
    assert [one.count(said) for one in found] == [2, 2, 4, 3, 3]


def test_noise_alone_decides_nothing() -> None:
    found = findings(models(dict.fromkeys(PAPER, (1.0, 1.0, 1.0)), noise=0.2))
    assert sum(one.count("undecided") for one in found) >= 13


def test_one_seed_decides_nothing() -> None:
    found = findings(models(PAPER, n_seeds=1))
    assert [len(one.evidence) for one in found] == [2, 2, 4, 3, 3]
    assert [one.count("undecided") for one in found] == [2, 2, 4, 3, 3]


def test_intervals_equal_scipy_seed_by_seed() -> None:
    table = models(PAPER)
    low, _, growth, _, undecayed = findings(table)
    alpha = {key: rows["alpha"].to_numpy() for key, rows in table.groupby(["series", "ratio"])}
    for one, values in (
        (low.evidence[0], alpha["global_unstructured", 2.0]),
        (growth.evidence[0], alpha["global_unstructured", 10.0] - alpha["global_unstructured", 2.0]),
        (undecayed.evidence[2], alpha["undecayed", 50.0] - alpha["global_unstructured", 50.0]),
    ):
        expected = stats.t.interval(0.99, 11, values.mean(), stats.sem(values))
        assert (one.mean, one.low, one.high) == pytest.approx((values.mean(), *expected))


def test_findings_without_their_techniques_are_left_out() -> None:
    found = findings(models({"l1_structured": (0.9, 1.2, 2.0)}))
    assert [one.key for one in found] == ["low", "high", "growth"]


def test_models_that_lost_no_weight_are_no_evidence() -> None:
    whole = models({"int8_static": (1.3, 1.3, 1.3)}).assign(ratio=1.0)
    assert findings(pd.concat([models(PAPER), whole])) == findings(models(PAPER))
    assert findings(whole) == []
