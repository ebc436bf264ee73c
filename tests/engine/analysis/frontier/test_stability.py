"""Resampled choices against a plain loop over the same draws."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.choice import Choice, choose
from engine.analysis.frontier.points import operating_points, seed_points
from engine.analysis.frontier.stability import ONE_SEED, agreement, seed_draws, seed_means
from engine.analysis.unfairness import unfairness_table
from tests.support.study_tables import study_tables


def loop(points: pd.DataFrame, seeds: pd.DataFrame, choice: Choice, draws: np.ndarray) -> tuple[np.ndarray, ...]:
    """Share of resamples that choose, and that pass, per point; and share that choose nothing."""
    wins, passes, nothing = np.zeros(len(points)), np.zeros(len(points)), 0
    for resample in draws.T:
        values = {}
        for place, point in enumerate(points["point"]):
            runs = seeds[seeds["point"] == point].dropna(subset=choice.measure)
            drawn = runs.iloc[[int(x * len(runs)) for x in resample[: len(runs)]]]
            if len(runs) and drawn["accuracy"].mean() >= choice.threshold - 1e-9:
                passes[place] += 1
                values[place] = drawn["sparsity"].mean() - choice.weight * drawn[choice.measure].mean()
        nothing += not values
        for place in values:
            wins[place] += values[place] >= max(values.values()) - 1e-9
    n = draws.shape[1]
    return wins / n, passes / n, np.array(nothing / n)


def tables(n_seeds: int = 4, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    levels, classes = study_tables(n_seeds=n_seeds, seed=seed)
    unfairness = unfairness_table(classes)
    return operating_points(levels, unfairness), seed_points(levels, unfairness)


@pytest.mark.parametrize("threshold", [0.5, 0.86, 0.94])
@pytest.mark.parametrize("weight", [0.01, 3.0, 1000.0])
def test_shares_equal_a_plain_loop(threshold: float, weight: float) -> None:
    points, seeds = tables()
    seeds = seeds.drop(index=seeds.index[5])  # one point has a seed less
    choice = choose(points, threshold, weight)
    wins, passes, nothing = loop(points, seeds, choice, seed_draws(15, 4, seed=3))
    got = agreement(points, seeds, choice, n_resamples=15, seed=3)
    assert got.nothing == pytest.approx(nothing)
    rest = np.setdiff1d(np.arange(len(points)), got.table["position"])
    assert (wins[rest] == 0).all()
    assert got.table["share"].to_numpy() == pytest.approx(wins[got.table["position"]])
    assert got.table["passes"].to_numpy() == pytest.approx(passes[got.table["position"]])
    assert choice.chosen is None or choice.chosen in set(got.table["position"])


def test_same_seed_gives_the_same_shares_and_rows_may_be_left_out() -> None:
    points, seeds = tables()
    one, two = (agreement(points, seeds, choose(points, 0.8, 1.0)).table for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    part = points[points["technique"] == "random"].reset_index(drop=True)
    choice = choose(part, 0.8, 1.0)
    alone = seeds[seeds["point"].isin(part["point"])]
    pd.testing.assert_frame_equal(agreement(part, seeds, choice).table, agreement(part, alone, choice).table)


def test_clear_winner_is_always_chosen() -> None:
    points, seeds = tables()
    seeds["max_min"] = np.where(seeds["point"] == 2, 0.01, 0.5) + seeds["seed"] / 1000
    points["max_min"] = seeds.groupby("point")["max_min"].mean()
    table = agreement(points, seeds, choose(points, 0.5, 10.0)).table
    assert table["position"].tolist()[0] == 2 and table["share"][0] == 1


def test_twins_are_both_counted() -> None:
    points, seeds = tables()
    for column in ("sparsity", "accuracy", "max_min"):
        twin = seeds.loc[seeds["point"] == 3, column].to_numpy()
        seeds.loc[seeds["point"] == 7, column] = twin
        points.loc[7, column] = points.loc[3, column]
    shares = agreement(points, seeds, choose(points, 0.5, 0.01)).table.set_index("position")["share"]
    assert shares[3] == shares[7] == 1


def test_one_seed_gives_nan_with_the_reason() -> None:
    points, seeds = tables(n_seeds=1)
    got = agreement(points, seeds, choose(points, 0.5, 1.0))
    assert np.isnan(got.nothing) and len(got.table)
    assert got.table["share"].isna().all() and (got.table["reason"] == ONE_SEED).all()


def test_seed_without_the_measure_is_not_drawn() -> None:
    points, seeds = tables()
    seeds.loc[seeds["seed"] == 0, "max_min"] = np.nan
    got = agreement(points, seeds, choose(points, 0.5, 1.0))
    assert (got.table["n_seeds"] == 3).all() and got.table["share"].notna().all()


def test_empty_study_agrees_on_nothing() -> None:
    points, seeds = (table.iloc[:0] for table in tables())
    got = agreement(points, seeds, choose(points, 0.5, 1.0))
    assert got.table.empty and np.isnan(got.nothing)


@pytest.mark.parametrize("measure", ["max_min", "excessive_loss_gap"])
@pytest.mark.parametrize("weight", [0.01, 3.0, 1000.0])
def test_means_drawn_before_give_the_same_shares(weight: float, measure: str) -> None:
    points, seeds = tables(seed=7)
    seeds = seeds.drop(index=seeds.index[5])
    seeds.loc[seeds.index[10], measure] = np.nan  # another has an estimate less
    means = seed_means(seeds, measure)
    part = points[points["technique"] == "random"].reset_index(drop=True)
    for rows in (points, part):
        choice = choose(rows, 0.86, weight, measure)
        drawn, looked_up = agreement(rows, seeds, choice), agreement(rows, seeds, choice, means=means)
        pd.testing.assert_frame_equal(drawn.table, looked_up.table)
        assert drawn.nothing == looked_up.nothing and looked_up.n_resamples == 500


def test_means_are_those_of_the_drawn_seeds() -> None:
    points, seeds = tables()
    seeds.loc[seeds["point"] == 2, "max_min"] = np.nan
    means, draws = seed_means(seeds, "max_min", 20, seed=1), seed_draws(20, 4, seed=1)
    mine = seeds.loc[seeds["point"] == 5, "max_min"].to_numpy()
    np.testing.assert_allclose(means.unfairness[5], mine[(draws * 4).astype(int)].mean(axis=0))
    assert np.isnan(means.unfairness[2]).all() and means.accuracy.shape == (len(points), 20)


def test_means_of_another_measure_are_refused() -> None:
    points, seeds = tables()
    with pytest.raises(ValueError, match="worst_class"):
        agreement(points, seeds, choose(points, 0.5, 1.0), means=seed_means(seeds, "worst_class"))


def test_means_of_no_seeds_are_empty() -> None:
    _, seeds = tables()
    assert seed_means(seeds.iloc[:0], "max_min").accuracy.shape == (0, 500)
