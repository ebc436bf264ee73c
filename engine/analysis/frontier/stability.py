"""How sure is the choice: how often is each point chosen when the seeds are drawn again?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.frontier.choice import ROUNDING, Choice, reaches, value
from engine.analysis.frontier.confidence_set import PairedDifference, confidence_set, paired_difference
from engine.analysis.frontier.resampling import SeedGrid, seed_grid
from engine.analysis.frontier.verdict import Verdict, verdict

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

ONE_SEED = "one seed only, so that there is nothing to draw from"
RARE = 0.01
"""Share of resamples up to which a network is counted among the others."""


MOST_COMPARED = 200
"""Points with the highest values among which the confidence set is sought."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How a choice holds when seeds are resampled."""

    table: pd.DataFrame
    """One row per contender, most often chosen first: position, n_seeds, share, passes, reason."""
    nothing: float
    """Share of the resamples in which no point reaches the threshold; with the shares it adds to 1."""
    n_resamples: int
    exact: bool
    """Whether these are all resamples that there are."""
    of_members: bool
    """Whether the test examples' members were drawn again too."""
    verdict: Verdict
    confidence_set: tuple[int, ...]
    """Places of the points that cannot be told from the best at 95 %, the highest mean value first."""
    against_runner_up: PairedDifference
    """Unfairness of the chosen point minus the runner-up's."""


def agreement(
    points: pd.DataFrame,
    seeds: pd.DataFrame,
    choice: Choice,
    n_resamples: int = 500,
    seed: int = 0,
    grid: SeedGrid | None = None,
) -> Agreement:
    """Bootstrap over seeds: n seeds are drawn n times with replacement, then threshold and value decide.

    `seeds` comes from `seed_points`, `points` from `operating_points` (rows may be left out); `grid` is their
    `seed_grid`, where it is kept, or a `member_grid`, which draws the examples' members again too. One draw serves all
    points: runs of one seed share split and dense network, so they are compared within it. Floors for groups stand as
    the means of all seeds have them. All resamples are counted while seeds are few, else `n_resamples` are drawn. One
    point is chosen in each: a tie goes as `choose` breaks it. `passes` is the share of resamples that reach the
    threshold. A point with one seed takes part with its one value and has the reason ONE_SEED; where every contender is
    such, shares and `nothing` are NaN. Points that no draw can choose are no contenders.
    """
    grid = seed_grid(seeds, choice.measure, n_resamples, seed) if grid is None else grid
    position = _contenders(points, grid, choice)[0]
    n = grid.n_seeds(points["point"].to_numpy()[position])
    weights = grid.draws.weights
    wins, passes, nothing = np.zeros(len(n)), np.zeros(len(n)), 1.0
    if len(n):
        sparsity, unfairness, accuracy = grid.resampled(points["point"].to_numpy()[position])
        passed = reaches(accuracy, choice.threshold)
        values = np.where(passed, value(sparsity, unfairness, choice.weight), -np.inf)
        best = values.max(axis=1)
        won = best > -np.inf
        tied = values >= best[:, None] - _slack(choice)
        wins += np.bincount(_firsts(tied, unfairness, accuracy)[won], weights[won], len(n))
        passes += weights @ passed
        nothing = float(weights[~won].sum())
    alone = n < 2
    untold = bool(alone.all()) if len(n) else len(grid.accuracy) < 2
    table = pd.DataFrame(
        {
            "position": position,
            "n_seeds": n,
            "share": np.nan if untold else wins,
            "passes": np.nan if untold else passes,
            "reason": np.where(alone, ONE_SEED, ""),
        }
    ).sort_values("share", ascending=False, kind="stable", ignore_index=True)
    peers = _not_told_from_best(points, grid, choice)
    return Agreement(
        table,
        np.nan if untold else nothing,
        len(weights),
        grid.draws.exact,
        grid.of_members,
        verdict(choice, table, peers),
        peers,
        _against_runner_up(points, grid, choice),
    )


def on_frontier(points: pd.DataFrame, grid: SeedGrid, choice: Choice) -> Floats:
    """Share of resamples in which each frontier point is on the frontier; NaN for other points and those of one seed.

    A resample has it on the frontier where it reaches the threshold and no other that does is at least as sparse and
    at least as fair and better in one.
    """
    shares = np.full(len(points), np.nan)
    number = points["point"].to_numpy()
    front = np.flatnonzero(choice.frontier)
    front = front[np.isfinite(grid.accuracy[:, number[front]]).sum(axis=0) > 1]
    for place in front.tolist():
        rivals = _could_dominate(grid, number, place, choice)
        sparsity, unfairness, accuracy = grid.resampled(np.array([number[place], *number[rivals]]))
        passed = reaches(accuracy, choice.threshold)
        more, less = sparsity[:, 1:] - sparsity[:, :1], unfairness[:, 1:] - unfairness[:, :1]
        beaten = (more >= -ROUNDING) & (less <= ROUNDING) & ((more > ROUNDING) | (less < -ROUNDING)) & passed[:, 1:]
        shares[place] = grid.draws.weights @ (passed[:, 0] & ~beaten.any(axis=1))
    return shares


