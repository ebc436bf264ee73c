"""Draws of seeds and members at once: each draw by plain loops, spreads beside scipy's, shares that add to 1."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.stability import agreement, on_frontier, winners
from engine.analysis.members.member_resampling import MemberAnswers, _drawn_members, member_answers, member_grid
from engine.analysis.unfairness import UNFAIRNESS

N_POINTS, N_WRITERS, PER_WRITER = 5, 30, 12


def made(seed: int = 0, n_seeds: int = 4, nested: bool = True) -> tuple[MemberAnswers, np.ndarray, np.ndarray]:
    """Answers of some points under some seeds; groups are of whole writers, or cross them."""
    rng = np.random.default_rng(seed)
    writer = np.repeat(np.arange(N_WRITERS), PER_WRITER)
    group = writer % 3 if nested else np.arange(len(writer)) % 3
    skill = rng.normal(0, 0.1, N_WRITERS)
    models, right = [], []
    for number in range(N_POINTS):
        for run in range(n_seeds):
            chance = 0.9 - 0.03 * number * (group == 1) + skill[writer] + rng.normal(0, 0.02)
            models.append((number, run, number / N_POINTS + 0.001 * rng.random()))
            right.append(rng.random(len(writer)) < chance)
    table = pd.DataFrame(models, columns=["point", "seed", "sparsity"])
    before = np.tile(np.arange(n_seeds), N_POINTS)
    return member_answers(table, before, np.array(right), group, writer), np.array(right), group


def points_of(answers: MemberAnswers, measure: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points and seeds as the frontier has them, from the grid's own numbers."""
    grid = member_grid(answers, measure, 2)
    number, run = answers.models["point"].to_numpy(), answers.models["seed"].to_numpy()
    seeds = answers.models.assign(accuracy=grid.accuracy[run, number], **{measure: grid.unfairness[run, number]})
    points = seeds.groupby("point")[["sparsity", "accuracy", measure]].mean().reset_index()
    names = dict.fromkeys(("network", "technique", "treatment", "mitigation", "dataset", "protocol"), "x")
    return points.assign(level=points["point"], dense=-1, **names), seeds


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("measure", ["max_min", "largest_loss", "intensification", "standard_deviation"])
def test_each_draw_is_that_of_a_plain_loop(measure: str, nested: bool) -> None:
    answers, right, group = made(nested=nested)
    grid = member_grid(answers, measure, 6)
    members, row = _drawn_members(answers, 6, 0), UNFAIRNESS[measure]
    assert grid.means is not None and grid.of_members
    for draw in range(6):
        taken = np.repeat(np.arange(right.shape[1]), members[draw].astype(int)[np.repeat(range(N_WRITERS), PER_WRITER)])
        rates = np.array([[r[taken][group[taken] == g].mean() for g in range(3)] for r in right])
        sizes = np.array([(group[taken] == g).sum() for g in range(3)], float)
        inputs = {"accuracy": rates, "dense": rates[answers.before], "n": np.broadcast_to(sizes, rates.shape)}
        values = row.compute(*(inputs[name] for name in row.needs))
        for point in range(N_POINTS):
            times = np.repeat(np.arange(4), grid.draws.counts[draw].astype(int)) + 4 * point
            assert grid.means[1, point, draw] == pytest.approx(values[times].mean())
            assert grid.means[2, point, draw] == pytest.approx(right[times][:, taken].mean())


