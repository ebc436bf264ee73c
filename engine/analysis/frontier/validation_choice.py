"""How much better does the chosen network look where it was chosen than elsewhere?"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.analysis.binary_rates import MEASURES
from engine.analysis.frontier.choice import reaches, value

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NO_CHOICE = "no network reaches the threshold where it would be chosen"
ONE_MEMBER = "fewer than two members, so that there is nothing to split"


@dataclass(frozen=True)
class Optimism:
    """A choice made on some examples and reported on others; means over repetitions where there are several."""

    chosen: tuple[int | None, ...]
    """The network of each repetition, as a row of the answers."""
    gap_where_chosen: float
    gap_elsewhere: float
    accuracy_where_chosen: float
    accuracy_elsewhere: float
    n_choices: int
    """Repetitions in which a network reached the threshold; the means are theirs."""
    reason: str = ""
    """Why the numbers are NaN."""
    whole: int | None = None
    """The network that all examples together choose, where that is known."""

    @property
    def n_same(self) -> int:
        """Repetitions that choose the network that all examples choose: one ships, and halves may choose others."""
        return sum(one is not None and one == self.whole for one in self.chosen)

    @property
    def optimism(self) -> float:
        """How much larger the gap is elsewhere than where it was chosen."""
        return self.gap_elsewhere - self.gap_where_chosen


@dataclass(frozen=True)
class Rule:
    """What chooses: the highest sparsity - weight x gap among networks that reach the threshold."""

    threshold: float
    weight: float


@dataclass(frozen=True, eq=False)
class Answers:
    """What networks (rows) have right, of examples (columns) in groups 0, 1, ...; several seeds are shares of them."""

    right: Floats
    group: Ints

    @classmethod
    def of(cls, right: ArrayLike, group: ArrayLike) -> "Answers":
        """Right or wrong as 1 or 0, and each example's class or group as a number."""
        return cls(np.asarray(right, float), np.asarray(group, int))

    def of_examples(self, chosen: NDArray[np.bool_]) -> "Answers":
        """The same networks on some of the examples."""
        return Answers(self.right[:, chosen], self.group[chosen])


def gaps(answers: Answers) -> tuple[Floats, Floats]:
    """Accuracy of each network, and its best group's accuracy minus its worst one's (groups without examples out)."""
    n = np.bincount(answers.group)
    members = np.eye(len(n))[answers.group][:, n > 0]
    rates = answers.right @ members / n[n > 0]
    if not rates.shape[1]:
        return np.full(len(rates), np.nan), np.full(len(rates), np.nan)
    return answers.right.mean(axis=1), rates.max(axis=1) - rates.min(axis=1)


def choice_elsewhere(sparsity: ArrayLike, here: Answers, elsewhere: Answers, rule: Rule) -> Optimism:
    """Chosen on one set of examples, as the validation split, and reported on another, as the test split."""
    return _mean([_chosen_and_reported(np.asarray(sparsity, float), here, elsewhere, rule)])


