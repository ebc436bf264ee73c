"""The frontier against a check of all pairs, and operating points against a plain loop."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.columns import MODEL
from engine.analysis.frontier.points import operating_points, pareto_front, seed_points, usual_dense
from engine.analysis.unfairness import UNFAIRNESS, unfairness_table
from tests.support.study_tables import study_tables

COARSE = st.integers(0, 5).map(lambda k: k / 5)
NUMBERS = st.one_of(COARSE, COARSE, st.floats(-10, 10), st.just(float("nan")), st.sampled_from([np.inf, -np.inf]))
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=25).map(lambda p: np.array(p, float).reshape(-1, 2).T)


def dominates(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(a[0] >= b[0] and a[1] <= b[1] and (a[0] > b[0] or a[1] < b[1]))


def all_pairs(points: np.ndarray) -> np.ndarray:
    """The frontier by its definition; row a, column b of each matrix is one pair."""
    (sparse, unfair), (sparse_b, unfair_b) = points[:, :, None], points[:, None, :]
    at_least = (sparse >= sparse_b) & (unfair <= unfair_b)
    better = (sparse > sparse_b) | (unfair < unfair_b)
    return ~(at_least & better).any(axis=0) & ~np.isnan(points).any(axis=0)


@settings(max_examples=500, deadline=None)
@given(POINTS)
def test_front_equals_all_pairs(points: np.ndarray) -> None:
    assert pareto_front(*points).tolist() == all_pairs(points).tolist()


def test_front_equals_all_pairs_on_thousands_of_sets() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5000):
        points = rng.integers(0, rng.integers(1, 12), (2, rng.integers(0, 30))) / 7
        points[rng.random(points.shape) < rng.choice([0.0, 0.1, 0.9])] = np.nan
        assert pareto_front(*points).tolist() == all_pairs(points).tolist()


@settings(max_examples=200, deadline=None)
@given(POINTS, st.randoms())
def test_front_has_its_properties(points: np.ndarray, random: st.DataObject) -> None:
    front = pareto_front(*points)
    known = ~np.isnan(points).any(axis=0)
    assert front.any() == known.any()
    kept = points[:, front]
    for dropped in points[:, known & ~front].T:
        assert any(dominates(point, dropped) for point in kept.T)
    order = list(range(points.shape[1]))
    random.shuffle(order)
    assert pareto_front(*points[:, order]).tolist() == front[order].tolist()
    assert pareto_front(*kept).all()
    assert pareto_front(*np.hstack([points, points])).tolist() == [*front, *front]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=25))
def test_front_is_unchanged_by_monotone_transforms(points: list[tuple[int, int]]) -> None:
    sparsity, unfairness = np.array(points, float).T
    assert (pareto_front(sparsity, unfairness) == pareto_front(sparsity**3 + 7, np.exp(unfairness / 10))).all()


def test_front_of_a_large_set_equals_all_pairs() -> None:
    points = np.random.default_rng(1).integers(0, 40, (2, 600)) / 40
    assert pareto_front(*points).tolist() == all_pairs(points).tolist()


def test_single_point_is_on_the_front_and_nan_never() -> None:
    assert pareto_front([0.5], [0.1]).tolist() == [True]
    assert pareto_front([0.5, 0.9], [0.1, np.nan]).tolist() == [True, False]
    assert pareto_front([], []).tolist() == []


def test_operating_points_equal_a_plain_loop() -> None:
    levels, classes = study_tables()
    unfairness = unfairness_table(classes)
    points = operating_points(levels, unfairness)
    assert len(points) == 2 * 4 and points["point"].tolist() == list(range(8))
    for _, point in points.iterrows():
        runs = levels[(levels["technique"] == point["technique"]) & (levels["level"] == point["level"])]
        assert point["n_seeds"] == 3
        assert point["accuracy"] == pytest.approx(np.mean(runs["accuracy"]))
        assert point["accuracy_sd"] == pytest.approx(np.std(runs["accuracy"], ddof=1))
        merged = runs.merge(unfairness, on=["run", "level"])
        for measure in UNFAIRNESS:
            assert point[measure] == pytest.approx(np.mean(merged[measure]))
            assert point[f"{measure}_sd"] == pytest.approx(np.std(merged[measure], ddof=1))
        dense = points[points["point"] == point["dense"]].iloc[0]
        assert dense["level"] == 0 and dense["technique"] == point["technique"]


def test_seed_points_lead_to_the_same_points() -> None:
    levels, classes = study_tables()
    unfairness = unfairness_table(classes)
    shuffled = levels.sample(frac=1, random_state=0).astype(dict.fromkeys(MODEL, "category"))
    points, seeds = operating_points(levels, unfairness), seed_points(shuffled, unfairness)
    means = seeds.groupby("point")["max_min"].mean()
    assert means.to_numpy() == pytest.approx(points["max_min"].to_numpy())
    assert seeds.groupby("point")["technique"].first().astype(str).tolist() == points["technique"].tolist()


def test_protocols_are_never_averaged() -> None:
    levels, classes = study_tables(("global",), n_seeds=2)
    levels.loc[levels["seed"] == 1, "protocol"] = "5 epochs"
    points = operating_points(levels, unfairness_table(classes))
    assert (points["n_seeds"] == 1).all() and points["accuracy_sd"].isna().all()


def test_missing_dense_level_is_marked_and_its_measures_are_nan() -> None:
    levels, classes = (table[table["level"] > 0] for table in study_tables(("global",)))
    points = operating_points(levels, unfairness_table(classes))
    assert points["dense"].tolist() == [-1] * 3
    assert points["change_range"].isna().all() and (points["change_range_n"] == 0).all()
    assert points["max_min"].notna().all()


def test_empty_study_has_no_points() -> None:
    levels, classes = (table.iloc[:0] for table in study_tables())
    points = operating_points(levels, unfairness_table(classes))
    assert isinstance(points, pd.DataFrame) and points.empty


def test_usual_dense_networks_are_those_trained_without_mitigation_where_there_are_any() -> None:
    points = pd.DataFrame({"level": [0, 1, 0, 0], "mitigation": ["none", "none", "both, worst", ""]})
    assert usual_dense(points).tolist() == [True, False, False, True]
    assert usual_dense(points[1:3]).tolist() == [False, True]