def test_groups_of_whole_writers_keep_their_writers() -> None:
    answers, _, _ = made()
    drawn = _drawn_members(answers, 50, 3)
    for group in range(3):
        assert (drawn[:, np.arange(N_WRITERS) % 3 == group].sum(axis=1) == N_WRITERS // 3).all()
    crossed = _drawn_members(made(nested=False)[0], 50, 3)
    assert (crossed.sum(axis=1) == N_WRITERS).all()


def test_spread_over_members_is_that_of_scipy_and_seeds_add_theirs() -> None:
    answers, right, _ = made(n_seeds=1, nested=False)
    one = member_grid(answers, "max_min", 4000)
    assert one.means is not None
    by_writer = right[0].reshape(N_WRITERS, PER_WRITER).mean(axis=1)
    referee = bootstrap((by_writer,), np.mean, n_resamples=4000, method="basic", rng=np.random.default_rng(0))
    assert one.means[2, 0].std() == pytest.approx(referee.standard_error, rel=0.06)
    several, right, _ = made(n_seeds=12, nested=False)
    both = member_grid(several, "max_min", 4000).means
    assert both is not None
    mine = right[:12]
    over_seeds = mine.mean(axis=1).var() / 12
    over_writers = mine.mean(axis=0).reshape(N_WRITERS, PER_WRITER).mean(axis=1).var() / N_WRITERS
    within = (mine.reshape(12, N_WRITERS, PER_WRITER).mean(axis=2) - mine.mean()).var() / (12 * N_WRITERS)
    assert both[2, 0].var() == pytest.approx(over_seeds + over_writers + within, rel=0.1)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 3),
    n_seeds=st.sampled_from([2, 3, 9]),
    threshold=st.floats(0.5, 1.0),
    weight=st.sampled_from([0.01, 1.0, 10.0, 1000.0]),
    nested=st.booleans(),
)
def test_shares_add_to_one(seed: int, n_seeds: int, threshold: float, weight: float, nested: bool) -> None:
    answers, _, _ = made(seed, n_seeds, nested)
    points, seeds = points_of(answers, "max_min")
    choice = choose(points, threshold, weight)
    grid = member_grid(answers, "max_min", 60)
    got = agreement(points, seeds, choice, grid=grid)
    assert got.table["share"].sum() + got.nothing == pytest.approx(1) and not got.exact
    assert winners(got)["share"].sum() == pytest.approx(1)
    assert (got.table["n_seeds"] == n_seeds).all() and got.n_resamples == 60
    assert grid.means is not None
    values = grid.means[0] - weight * grid.means[1]
    passed = grid.means[2] >= threshold - 1e-9
    best = np.where(passed, values, -np.inf).argmax(axis=0)[passed.any(axis=0)]
    shares = got.table.set_index("position")["share"].reindex(range(N_POINTS), fill_value=0)
    ties = np.isclose(np.sort(values, axis=0)[-1], np.sort(values, axis=0)[-2])
    assert shares.to_numpy() == pytest.approx(np.bincount(best, minlength=N_POINTS) / 60, abs=ties.mean() + 1e-9)
    assert ((on_frontier(points, grid, choice) >= 0) | ~choice.frontier).all()


def test_members_make_a_choice_less_sure_than_seeds_alone() -> None:
    """Two networks that differ on three writers' answers: seeds agree, other writers need not."""
    writer, rng = np.repeat(np.arange(12), 10), np.random.default_rng(0)
    easy = rng.random((6, 120)) < 0.97
    harder = easy & ~((writer < 3) & (rng.random((6, 120)) < 0.5))
    models = pd.DataFrame({"point": np.repeat([0, 1], 6), "seed": np.tile(range(6), 2)})
    models["sparsity"] = 0.5 + 0.2 * models["point"]
    group = np.arange(120) % 2
    answers = member_answers(models, np.tile(range(6), 2), np.vstack([easy, harder]), group, writer)
    points, seeds = points_of(answers, "worst_class")
    choice = choose(points, 0.5, 1.8, "worst_class")
    alone = agreement(points, seeds, choice).table["share"].max()
    both = agreement(points, seeds, choice, grid=member_grid(answers, "worst_class", 1000)).table["share"].max()
    assert both < alone <= 1


def test_losses_of_members_are_refused() -> None:
    with pytest.raises(ValueError, match="needs losses"):
        member_grid(made()[0], "excessive_loss_gap")
