"""Intervals of members, and round steps."""

import pandas as pd
import pytest

from engine.analysis.members.spread import round_step, typical_half_width


def test_half_width_is_that_of_the_median_member() -> None:
    members = pd.DataFrame({"after_low": [0.8, 0.5, 0.0], "after_high": [0.9, 0.9, 1.0]})
    assert typical_half_width(members) == pytest.approx(0.2)


def test_step_is_round_and_near_the_spread() -> None:
    assert round_step(pd.Series([0.1, 0.2, 0.31])) == pytest.approx(0.1)
    assert round_step(pd.Series([0.0, 8.0])) == 5.0
    assert round_step(pd.Series([2.0, 2.0])) == 1.0
