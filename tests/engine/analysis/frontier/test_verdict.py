"""The verdict's rule, case by case."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.verdict import CLEAR, CLOSE_CALL, TOSS_UP, verdict
from tests.support.study_tables import points_table

CHOICE = choose(points_table([0.9, 0.5, 0.1, 0.9], [0.1, 0.1, 0.1, 0.1]), 0.0, 1.0)


@pytest.mark.parametrize(
    ("shares", "confidence_set", "word"),
    [
        ([0.9, 0.1, 0.0, 0.0], [0], CLEAR),
        ([0.8, 0.2, 0.0, 0.0], [0, 3], CLEAR),
        ([0.5, 0.1, 0.0, 0.4], [0], CLEAR),
        ([0.79, 0.21, 0.0, 0.0], [0], CLOSE_CALL),
        ([0.9, 0.1, 0.0, 0.0], [0, 1], CLOSE_CALL),
        ([0.3, 0.29, 0.28, 0.0], [0], CLOSE_CALL),
        ([0.29, 0.28, 0.28, 0.0], [0], TOSS_UP),
        ([0.4, 0.5, 0.1, 0.0], [0], TOSS_UP),
    ],
)
def test_rule(shares: list[float], confidence_set: list[int], word: str) -> None:
    assert CHOICE.chosen == 0 and CHOICE.twins == (3,)
    contenders = pd.DataFrame({"position": range(4), "n_seeds": 6, "share": shares})
    got = verdict(CHOICE, contenders, confidence_set)
    assert got.word == word and got.share == shares[0] + shares[3] and not got.reason
    assert got.rival == 1 and got.rival_share == shares[1]


@pytest.mark.parametrize(("n_seeds", "share"), [([1, 6], [1.0, 0.0]), ([1, 1], [np.nan, np.nan])])
def test_one_seed_has_no_word_but_a_reason(n_seeds: list[int], share: list[float]) -> None:
    got = verdict(CHOICE, pd.DataFrame({"position": [0, 1], "n_seeds": n_seeds, "share": share}), [0])
    assert got.word == "" and got.reason and got.rival is None
