"""Change-over weights against a scan of many weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.weight_ranges import change_over_weights
from tests.support.study_tables import points_table

PAIRS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(PAIRS)
def test_intervals_equal_a_scan_of_weights(pairs: list[tuple[int, int]]) -> None:
    sparsity, unfairness = np.array(pairs).T / 20
    points = points_table(sparsity, unfairness)
    table = change_over_weights(points, choose(points, 0.5, 1.0))
    weights = np.geomspace(0.013, 970, 300)
    values = sparsity - weights[:, None] * unfairness
    best = values >= values.max(axis=1, keepdims=True) - 1e-12
    inside = np.zeros(best.shape, bool)
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    inside[:, table["position"]] = (low <= weights[:, None]) & (weights[:, None] <= high)
    assert (inside == best).all()
    assert table["low"].min() == 0 and table["high"].max() == np.inf


def test_change_over_lies_where_two_points_have_the_same_value() -> None:
    points = points_table([0.0, 0.5, 0.9], [0.01, 0.02, 0.10])
    table = change_over_weights(points, choose(points, 0.5, 1.0))
    assert table["position"].tolist() == [2, 1, 0]
    assert table["low"].tolist() == pytest.approx([0, 5, 50])
    assert table["high"].tolist() == pytest.approx([5, 50, np.inf])


def test_points_in_line_and_equal_points_are_kept() -> None:
    points = points_table([0.1, 0.2, 0.3, 0.3], [0.1, 0.2, 0.3, 0.3])
    table = change_over_weights(points, choose(points, 0.5, 1.0)).set_index("position")
    assert table["low"].to_dict() == pytest.approx({2: 0, 3: 0, 1: 1, 0: 1})
    assert table["high"].to_dict() == pytest.approx({2: 1, 3: 1, 1: 1, 0: np.inf})


def test_range_of_the_slider_cuts_the_intervals() -> None:
    points = points_table([0.0, 0.5, 0.9], [0.0100, 0.0101, 0.10])
    table = change_over_weights(points, choose(points, 0.5, 1.0), within=(0.01, 1000))
    assert table["position"].tolist() == [2, 1]
    assert table["low"].min() == 0.01 and table["high"].max() == 1000


def test_no_frontier_gives_an_empty_table() -> None:
    points = points_table([0.5], [np.nan])
    assert change_over_weights(points, choose(points, 0.5, 1.0)).empty
