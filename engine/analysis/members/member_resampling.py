"""What would other seeds and other members have given: a hierarchical bootstrap of operating points.

Seeds are drawn again, and within them the members (writers, else single examples) whose answers were counted.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.frontier.resampling import SeedGrid, resamples, seed_grid, seed_slots
from engine.analysis.unfairness import UNFAIRNESS

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

MOST_RATES = 4_000_000
"""Rates of groups that are kept at a time."""


@dataclass(frozen=True, eq=False)
class MemberAnswers:
    """What models have right of each cell: the examples of one group that one member made.

    `models` has point, seed and sparsity of each model, as `seed_points` has them.
    """

    models: pd.DataFrame
    before: Ints
    """Row of the model that each one is compared with; -1 where there is none."""
    member: Ints
    group: Ints
    """Member and group of each cell, from 0; -1 for a group that only counts for the accuracy."""
    n: Ints
    correct: Ints
    """Examples of each cell, and how many of them each model has right, (n_models, n_cells); more rows are of models
    that others are compared with and that are no points themselves."""


def member_answers(
    models: pd.DataFrame, before: Ints, right: NDArray[np.bool_], group: Ints, member: Ints | None = None
) -> MemberAnswers:
    """The cells of single answers (n_models, n_examples); without members, each example is one of its own."""
    member = np.arange(right.shape[1]) if member is None else np.asarray(member)
    width = int(member.max()) + 1
    cells, cell = np.unique((np.asarray(group) + 1) * width + member, return_inverse=True)
    correct = np.stack([np.bincount(cell[row], minlength=len(cells)) for row in right])
    return MemberAnswers(models, before, cells % width, cells // width - 1, np.bincount(cell), correct)


def member_grid(answers: MemberAnswers, measure: str, n_drawn: int = 500, seed: int = 0) -> SeedGrid:
    """The points' numbers by seed, with means over `n_drawn` draws of the seeds and of the members at once.

    Members of one group only are drawn within their group, so that groups keep their sizes; others are drawn among all.
    One draw serves all points. Measures that need losses are refused: losses of members are not recorded.
    """
    row = UNFAIRNESS[measure]
    if "loss" in row.needs:
        raise ValueError(f"{measure!r} needs losses, which are not recorded of members.")
    drawn, n_models = _drawn_members(answers, n_drawn, seed), len(answers.models)
    accuracy = _share(answers, np.arange(len(answers.n)), drawn)[:n_models]
    unfairness = _measured(answers, measure, drawn)
    once = np.ones((1, drawn.shape[1]))
    seen = answers.models.assign(
        accuracy=_share(answers, np.arange(len(answers.n)), once)[:n_models, 0],
        **{measure: _measured(answers, measure, once)[:, 0]},
    )
    grid = seed_grid(seen, measure, n_drawn, seed)
    draws = resamples(len(grid.accuracy), n_drawn, seed, enumerate_few=False)
    finite = np.flatnonzero(np.isfinite(seen[["sparsity", measure, "accuracy"]].to_numpy(float)).all(axis=1))
    slots = np.zeros(n_models, int)
    slots[finite] = seed_slots(seen["point"].to_numpy(int)[finite], seen["seed"].to_numpy()[finite])
    by_model = np.stack([np.tile(seen["sparsity"].to_numpy(float)[:, None], n_drawn), unfairness, accuracy])
    means = np.full((3, grid.accuracy.shape[1], n_drawn), np.nan)
    for point, places in seen.iloc[finite].groupby("point").indices.items():
        rows = finite[places]
        weights = draws.counts[:, slots[rows]].T
        weights = np.where(weights.any(axis=0), weights, 1.0)  # none of its own seeds is drawn: all that it has
        means[:, int(point)] = (by_model[:, rows] * weights).sum(axis=1) / weights.sum(axis=0)
    return SeedGrid(measure, grid.sparsity, grid.unfairness, grid.accuracy, draws, means, of_members=True)


def _drawn_members(answers: MemberAnswers, n_drawn: int, seed: int) -> Floats:
    """How often each member is drawn: (n_drawn, n_members)."""
    n_members = int(answers.member.max()) + 1
    own = pd.DataFrame({"member": answers.member, "group": answers.group}).drop_duplicates()
    nested = bool(own["member"].is_unique)
    stratum = np.zeros(n_members, int)
    stratum[own["member"]] = own["group"] if nested else 0
    there = np.zeros(n_members, bool)
    there[own["member"]] = True
    draw, counts = np.random.default_rng([seed, 1]), np.zeros((n_drawn, n_members))
    for number in np.unique(stratum[there]):
        inside = np.flatnonzero(there & (stratum == number))
        counts[:, inside] = draw.multinomial(len(inside), np.full(len(inside), 1 / len(inside)), n_drawn)
    return counts


def _share(answers: MemberAnswers, cells: Ints, drawn: Floats) -> Floats:
    """Share of right answers among the drawn members' examples in these cells: (n_models, n_drawn); NaN without any."""
    weights = drawn[:, answers.member[cells]].T
    total = answers.n[cells] @ weights
    share: Floats = answers.correct[:, cells].astype(float) @ weights / np.where(total > 0, total, np.nan)
    return share


def _measured(answers: MemberAnswers, measure: str, drawn: Floats) -> Floats:
    """The measure between groups of each model under each draw: (n_models, n_drawn)."""
    row, groups = UNFAIRNESS[measure], np.unique(answers.group[answers.group >= 0])
    cells = [np.flatnonzero(answers.group == group) for group in groups]
    n_models, n_drawn = len(answers.models), len(drawn)
    values = np.empty((n_models, n_drawn))
    step = max(1, MOST_RATES // max(1, n_models * len(groups)))
    for start in range(0, n_drawn, step):
        part = drawn[start : start + step]
        rates = np.stack([_share(answers, own, part) for own in cells], axis=-1)
        sizes = np.stack([answers.n[own] @ part[:, answers.member[own]].T for own in cells], axis=-1)
        known, mine = (answers.before >= 0)[:, None, None], rates[:n_models]
        inputs = {
            "accuracy": mine,
            "dense": np.where(known, rates[answers.before], np.nan),
            "n": np.broadcast_to(sizes, mine.shape),
        }
        flat = (inputs[name].reshape(-1, len(groups)) for name in row.needs)
        values[:, start : start + step] = row.compute(*flat).reshape(n_models, -1)
    return values
