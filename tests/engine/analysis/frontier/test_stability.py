"""Resampled choices against every draw of the seeds, one by one."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.frontier.choice import Choice, choose
from engine.analysis.frontier.points import operating_points, pareto_front, seed_points
from engine.analysis.frontier.resampling import seed_grid
from engine.analysis.frontier.stability import ONE_SEED, RARE, agreement, on_frontier, winners
from engine.analysis.unfairness import unfairness_table
from tests.support.study_tables import study_tables


def brute_force(points: pd.DataFrame, seeds: pd.DataFrame, choice: Choice, n: int) -> tuple[np.ndarray, ...]:
    """Share of all n^n ordered draws that choose, and that pass, per point; and share that choose nothing."""
    wins, passes, nothing = np.zeros(len(points)), np.zeros(len(points)), 0
    own = [seeds[seeds["point"] == point].dropna(subset=choice.measure).set_index("seed") for point in points["point"]]
    for draw in product(range(n), repeat=n):
        means = []
        for runs in own:
            drawn = [seed for seed in draw if seed in runs.index] or list(runs.index)
            means.append(runs.loc[drawn, ["sparsity", "accuracy", choice.measure]].mean())
        resampled = points.assign(**{name: [mean[name] for mean in means] for name in means[0].index})
        passes += resampled["accuracy"].to_numpy() >= choice.threshold - 1e-9
        rounded = resampled.round(dict.fromkeys(means[0].index, 12))
        chosen = choose(rounded, choice.threshold, choice.weight, choice.measure).chosen
        if chosen is None:
            nothing += 1
        else:
            wins[chosen] += 1
    return wins / n**n, passes / n**n, np.array(nothing / n**n)


def tables(n_seeds: int = 4, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    points, seeds = _tables(n_seeds, seed)
    return points.copy(), seeds.copy()


@cache
def _tables(n_seeds: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    levels, classes = study_tables(n_seeds=n_seeds, seed=seed)
    unfairness = unfairness_table(classes)
    return operating_points(levels, unfairness), seed_points(levels, unfairness)


@pytest.mark.parametrize("threshold", [0.5, 0.86, 0.94])
@pytest.mark.parametrize("weight", [0.01, 3.0, 1000.0])
def test_exact_shares_equal_brute_force(threshold: float, weight: float) -> None:
    points, seeds = tables(3)
    seeds = seeds.drop(index=seeds.index[5])  # one point has a seed less
    choice = choose(points, threshold, weight)
    wins, passes, nothing = brute_force(points, seeds, choice, 3)
    got = agreement(points, seeds, choice)
    assert got.exact and got.n_resamples == 10
    assert got.nothing == pytest.approx(nothing)
    rest = np.setdiff1d(np.arange(len(points)), got.table["position"])
    assert (wins[rest] == 0).all()
    assert got.table["share"].to_numpy() == pytest.approx(wins[got.table["position"]])
    assert got.table["passes"].to_numpy() == pytest.approx(passes[got.table["position"]])
    assert choice.chosen is None or choice.chosen in set(got.table["position"])


@settings(max_examples=50, deadline=None)
@given(
    n_seeds=st.sampled_from([2, 3, 4, 6, 9]),
    seed=st.integers(0, 2),
    threshold=st.floats(0.4, 1.0),
    weight=st.sampled_from([0.01, 0.3, 1.0, 10.0, 1000.0]),
    lost=st.lists(st.integers(0, 47), max_size=20),
    coarse=st.booleans(),
)
def test_shares_add_to_one(
    n_seeds: int, seed: int, threshold: float, weight: float, lost: list[int], coarse: bool
) -> None:
    points, seeds = tables(n_seeds, seed)
    if coarse:  # so that there are ties
        seeds[["accuracy", "max_min"]] = seeds[["accuracy", "max_min"]].round(1)
    seeds.loc[[row for row in set(lost) if row < len(seeds)], "max_min"] = np.nan
    got = agreement(points, seeds, choose(points, threshold, weight), n_resamples=50)
    table = winners(got)
    if np.isnan(got.nothing):
        assert got.table["share"].isna().all() and (got.table["n_seeds"] < 2).all() and table.empty
        return
    assert table["share"].sum() == pytest.approx(1) and (table["share"] > 0).all()
    assert got.table["share"].sum() + got.nothing == pytest.approx(1)
    assert (table["share"][table["position"].notna()] > RARE).all()


def test_rare_winners_are_the_others() -> None:
    points, seeds = tables(6)
    got = agreement(points, seeds, choose(points, 0.5, 1.0))
    rare = got.table[(got.table["share"] > 0) & (got.table["share"] <= RARE)]
    table = winners(got)
    assert got.n_resamples == 462 and len(rare)
    others = table[table["position"].isna()]
    assert others["n_networks"].tolist() == [len(rare)] and others["share"].item() == pytest.approx(rare["share"].sum())


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


def test_twin_that_choose_prefers_gets_the_share() -> None:
    points, seeds = tables()
    for column in ("sparsity", "accuracy", "max_min"):
        twin = seeds.loc[seeds["point"] == 3, column].to_numpy()
        seeds.loc[seeds["point"] == 7, column] = twin
        points.loc[7, column] = points.loc[3, column]
    got = agreement(points, seeds, choose(points, 0.5, 0.01))
    assert got.table["position"].tolist()[0] == 3 and got.table["share"][0] == 1
    assert got.verdict.word == "clear" and set(got.confidence_set) == {3, 7}


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
def test_a_grid_made_before_gives_the_same(weight: float, measure: str) -> None:
    points, seeds = tables(seed=7)
    seeds = seeds.drop(index=seeds.index[5])
    seeds.loc[seeds.index[10], measure] = np.nan  # another has an estimate less
    part = points[points["technique"] == "random"].reset_index(drop=True)
    for rows in (points, part):
        choice = choose(rows, 0.86, weight, measure)
        new, kept = agreement(rows, seeds, choice), agreement(rows, seeds, choice, grid=seed_grid(seeds, measure))
        pd.testing.assert_frame_equal(new.table, kept.table)
        assert new.nothing == kept.nothing and new.verdict == kept.verdict


def test_grid_of_another_measure_is_refused() -> None:
    points, seeds = tables()
    with pytest.raises(ValueError, match="worst_class"):
        agreement(points, seeds, choose(points, 0.5, 1.0), grid=seed_grid(seeds, "worst_class"))


def test_difference_to_the_runner_up_is_paired() -> None:
    points, seeds = tables(6)
    choice = choose(points, 0.5, 1.0)
    one, other = (
        seeds[seeds["point"] == points["point"][at]]["max_min"].to_numpy() for at in (choice.chosen, choice.runner_up)
    )
    got = agreement(points, seeds, choice).against_runner_up
    low, high = scipy.stats.ttest_rel(one, other).confidence_interval()
    assert (got.mean, got.low, got.high) == pytest.approx(((one - other).mean(), low, high)) and got.n_seeds == 6


@pytest.mark.parametrize("threshold", [0.5, 0.86])
def test_membership_equals_all_draws(threshold: float) -> None:
    points, seeds = tables(3, seed=1)
    choice = choose(points, threshold, 1.0)
    member = np.zeros(len(points))
    numbers = {
        name: seeds.pivot(index="seed", columns="point", values=name) for name in ("sparsity", "accuracy", "max_min")
    }
    for draw in product(range(3), repeat=3):
        sparsity, accuracy, gap = (table.loc[list(draw)].mean().round(12).to_numpy() for table in numbers.values())
        passed = np.flatnonzero(accuracy >= threshold - 1e-9)
        member[passed[pareto_front(sparsity[passed], gap[passed])]] += 1 / 27
    got = on_frontier(points, seed_grid(seeds, "max_min"), choice)
    assert got[choice.frontier] == pytest.approx(member[choice.frontier])
    assert np.isnan(got[~choice.frontier]).all()