def split_choice(
    sparsity: ArrayLike, answers: Answers, member: ArrayLike, rule: Rule, n_splits: int = 20, seed: int = 0
) -> Optimism:
    """Chosen on one half of the members (writers, else examples) and reported on the other, then swapped.

    `member` says whose each example is: all examples of a member fall into one half. Splits are drawn `n_splits` times
    and each gives two choices. Both gaps are of half as many examples, so that they compare with each other only.
    """
    _, whose = np.unique(np.asarray(member), return_inverse=True)
    n_members = int(whose.max(initial=-1)) + 1
    if n_members < 2:
        return _mean([], ONE_MEMBER)
    rng, reports = np.random.default_rng(seed), []
    levels = np.asarray(sparsity, float)
    for _ in range(n_splits):
        first = (rng.permutation(n_members) < n_members // 2)[whose]
        halves = answers.of_examples(first), answers.of_examples(~first)
        reports += [_chosen_and_reported(levels, *pair, rule) for pair in (halves, halves[::-1])]
    return _mean(reports)


N_SPLITS = 10
"""Times that members are parted where nobody asks for more."""


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
        by_cell = np.array([np.bincount(self.cell[row], minlength=len(self.group)) for row in right])
        # Cells come by member; by group they are added up without a large product of matrices.
        order = np.argsort(self.group, kind="stable")
        groups, starts = np.unique(self.group[order], return_index=True)
        sums = np.zeros((len(right), len(self.first), 2, self.n_groups + 1))
        total = np.add.reduceat(by_cell[:, order], starts, axis=1)
        for split, first in enumerate(self.first):
            sums[:, split, 0, groups] = np.add.reduceat((by_cell * first)[:, order], starts, axis=1)
        sums[..., 1, groups] = total[:, None] - sums[..., 0, groups]
        return sums

    @cached_property
    def sizes(self) -> Floats:
        """Examples of each group in each half, (n_splits, 2, n_groups + 1)."""
        every: Floats = self.counts(np.ones((1, len(self.cell)), bool))[0]
        return every


def half_numbers(counts: Floats, sizes: Floats, dense: Ints, measure: str) -> tuple[Floats, Floats]:
    """Accuracy and unfairness of each network by split and half; `counts` and `sizes` are those of `Halves`.

    `dense` is the row of each network's dense one, -1 without. A group without examples in a half does not count there;
    measures of losses and of binary targets are NaN.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy: Floats = counts.sum(axis=-1) / sizes.sum(axis=-1)
        rates = np.where(sizes > 0, counts / sizes, np.nan)[..., :-1]
    row, unfairness = MEASURES[measure], np.full(accuracy.shape, np.nan)
    if not set(row.needs) <= {"accuracy", "dense", "n"}:
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


def halves_choice(
    sparsity: ArrayLike, accuracy: ArrayLike, gap: ArrayLike, rule: Rule, whole: int | None = None
) -> Optimism:
    """Chosen on one half and reported on the other, then swapped, from numbers by network, split and half.

    `whole` is the network that all examples choose. It is the one to ship: halves would give several, each from half of
    what is known; what they tell is how much the choice flatters itself, and whether they agree with it.
    """
    levels, parts, gap = np.asarray(sparsity, float), np.asarray(accuracy, float), np.asarray(gap, float)
    reports = [
        _reported(_pick(levels, parts[:, split, here], gap[:, split, here], rule), parts[:, split], gap[:, split], here)
        for split in range(parts.shape[1])
        for here in (0, 1)
    ]
    return replace(_mean(reports), whole=whole)


Report = tuple[int | None, float, float, float, float]
"""The chosen network, its gap here and elsewhere, its accuracy here and elsewhere."""


def _chosen_and_reported(sparsity: Floats, here: Answers, elsewhere: Answers, rule: Rule) -> Report:
    accuracy, gap = gaps(here)
    chosen = _pick(sparsity, accuracy, gap, rule)
    if chosen is None:
        return None, np.nan, np.nan, np.nan, np.nan
    accuracy_elsewhere, gap_elsewhere = gaps(Answers(elsewhere.right[[chosen]], elsewhere.group))
    numbers = gap[chosen], gap_elsewhere[0], accuracy[chosen], accuracy_elsewhere[0]
    one, other, three, four = (float(number) for number in numbers)
    return chosen, one, other, three, four


def _pick(sparsity: Floats, accuracy: Floats, gap: Floats, rule: Rule) -> int | None:
    """The network that the rule takes; None where none reaches the threshold."""
    values = np.where(reaches(accuracy, rule.threshold), value(sparsity, gap, rule.weight), np.nan)
    if np.isnan(values).all():
        return None
    return int(np.lexsort((-accuracy, gap, -np.where(np.isnan(values), -np.inf, values)))[0])


def _reported(chosen: int | None, accuracy: Floats, gap: Floats, here: int) -> Report:
    """What the chosen network has on the half (column) that chose it and on the other one."""
    if chosen is None:
        return None, np.nan, np.nan, np.nan, np.nan
    one, other, three, four = (float(part[chosen, half]) for part in (gap, accuracy) for half in (here, 1 - here))
    return chosen, one, other, three, four


def _mean(reports: list[Report], reason: str = NO_CHOICE) -> Optimism:
    chosen = tuple(report[0] for report in reports)
    made = [report[1:] for report in reports if report[0] is not None]
    if not made:
        return Optimism(chosen, np.nan, np.nan, np.nan, np.nan, 0, reason)
    here, elsewhere, accuracy_here, accuracy_elsewhere = np.mean(made, axis=0).tolist()
    return Optimism(chosen, here, elsewhere, accuracy_here, accuracy_elsewhere, len(made))
