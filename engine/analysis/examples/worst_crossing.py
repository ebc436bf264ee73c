"""Which group pays most, of all groups and crossings: looked for on one half of the examples, tested on the other.

Who searches many groups finds one that lost by luck; on examples that the search has not seen, luck does not repeat.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from engine.analysis.example_columns import attribute_columns, group_columns
from engine.analysis.examples.representation import attribute_bins
from engine.analysis.examples.subgroups import ALPHA, SMALL, Case, Floats, Ints, group_codes
from engine.analysis.uncertainty.clusters import cluster_codes, clustered_contrasts, layout

MOST_CROSSED = 3
"""Columns that are crossed at most."""

CLASS = "class"


@dataclass(frozen=True)
class HalfFacts:
    """A group on one half of the examples: its size, its rates, and its change less that of everybody else there."""

    n: int
    before: float
    compressed: float
    against_rest: float
    low: float
    high: float
    p: float
    """That it changes like everybody else; low and high are the 95 % interval. NaN where there is no spread."""


@dataclass(frozen=True)
class WorstCrossing:
    """The group that the search found, and what the other half says of it."""

    columns: tuple[str, ...]
    groups: tuple[str, ...]
    """Its value in each of the columns."""
    n_searched: int
    found: HalfFacts
    confirmed: HalfFacts

    @property
    def holds(self) -> bool:
        """Whether the other half, by the one test that it is used for, finds a larger change too."""
        return self.confirmed.against_rest > 0 and self.confirmed.p < ALPHA


def searched_columns(examples: pd.DataFrame, classes: Sequence[str]) -> pd.DataFrame:
    """What is searched: the class by its name, the columns of groups, and the quarters of each attribute."""
    attributes = [name for name in attribute_columns(examples) if not _is_sided(name, examples)]
    named = {CLASS: np.asarray(classes, object)[examples["label"].to_numpy()]}
    named |= {name: examples[name] for name in group_columns(examples) if name != CLASS}
    named |= {name: attribute_bins(examples[name]) for name in attributes if name not in named}
    return pd.DataFrame(named, index=examples.index)


def worst_crossing(
    examples: pd.DataFrame, columns: pd.DataFrame, case: Case, most: int = MOST_CROSSED, seed: int = 0
) -> WorstCrossing | None:
    """The group of up to `most` of the columns that surely pays most; None where no group is large enough.

    Half of the members (writers), else of the examples, at random. On the first half the group is picked whose change
    lies furthest above everybody else's by the near end of a normal interval that is wide enough for all groups
    searched; groups of fewer than SMALL examples in either half are left out. The second half is used for this group
    only.
    """
    counted = case.counted
    cluster = cluster_codes(examples)
    whose = np.arange(len(examples)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    n_members = int(whose.max(initial=-1)) + 1
    in_first = np.random.default_rng(seed).permutation(n_members) < n_members // 2
    halves = (np.flatnonzero(counted & in_first[whose]), np.flatnonzero(counted & ~in_first[whose]))
    change = case.wrong["compressed"].astype(np.int8) - case.wrong["before"].astype(np.int8)
    here = change[:, halves[0]]
    candidates = []
    for names, code, groups in _crossings(columns, most):
        sizes = np.array([np.bincount(code[half][code[half] >= 0], minlength=len(groups)) for half in halves])
        large = (sizes >= SMALL).all(axis=0) & (sizes < [[len(half)] for half in halves]).all(axis=0)
        if large.any():
            where = layout(code[halves[0]], None if cluster is None else cluster[halves[0]], len(groups))
            candidates.append((names, code, groups, np.flatnonzero(large), clustered_contrasts(here, where)))
    n_searched = sum(len(large) for *_, large, _ in candidates)
    if not n_searched:
        return None
    reach = float(ndtri(1 - ALPHA / 2 / n_searched))
    best = -np.inf
    pick: tuple[tuple[str, ...], NDArray[np.bool_], tuple[str, ...]] | None = None
    for names, code, groups, places, rates in candidates:
        near = (rates.value - reach * np.sqrt(rates.variance))[places]
        if np.isfinite(near).any() and (top := np.nanmax(near)) > best:
            place = int(places[np.nanargmax(near)])
            best, pick = float(top), (names, np.asarray(code == place), groups[place])
    if pick is None:
        return None
    found, confirmed = (_facts(case, pick[1], half, cluster) for half in halves)
    return WorstCrossing(pick[0], pick[2], n_searched, found, confirmed)


def _is_sided(name: str, examples: pd.DataFrame) -> bool:
    """Whether an attribute is there without its sign as well, which tells more: tilt beside |tilt|."""
    return f"abs_{name}" in examples


def _crossings(columns: pd.DataFrame, most: int) -> Iterator[tuple[tuple[str, ...], Ints, list[tuple[str, ...]]]]:
    """Every set of up to `most` columns, the group of each example in it (-1 for none), the values of each group."""
    codes = {str(name): group_codes(columns, [str(name)]) for name in columns}
    for size in range(1, most + 1):
        for names in combinations(codes, size):
            code: Ints = np.zeros(len(columns), np.intp)
            values: list[tuple[str, ...]] = [()]
            for name in names:
                own, words = codes[name]
                code = np.where((code < 0) | (own < 0), -1, code * len(words) + own)
                values = [(*before, word) for before in values for word in words]
            yield names, code, values


def _facts(case: Case, inside: NDArray[np.bool_], half: Ints, cluster: Ints | None) -> HalfFacts:
    mine = half[inside[half]]
    before, compressed = (float(case.wrong[name][:, mine].mean()) for name in ("before", "compressed"))
    change = (case.wrong["compressed"].astype(np.int8) - case.wrong["before"].astype(np.int8))[:, half]
    where = layout(np.where(inside[half], 0, -1), None if cluster is None else cluster[half], 1)
    rates = clustered_contrasts(change, where)
    ends: list[Floats] = [rates.value, *rates.interval(), rates.p]
    return HalfFacts(len(mine), before, compressed, *(float(end[0]) for end in ends))