def winners(trust: Agreement) -> pd.DataFrame:
    """Who wins how often: position, n_networks, share; it adds to 1, or is empty where nothing could be drawn.

    A row for each network that wins in more than RARE of the resamples, on the frontier or not; then with <NA> for a
    position the others together, and with 0 networks the resamples in which none reaches the threshold, if any.
    """
    shares = trust.table["share"].to_numpy(float)
    listed, rest = trust.table[shares > RARE], shares[(shares <= RARE) & (shares > 0)]
    rows = [(place, 1, share) for place, share in zip(listed["position"], listed["share"], strict=True)]
    rows += [(pd.NA, len(rest), rest.sum())] if len(rest) else []
    rows += [(pd.NA, 0, trust.nothing)] if trust.nothing > 0 else []
    places, counts, parts = zip(*rows, strict=True) if rows else ((), (), ())
    return pd.DataFrame(
        {"position": pd.array(places, "Int64"), "n_networks": np.array(counts, int), "share": np.array(parts, float)}
    )


def _not_told_from_best(points: pd.DataFrame, grid: SeedGrid, choice: Choice) -> tuple[int, ...]:
    """The model confidence set among points that reach the threshold; of many, among the MOST_COMPARED best."""
    place = np.flatnonzero(choice.survivors & np.isfinite(choice.values))
    place = place[np.argsort(-choice.values[place], kind="stable")][:MOST_COMPARED]
    number = points["point"].to_numpy()[place]
    if not len(number):
        return ()
    values = value(grid.sparsity[:, number], grid.unfairness[:, number], choice.weight)
    sparsity, unfairness, _ = grid.resampled(number)
    means = value(sparsity, unfairness, choice.weight)
    return tuple(place[confidence_set(values, grid.draws, means=means)].tolist())


def _against_runner_up(points: pd.DataFrame, grid: SeedGrid, choice: Choice) -> PairedDifference:
    if choice.chosen is None or choice.runner_up is None:
        return paired_difference(np.zeros(0), np.zeros(0))
    one, other = points["point"].to_numpy()[[choice.chosen, choice.runner_up]]
    return paired_difference(grid.unfairness[:, one], grid.unfairness[:, other])


def _contenders(points: pd.DataFrame, grid: SeedGrid, choice: Choice) -> tuple[Ints, Ints]:
    """Places of points that some draw could choose, with the chosen point and its runner-up in any case; their seeds.

    A mean of drawn seeds lies between the least and the largest of them, which bounds each point's value and accuracy.
    """
    if grid.measure != choice.measure:
        raise ValueError(f"The grid is of {grid.measure!r}, the choice is by {choice.measure!r}.")
    number, grid = points["point"].to_numpy(), grid.bounding()
    if not grid.accuracy.size:
        return number[:0], number[:0]
    values = value(grid.sparsity[:, number], grid.unfairness[:, number], choice.weight)
    accuracy = grid.accuracy[:, number]
    n = np.isfinite(accuracy).sum(axis=0)
    sure = reaches(np.fmin.reduce(accuracy), choice.threshold) & _allowed(choice)
    beaten = np.fmin.reduce(values)[sure].max(initial=-np.inf) - _slack(choice)
    could = np.fmax.reduce(values) >= beaten
    could &= reaches(np.fmax.reduce(accuracy), choice.threshold - ROUNDING)
    could &= _allowed(choice)
    could[[at for at in (choice.chosen, choice.runner_up) if at is not None]] = True
    places = np.flatnonzero(could & (n > 0))
    return places, n[places]


def _could_dominate(grid: SeedGrid, number: Ints, place: int, choice: Choice) -> Ints:
    """Places of points that may dominate this one in some resample, by the least and largest of their seeds."""
    mine, grid = number[place], grid.bounding()
    could = np.fmax.reduce(grid.sparsity[:, number]) >= np.fmin.reduce(grid.sparsity[:, mine]) - ROUNDING
    could &= np.fmin.reduce(grid.unfairness[:, number]) <= np.fmax.reduce(grid.unfairness[:, mine]) + ROUNDING
    could &= reaches(np.fmax.reduce(grid.accuracy[:, number]), choice.threshold - ROUNDING)
    could[place] = False
    return np.flatnonzero(could & _allowed(choice))


def _allowed(choice: Choice) -> NDArray[np.bool_]:
    return np.ones(len(choice.survivors), bool) if choice.allowed is None else choice.allowed


def _firsts(tied: NDArray[np.bool_], unfairness: Floats, accuracy: Floats) -> Ints:
    """Which of the tied points `choose` takes in each resample: the fairer, the more accurate, the first."""
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    if len(several):
        among = tied[several]
        for numbers in (unfairness[several], -accuracy[several]):
            numbers = np.where(among, numbers, np.inf)
            among &= numbers <= numbers.min(axis=1, keepdims=True) + ROUNDING
        tied[several] = among
    firsts: Ints = tied.argmax(axis=1)
    return firsts


def _slack(choice: Choice) -> float:
    """Difference of values that rounding alone may make; below it points tie."""
    return ROUNDING * max(1.0, choice.weight)
