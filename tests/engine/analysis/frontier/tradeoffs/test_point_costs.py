"""Costs: means over seeds beside the points, NaN where nobody measured, and floors on them."""

import numpy as np
import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.frontier.floors import allowed, broken
from engine.analysis.frontier.tradeoffs.point_costs import COSTS, with_costs

NAMES = dict.fromkeys(MODEL, "same")


def rows(**columns: list[float]) -> pd.DataFrame:
    """Rows of one model, of categories as the catalog has them."""
    return pd.DataFrame(columns).assign(**NAMES).astype(dict.fromkeys(MODEL, "category"))


def test_costs_are_means_over_the_seeds_that_have_them() -> None:
    points = rows(level=[0, 1, 2])
    sizes = rows(level=[0, 0, 1], bytes=[1000, 3000, 500], macs=[8e6, 8e6, np.nan])
    timed = rows(level=[1, 1], milliseconds=[1.0, 2.0])
    table = with_costs(points, sizes, timed)
    np.testing.assert_array_equal(table["bytes"], [2000, 500, np.nan])
    np.testing.assert_array_equal(table["macs"], [8e6, np.nan, np.nan])
    np.testing.assert_array_equal(table["milliseconds"], [np.nan, 1.5, np.nan])
    assert table["bytes_zipped"].isna().all() and not set(COSTS) & set(points)
    assert with_costs(points, pd.DataFrame())["bytes"].isna().all()


def test_costs_that_people_bring_are_costs_too() -> None:
    table = with_costs(rows(level=[0, 1]), rows(level=[0, 1], latency_ms=[2.0, 1.0], bits=[16, 4], params=[9e6, 9e6]))
    assert table["milliseconds"].tolist() == [2, 1] and table["bits"].tolist() == [16, 4]
    assert set(table["params"]) == {9e6} and table["macs"].isna().all()


def test_a_point_without_the_number_breaks_a_floor_on_it() -> None:
    table = with_costs(rows(level=[0, 1, 2]), rows(level=[0, 1], bytes=[2000, 500], macs=[3e6, 1e6]))
    assert allowed(table, {"bytes": 1000}).tolist() == [False, True, False]
    assert broken(table, {"bytes": 1000}) == ["file above 1.0 kB", "", "file above 1.0 kB"]
    assert broken(table, {"macs": 2.5e6})[0] == "above 2.50 million multiplications"
