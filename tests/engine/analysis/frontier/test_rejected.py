"""Reasons why points lose, against a check of every pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.rejected import BELOW, DOMINATED, EQUAL, LOWER, UNKNOWN, rivals
from tests.support.study_tables import points_table

COARSE = st.integers(0, 5).map(lambda k: k / 5)
ROWS = st.lists(st.tuples(COARSE, st.one_of(COARSE, st.just(float("nan"))), COARSE), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(ROWS)
def test_each_reason_is_true(rows: list[tuple[float, float, float]]) -> None:
    points = points_table(*map(list, zip(*rows, strict=True)))
    choice = choose(points, 0.4, 1.0)
    table = rivals(points, choice)
    assert {*table["position"]} == {*range(len(rows))} - {choice.chosen}
    for _, rival in table.iterrows():
        s, u, a = rows[rival["position"]]
        if rival["reason"] == BELOW:
            assert a < 0.4
        elif rival["reason"] == UNKNOWN:
            assert np.isnan(u)
        elif rival["reason"] == EQUAL:
            assert (s, u) == rows[choice.chosen][:2]
        elif rival["reason"] == DOMINATED:
            s2, u2, a2 = rows[rival["dominated_by"]]
            assert s2 >= s and u2 <= u and (s2, u2) != (s, u) and a2 >= 0.4
        else:
            assert rival["reason"] == LOWER and choice.frontier[rival["position"]]
            s2, u2, _ = rows[choice.chosen]
            assert rival["behind"] == pytest.approx((s2 - u2) - (s - u)) and rival["behind"] >= 0
        assert (rival["reason"] == DOMINATED) == (rival["dominated_by"] is not None and rival.notna()["dominated_by"])


def test_best_rival_comes_first() -> None:
    points = points_table([0.0, 0.9, 0.5, 0.95], [0.0, 0.1, 0.2, 0.3], [0.99, 0.98, 0.97, 0.5])
    table = rivals(points, choose(points, 0.9, 1.0))
    assert table["position"].tolist() == [3, 2, 0]
    assert table["reason"].tolist() == [BELOW, DOMINATED, LOWER]
    assert table["dominated_by"].tolist()[1] == 1
