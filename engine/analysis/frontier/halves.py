"""How accurate and how unequal is each network on one half of the members, and on the other?

Neither threshold nor weight plays a part, so that a page counts once and `halves_choice` chooses at every move.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.analysis.unfairness import UNFAIRNESS

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

N_SPLITS = 10


@dataclass(frozen=True, eq=False)
class Halves:
    """Examples parted several times so that all of a member (a writer, else an example) fall into one half."""

    cell: Ints
    """The member and group of each example as one number."""
    group: Ints
    """Group of each cell; `n_groups` for examples that belong to none."""
    first: NDArray[np.bool_]
    """Whether a cell falls into the first half, (n_splits, n_cells)."""
    n_groups: int

    @classmethod
    def of(
        cls, member: ArrayLike, group: ArrayLike, n_groups: int, n_splits: int = N_SPLITS, seed: int = 0
    ) -> "Halves":
        """Half of the members at random, `n_splits` times; `group` is a place among the groups or -1."""
        _, whose = np.unique(np.asarray(member), return_inverse=True)
        place = np.asarray(group, np.intp)
        place = np.where(place < 0, n_groups, place)
        cells, cell = np.unique(whose * (n_groups + 1) + place, return_inverse=True)
        n_members, rng = int(whose.max(initial=-1)) + 1, np.random.default_rng(seed)
        first = [rng.permutation(n_members) < n_members // 2 for _ in range(n_splits)]
        return cls(cell, cells % (n_groups + 1), np.array(first)[:, cells // (n_groups + 1)], n_groups)

    def counts(self, right: NDArray[np.bool_]) -> Floats:
        """How many examples of each group each network (row) has right, (n_networks, n_splits, 2, n_groups + 1)."""
        by_cell = np.array([np.bincount(self.cell[row], minlength=len(self.group)) for row in right], float)
        member = np.eye(self.n_groups + 1)[self.group]
        sides = [by_cell @ (member * side[:, None]) for first in self.first for side in (first, ~first)]
        shape = len(right), len(self.first), 2, self.n_groups + 1
        counts: Floats = np.stack(sides, axis=1).reshape(shape)
        return counts

    @property
    def sizes(self) -> Floats:
        """Examples of each group in each half, (n_splits, 2, n_groups + 1)."""
        return self.counts(np.ones((1, len(self.cell)), bool))[0]


def half_numbers(counts: Floats, sizes: Floats, dense: Ints, measure: str) -> tuple[Floats, Floats]:
    """Accuracy and unfairness of each network by split and half; `counts` and `sizes` are those of `Halves`.

    `dense` is the row of each network's dense one, -1 without. A group without examples in a half does not count there;
    measures of losses are NaN.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy: Floats = counts.sum(axis=-1) / sizes.sum(axis=-1)
        rates = np.where(sizes > 0, counts / sizes, np.nan)[..., :-1]
    row, unfairness = UNFAIRNESS[measure], np.full(accuracy.shape, np.nan)
    if {"loss", "dense_loss", "prediction"} & set(row.needs):
        return accuracy, unfairness
    for split, half in np.ndindex(accuracy.shape[1:]):
        here = rates[:, split, half]
        inputs = {
            "accuracy": here,
            "dense": np.where((dense >= 0)[:, None], here[dense], np.nan),
            "n": np.broadcast_to(sizes[split, half, :-1], here.shape),
        }
        unfairness[:, split, half] = row.compute(*(inputs[name] for name in row.needs))
    return accuracy, unfairness
