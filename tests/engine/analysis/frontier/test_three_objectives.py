"""The frontier of three objectives against a check of all pairs, with the properties of that of two."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.frontier.points import pareto_front
from engine.analysis.frontier.three_objectives import pareto_front_3d, techniques_on_front

COARSE = st.integers(0, 4).map(lambda k: k / 4)
NUMBERS = st.one_of(COARSE, COARSE, st.floats(-10, 10), st.just(float("nan")), st.sampled_from([np.inf, -np.inf]))
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=25).map(lambda p: np.array(p, float).reshape(-1, 3).T)


def all_pairs(points: np.ndarray) -> np.ndarray:
    """The frontier by its definition: sparsity and accuracy up, unfairness down."""
    a, b = points[:, :, None], points[:, None, :]
    up = np.array([a[0] >= b[0], a[1] <= b[1], a[2] >= b[2]])
    better = np.array([a[0] > b[0], a[1] < b[1], a[2] > b[2]])
    return ~(up.all(axis=0) & better.any(axis=0)).any(axis=0) & ~np.isnan(points).any(axis=0)


@settings(max_examples=400, deadline=None)
@given(POINTS)
def test_front_equals_all_pairs(points: np.ndarray) -> None:
    assert pareto_front_3d(*points).tolist() == all_pairs(points).tolist()


def test_front_equals_all_pairs_on_thousands_of_sets() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        points = rng.integers(0, rng.integers(1, 12), (3, rng.integers(0, 30))) / 7
        points[rng.random(points.shape) < rng.choice([0.0, 0.1, 0.9])] = np.nan
        assert pareto_front_3d(*points).tolist() == all_pairs(points).tolist()


@settings(max_examples=150, deadline=None)
@given(POINTS, st.randoms())
def test_front_has_its_properties(points: np.ndarray, random: st.DataObject) -> None:
    front = pareto_front_3d(*points)
    whole = ~np.isnan(points).any(axis=0)
    assert front.any() == whole.any()
    kept = points[:, front]
    for dropped in points[:, whole & ~front].T:
        at_least = (kept[0] >= dropped[0]) & (kept[1] <= dropped[1]) & (kept[2] >= dropped[2])
        assert (at_least & (kept != dropped[:, None]).any(axis=0)).any()
    order = list(range(points.shape[1]))
    random.shuffle(order)
    assert pareto_front_3d(*points[:, order]).tolist() == front[order].tolist()
    assert pareto_front_3d(*kept).all()
    assert pareto_front_3d(*np.hstack([points, points])).tolist() == [*front, *front]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-50, 50)] * 3), min_size=1, max_size=25))
def test_front_is_unchanged_by_monotone_transforms(points: list[tuple[int, int, int]]) -> None:
    sparsity, unfairness, accuracy = np.array(points, float).T
    moved = pareto_front_3d(sparsity**3 + 7, np.exp(unfairness / 10), np.arctan(accuracy / 10))
    assert (pareto_front_3d(sparsity, unfairness, accuracy) == moved).all()


def test_front_of_two_is_that_of_three_with_one_accuracy() -> None:
    sparsity, unfairness = np.random.default_rng(1).integers(0, 40, (2, 500)) / 40
    same = np.full(500, 0.9)
    assert pareto_front_3d(sparsity, unfairness, same).tolist() == pareto_front(sparsity, unfairness).tolist()


def test_every_point_of_two_objectives_has_an_equal_among_those_of_three() -> None:
    points = np.random.default_rng(2).integers(0, 15, (3, 400)) / 15
    front = pareto_front_3d(*points)
    two = {tuple(point) for point in points[:2, pareto_front(*points[:2])].T}
    assert two <= {tuple(point) for point in points[:2, front].T}


@pytest.mark.parametrize("on_front", [False, True])
def test_front_of_very_many_points_takes_seconds(on_front: bool) -> None:
    points = np.random.default_rng(3).random((3, 100_000))
    if on_front:  # the worst case: nobody beats anybody
        points[2] = points[1] - points[0]
    began = time.thread_time()
    front = pareto_front_3d(*points)
    assert time.thread_time() - began < 10
    assert front.all() == on_front


def test_techniques_say_whether_and_where_they_are_optimal() -> None:
    points = pd.DataFrame(
        {
            "technique": ["magnitude", "magnitude", "random", "random", "magnitude"],
            "sparsity": [0.9, 0.5, 0.5, 0.9, 0.9],
            "max_min": [0.2, 0.1, 0.2, 0.3, 0.2],
            "accuracy": [0.8, 0.9, 0.9, 0.7, 0.8],
        }
    )
    table = techniques_on_front(points, pareto_front_3d(points["sparsity"], points["max_min"], points["accuracy"]))
    assert table["technique"].tolist() == ["magnitude", "random"]
    assert table["n_points"].tolist() == [3, 2] and table["n_on_front"].tolist() == [3, 0]
    assert table["is_optimal"].tolist() == [True, False]
    assert table["sparsities"].tolist() == [(0.5, 0.9), ()]
    assert table["lowest"][0] == 0.5 and table["highest"][0] == 0.9 and np.isnan(table["lowest"][1])
    assert techniques_on_front(points.iloc[:0], []).empty
