"""The last level that works, and the last that loses little."""

import pandas as pd

from engine.analysis.curves.working_levels import last_within, last_working

LEVELS = pd.DataFrame({"level": [0, 1, 2, 3], "sparsity": 0.5, "accuracy": [0.96, 0.955, 0.73, 0.71]})


def test_last_working_level_keeps_three_quarters() -> None:
    assert last_working(LEVELS) == 2
    assert last_working(LEVELS[LEVELS["level"] > 0]) is None, "without a dense level there is nothing to keep"


def test_last_within_is_the_sparsest_that_loses_as_little() -> None:
    assert last_within(LEVELS, 0.01) == 1 and last_within(LEVELS, 0.24) == 2
    assert last_within(LEVELS, 0.001) is None


def test_means_over_seeds_decide() -> None:
    seeds = pd.concat([LEVELS, LEVELS.assign(accuracy=[0.96, 0.9, 0.73, 0.71])])
    assert last_within(seeds, 0.01) is None and last_within(seeds, 0.04) == 1
