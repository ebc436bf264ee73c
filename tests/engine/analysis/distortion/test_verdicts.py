"""Verdicts: intervals against scipy, ratios that meet, and the range in which pruning helps."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.analysis.distortion.alpha import NO_DENSE, alphas
from engine.analysis.distortion.verdicts import FEW_SEEDS, at_ratios, cells, helpful_ranges, verdict
from tests.support.study_tables import study_tables

LTH = """1.25 0.854 1.010, 1.56 0.859 0.986, 1.95 0.859 0.970, 2.44 0.859 0.974, 3.05 0.859 0.970, 3.81 0.859 0.932,
4.77 0.858 0.957, 5.96 0.856 0.973, 7.45 0.853 0.982, 9.31 0.850 0.980, 11.64 0.846 0.997, 14.55 0.841 1.029,
18.19 0.835 1.055, 22.74 0.826 1.131, 28.42 0.811 1.244, 35.53 0.795 1.293, 44.41 0.769 1.377, 86.74 0.669 1.910"""
"""The paper's Table 12: ratio, accuracy (dense 0.855), intensification."""


def models_of(
    series: dict[str, list[tuple[float, float, float]]], n_seeds: int = 12, noise: float = 0.0
) -> pd.DataFrame:
    """Models with (sparsity, change of accuracy, alpha) per level of each series, the same for every seed but noise."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "run": f"{name}{seed}",
            "series": name,
            "seed": seed,
            "level": level,
            "sparsity": sparsity,
            "accuracy": 0.9 + change + noise * 0.01 * rng.normal(),
            "dense_accuracy": 0.9,
            "alpha": alpha + noise * 0.1 * rng.normal(),
            "spread": 1.0,
            "collapsed": False,
            "reason": "",
        }
        for name, levels in series.items()
        for seed in range(n_seeds)
        for level, (sparsity, change, alpha) in enumerate(levels, 1)
    ]
    return pd.DataFrame(rows)


def ranges_of(*levels: tuple[float, float, float]) -> tuple[list[float], float | None]:
    """Sparsities of the range of one series, and the one beyond it."""
    (found,) = helpful_ranges(cells(at_ratios(models_of({"a": list(levels)}))))
    return [round(cell.sparsity, 4) for cell in found.cells], found.beyond and round(found.beyond.sparsity, 4)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.01, 1.2, "intensifies"),
        (0.8, 0.99, "evens out"),
        (0.9, 1.1, "undecided"),
        (1.0, 1.2, "undecided"),
        (0.9, 1.0, "undecided"),
        (np.nan, np.nan, "undecided"),
        (-3.0, -2.0, "evens out"),
    ],
)
def test_verdict_is_decided_only_where_the_interval_excludes_one(low: float, high: float, said: str) -> None:
    assert verdict(low, high) == said


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_cells_equal_intervals_of_scipy_seed_by_seed(confidence: float) -> None:
    _, classes = study_tables(n_seeds=5)
    models = at_ratios(alphas(classes).assign(series=lambda table: table["technique"]))
    table = cells(models, confidence).set_index(["series", "ratio"])
    assert len(table) == 6
    for key, rows in models.groupby(["series", "ratio"]):
        cell = table.loc[key]
        low, high = stats.t.interval(confidence, 4, rows["alpha"].mean(), stats.sem(rows["alpha"]))
        assert (cell["alpha"], cell["low"], cell["high"]) == pytest.approx((rows["alpha"].mean(), low, high))
        change = rows["accuracy"] - rows["dense_accuracy"]
        low, high = stats.t.interval(confidence, 4, change.mean(), stats.sem(change))
        assert (cell["change"], cell["change_low"], cell["change_high"]) == pytest.approx((change.mean(), low, high))
        assert (cell["n_seeds"], cell["n_models"], cell["reason"]) == (5, 5, "")


def test_default_confidence_is_the_papers() -> None:
    models = at_ratios(models_of({"a": [(0.5, 0.0, 1.0)]}, noise=1))
    assert cells(models)["low"][0] == cells(models, 0.99)["low"][0] < cells(models, 0.95)["low"][0]


def test_interval_covers_a_planted_alpha() -> None:
    models = at_ratios(models_of({str(study): [(0.5, 0.0, 1.3)] for study in range(500)}, noise=2))
    table = cells(models)
    assert 0.97 <= ((table["low"] <= 1.3) & (table["high"] >= 1.3)).mean() <= 1


def test_ratio_is_weights_before_by_weights_after_and_dense_is_left_out() -> None:
    sparsities = [0.0, 0.5, 0.75, 0.9, 0.95, 0.98]
    models = models_of({"a": [(s, 0.0, 1.0) for s in sparsities]}, n_seeds=2)
    models["level"] -= 1
    assert sorted(at_ratios(models)["ratio"].unique()) == pytest.approx([2, 4, 10, 20, 50])


def test_iterative_levels_count_as_ratios() -> None:
    models = at_ratios(models_of({"a": [(1 - 0.8**level, 0.0, 1.0) for level in range(1, 21)]}))
    assert sorted(models["ratio"].unique()) == pytest.approx([1.25**level for level in range(1, 21)])


def test_nearly_equal_ratios_of_two_series_meet_and_far_ones_do_not() -> None:
    models = at_ratios(models_of({"weights": [(0.5, 0, 1), (0.9, 0, 1)], "channels": [(0.49, 0, 1), (0.85, 0, 1)]}, 1))
    ratios = models.groupby("series")["ratio"].apply(list)
    assert ratios["weights"][0] == ratios["channels"][0] == pytest.approx((1 / 0.5 + 1 / 0.51) / 2)
    assert ratios["weights"][1] == pytest.approx(10) and ratios["channels"][1] == pytest.approx(1 / 0.15)


def test_neighbouring_levels_of_one_series_never_meet() -> None:
    fine = [(1 - 0.97**level, 0, 1) for level in range(1, 30)]
    models = at_ratios(models_of({"a": fine, "b": fine[::2]}, 2))
    assert models[models["series"] == "a"]["ratio"].nunique() == 29
    assert not models.duplicated(["series", "seed", "ratio"]).any()


def test_level_that_cuts_nothing_and_a_network_without_weights_are_left_out() -> None:
    models = at_ratios(models_of({"a": [(0.5, 0, 1.1), (0.5, 0, 1.9), (1.0, 0, 5), (np.nan, 0, 5)]}, 1))
    assert models["alpha"].tolist() == [1.1]


def test_no_pruned_level_gives_empty_tables() -> None:
    models = models_of({"a": [(0.5, 0, 1)]})
    empty = at_ratios(models.assign(level=0))
    assert empty.empty and cells(empty).empty and helpful_ranges(cells(empty)) == []


def test_one_seed_is_undecided_with_the_reason() -> None:
    table = cells(at_ratios(models_of({"a": [(0.5, 0, 3.0)]}, n_seeds=1)))
    assert (table["verdict"][0], table["reason"][0]) == ("undecided", FEW_SEEDS)
    assert np.isnan([table["low"][0], table["high"][0]]).all()


def test_cell_without_alpha_has_the_reason() -> None:
    models = at_ratios(models_of({"a": [(0.5, 0, np.nan)]})).assign(reason=NO_DENSE)
    table = cells(models)
    assert np.isnan(table["alpha"][0]) and table["n_seeds"][0] == 0 and table["reason"][0] == NO_DENSE
    assert helpful_ranges(table)[0].last is None


def test_range_ends_where_accuracy_falls_or_alpha_rises() -> None:
    assert ranges_of((0.5, 0.01, 0.9), (0.75, 0.0, 1.0), (0.9, -0.001, 0.9)) == ([0.5, 0.75], 0.9)
    assert ranges_of((0.5, 0.01, 0.9), (0.75, 0.01, 1.01), (0.9, 0.01, 1.2)) == ([0.5], 0.75)


def test_range_may_be_empty_or_reach_the_end() -> None:
    assert ranges_of((0.5, -0.01, 0.9), (0.75, 0.01, 1.2)) == ([], 0.5)
    assert ranges_of((0.5, 0.01, 0.9), (0.75, 0.01, 0.8)) == ([0.5, 0.75], None)


def test_range_is_the_longest_stretch_and_the_sparser_one_at_a_tie() -> None:
    good, bad = (0.01, 0.9), (-0.01, 0.9)
    levels = [(1 - 0.5**k, *(good if k in (2, 3, 4, 6) else bad)) for k in range(1, 8)]
    assert ranges_of(*levels) == ([0.75, 0.875, 0.9375], 0.9688)
    assert ranges_of((0.5, *good), (0.75, *bad), (0.9, *good), (0.95, *bad)) == ([0.9], 0.95)


def test_range_of_the_papers_lottery_tickets() -> None:
    """Table 12: accuracy at least 0.855 and alpha at most 1 from ratio 1.56 to 5.96; 0.853 ends it."""
    rows = [tuple(map(float, row.split())) for row in LTH.replace("\n", " ").split(",")]
    levels = [(1 - 1 / ratio, accuracy - 0.855, alpha) for ratio, accuracy, alpha in rows]
    (found,) = helpful_ranges(cells(at_ratios(models_of({"lth": levels}))))
    assert [round(cell.ratio, 2) for cell in found.cells] == [1.56, 1.95, 2.44, 3.05, 3.81, 4.77, 5.96]
    assert found.beyond is not None and round(found.beyond.ratio, 2) == 7.45
    assert not found.beyond.keeps_accuracy and found.beyond.keeps_balance


def test_series_that_goes_furthest_stands_first() -> None:
    short, long, none = [(0.5, 0.01, 0.9)], [(0.5, 0.01, 0.9), (0.9, 0.01, 0.9)], [(0.5, -0.1, 2.0)]
    found = helpful_ranges(cells(at_ratios(models_of({"none": none, "short": short, "long": long}))))
    assert [one.series for one in found] == ["long", "short", "none"]


def test_ratio_is_sure_only_where_both_intervals_are_on_the_good_side() -> None:
    levels = [(0.5, 0.05, 0.5), (0.75, 0.003, 0.5), (0.9, 0.05, 0.95)]
    (found,) = helpful_ranges(cells(at_ratios(models_of({"a": levels}, noise=1))))
    assert [cell.surely_helps for cell in found.cells] == [True, False, False]
    assert found.n_sure == 1
