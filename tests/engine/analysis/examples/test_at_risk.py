"""Who is at risk: scores and precisions by hand, against scikit-learn, and on made-up networks whose truth is known."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.metrics import precision_score

from engine.analysis.examples.at_risk import (
    SCORES,
    SHARES,
    at_risk_table,
    disagreement,
    lost,
    small_margin,
    top_precision,
    top_size,
)


def made_networks(n: int, n_models: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Difficulty of each example, what dense networks say (label 0 is right), and the chance that pruning loses it."""
    difficulty = draw.beta(1, 6, n)
    dense = (draw.random((n_models, n)) < difficulty).astype(int)
    return difficulty, dense, np.clip(1.5 * difficulty, 0, 0.9)


def test_disagreement_is_the_share_of_pairs_that_differ() -> None:
    dense = np.random.default_rng(0).integers(0, 3, (5, 40))
    pairs = list(itertools.combinations(range(5), 2))
    expected = np.mean([dense[a] != dense[b] for a, b in pairs], axis=0)
    np.testing.assert_allclose(disagreement(dense, 3), expected)
    assert np.isnan(disagreement(dense[:1], 3)).all()


def test_a_small_margin_is_one_minus_the_mean() -> None:
    np.testing.assert_allclose(small_margin(np.array([[0.2, 1.0], [0.4, 1.0]])), [0.7, 0.0])


def test_lost_is_right_before_and_wrong_after() -> None:
    labels, before, after = np.array([1, 1, 1, 1]), np.array([[1, 1, 0, 0]]), np.array([[1, 0, 1, 0]])
    assert lost(labels, before, after).tolist() == [[False, True, False, False]]


@pytest.mark.parametrize("share", SHARES)
def test_precision_equals_that_of_scikit_learn(share: float) -> None:
    draw = np.random.default_rng(1)
    score, hit = draw.random(997), draw.random((4, 997)) < 0.2
    picked = np.zeros(997, bool)
    picked[np.argsort(-score)[: top_size(997, share)]] = True
    expected = [precision_score(truth, picked) for truth in hit]
    np.testing.assert_allclose(top_precision(score, hit, share), expected)


def test_ties_at_the_edge_are_the_mean_over_all_ways_to_fill_it() -> None:
    score = np.array([3.0, 2.0, 2.0, 2.0, 1.0, 0.0])
    hit = np.array([[1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 1, 1]], bool)

    def ways() -> Iterator[list[int]]:
        for filled in itertools.combinations([1, 2, 3], 2):
            yield [0, *filled]

    expected = np.mean(
        [[precision_score(truth, np.isin(np.arange(6), way)) for truth in hit] for way in ways()], axis=0
    )
    np.testing.assert_allclose(top_precision(score, hit, 0.5), expected)


def test_the_table_finds_the_known_truth_and_its_intervals_hold() -> None:
    """The expected precision is the mean chance of being lost in the top; intervals hold it about 95 times of 100."""
    draw = np.random.default_rng(2)
    difficulty, _, chance = made_networks(4000, 6, draw)
    inside, tries = 0, 300
    for _ in range(tries):
        table = at_risk_table({"margin": difficulty}, draw.random((6, 4000)) < chance).set_index("top")
        top = np.argsort(-difficulty)[:400]
        row = table.loc[0.10]
        inside += row["low"] <= chance[top].mean() <= row["high"]
        assert row["above"] == pytest.approx(row["precision"] - row["chance"])
    assert 0.91 <= inside / tries <= 0.985


def test_networks_that_disagree_tell_who_is_lost_and_a_blind_score_does_not() -> None:
    draw = np.random.default_rng(3)
    _, dense, chance = made_networks(20_000, 8, draw)
    hit = (dense == 0) & (draw.random(dense.shape) < chance)
    scores = {"disagreement": disagreement(dense, 2), "blind": draw.random(20_000)}
    table = at_risk_table(scores, hit).set_index(["score", "top"])
    for share in SHARES:
        assert table.loc[("disagreement", share), "above_low"] > 0.05
        assert abs(table.loc[("blind", share), "above"]) < 0.05
    assert table["chance"].nunique() == 1 and table.loc[("blind", 0.01), "n"] == 200


def test_one_network_has_no_interval_and_scores_that_say_nothing_are_left_out() -> None:
    hit = np.random.default_rng(4).random((1, 100)) < 0.3
    scores = {"disagreement": np.full(100, np.nan), "flat": np.zeros(100), "margin": np.arange(100.0)}
    table = at_risk_table(scores, hit)
    assert set(table["score"]) == {"margin"} and table[["low", "high", "above_low"]].isna().all(axis=None)
    assert set(SCORES) == {"disagreement", "margin"}
