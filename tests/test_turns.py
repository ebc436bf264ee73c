"""A cross of which a part runs each day leaves nothing out for long."""

import pytest

from tests.support.harness.turns import cross_in_turn, in_turn

CASES = list(range(23))


def test_after_as_many_turns_each_case_was_there_once() -> None:
    turns = [in_turn(CASES, 5, turn, full=False) for turn in range(700, 705)]
    assert sorted(case for cases in turns for case in cases) == CASES
    assert in_turn(CASES, 5, 701, full=True) == CASES


@pytest.mark.parametrize("turn", range(3))
def test_each_turn_of_a_cross_has_every_row_and_column(turn: int) -> None:
    cases = cross_in_turn("abcd", range(12), 3, turn, full=False)
    assert {row for row, _ in cases} == set("abcd")
    assert {column for _, column in cases} == set(range(12))
    assert len(cases) == 16


def test_after_as_many_turns_all_of_a_cross_was_there_once() -> None:
    turns = [cross_in_turn("abcde", range(12), 7, turn, full=False) for turn in range(7)]
    assert sorted(case for cases in turns for case in cases) == cross_in_turn("abcde", range(12), 7, full=True)
