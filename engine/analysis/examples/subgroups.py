"""Whose errors grow: error, false-positive and false-negative rates of groups and intersections, before and after.

Hooker et al. 2020, Tables 3 to 5. Intervals and tests cover new seeds and new examples at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from engine.analysis.intervals import wilson_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

RATES: Mapping[str, str] = {"error": "Error", "fpr": "False-positive rate", "fnr": "False-negative rate"}
SMALL = 30
"""Below this many examples a rate is marked as shaky."""

JOIN = " × "
ALL = "all"
COLUMNS = (
    *("grouping", "group", "rate", "n", "small", "dense", "dense_low", "dense_high"),
    *("compressed", "compressed_low", "compressed_high", "change", "low", "high", "normalised"),
    *("against_rest", "p", "p_corrected", "n_models"),
)


@dataclass(frozen=True, eq=False)
class Case:
    """What is looked at: each network's mistake on each example, and which examples the rate is about."""

    wrong: dict[str, NDArray[np.bool_]]
    """"dense" and "compressed", each (n_models, n_examples)."""
    counted: NDArray[np.bool_]


def subgroup_table(
    examples: pd.DataFrame, dense: Ints, compressed: Ints, columns: Sequence[str], positive: int | None = None
) -> pd.DataFrame:
    """One row per rate and group - all examples, each group of each column, each intersection of columns: COLUMNS.

    Without `positive` the only rate is the error over all classes. With it, that class stands against the rest, and
    error, false-positive rate (among the others) and false-negative rate (among the class) are those of this decision.
    `dense` and `compressed` are (n_models, n_examples), network by network from the same seed; rates are means over
    networks, with Wilson's 95 % interval for the n examples that the rate is about. `change` = compressed - dense;
    `normalised` = change / dense in percent, NaN where dense is 0. `against_rest` is the group's change less that of
    everybody else, `p` the test that this is 0, `p_corrected` the same by Holm over all groups of the rate.

    Both use the crossed variance: that of the seeds' means plus that of the examples' means, a little too wide rather
    than too narrow (Owen 2007, The pigeonhole bootstrap), with Satterthwaite's degrees of freedom. With one network
    they speak of these two networks only. NaN where a side has fewer than two examples, or no spread at all.
    """
    cases = rate_cases(examples["label"].to_numpy(), dense, compressed, positive)
    parts = [_rows(case, *group_codes(examples, names)) for names in groupings(columns) for case in cases.values()]
    keys = [(JOIN.join(names) or ALL, rate) for names in groupings(columns) for rate in cases]
    table = pd.concat(
        [part.assign(grouping=name, rate=rate) for part, (name, rate) in zip(parts, keys, strict=True)],
        ignore_index=True,
    )
    corrected = table.groupby("rate", sort=False)["p"].transform(lambda p: holm(p.to_numpy()))
    return table.assign(p_corrected=corrected, n_models=len(dense))[list(COLUMNS)]


def groupings(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Every set of the columns, the empty one first."""
    return [names for size in range(len(columns) + 1) for names in combinations(columns, size)]


def group_codes(examples: pd.DataFrame, names: Sequence[str]) -> tuple[Ints, list[str]]:
    """The group of each example (-1 for none) and the groups' names; for no names, one group of all."""
    if not names:
        return np.zeros(len(examples), np.intp), [ALL]
    code, found = np.zeros(len(examples), np.intp), [""]
    for name in names:
        own, values = pd.factorize(examples[name], sort=True)
        words = [str(value) for value in np.asarray(values)]
        code = np.where((code < 0) | (own < 0), -1, code * len(words) + own)
        found = [f"{before}{JOIN}{word}" if before else word for before in found for word in words]
    there = np.unique(code[code >= 0])
    place = np.full(len(found) + 1, -1)
    place[there] = np.arange(len(there))
    return place[code], [found[number] for number in there]


def rate_cases(labels: Ints, dense: Ints, compressed: Ints, positive: int | None) -> dict[str, Case]:
    """The cases of each rate: without a positive class the error, with one also false positives and negatives."""
    said = {"dense": np.atleast_2d(dense), "compressed": np.atleast_2d(compressed)}
    if positive is None:
        return {"error": Case({name: p != labels for name, p in said.items()}, np.ones(len(labels), bool))}
    is_positive = labels == positive
    wrong = {name: (p == positive) != is_positive for name, p in said.items()}
    return {
        "error": Case(wrong, np.ones(len(labels), bool)),
        "fpr": Case(wrong, ~is_positive),
        "fnr": Case(wrong, is_positive),
    }


def holm(p: Floats) -> Floats:
    """Holm's corrected p-values; NaN stays NaN and does not count as a test."""
    corrected = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    stepped = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return corrected


def _rows(case: Case, code: Ints, names: list[str]) -> pd.DataFrame:
    counted = np.flatnonzero(case.counted & (code >= 0))
    code, n_groups = code[counted], len(names)
    n = np.bincount(code, minlength=n_groups).astype(float)
    table = pd.DataFrame({"group": names, "n": n.astype(int), "small": n < SMALL})
    known = np.where(n > 0, n, np.nan)
    for name, wrong in case.wrong.items():
        mistakes = np.bincount(code, wrong[:, counted].mean(axis=0), minlength=n_groups)
        table[name] = mistakes / known
        table[f"{name}_low"], table[f"{name}_high"] = wilson_interval(mistakes, n)
    table["change"] = table["compressed"] - table["dense"]
    table["normalised"] = 100 * table["change"] / table["dense"].where(table["dense"] > 0)
    # Everybody else of the rate, whether they have a group or not.
    others = np.flatnonzero(case.counted)
    change = case.wrong["compressed"].astype(np.int8) - case.wrong["dense"].astype(np.int8)
    own = _moments(change[:, counted], code, n_groups)
    rest = _moments(change[:, others], np.zeros(len(others), np.intp), 1).minus(own)
    variance, freedom = _crossed(own.by_seed, [own])
    half = stdtrit(freedom, 0.975) * np.sqrt(variance)
    table["low"], table["high"] = table["change"] - half, table["change"] + half
    difference = own.by_seed - rest.by_seed
    variance, freedom = _crossed(difference, [own, rest])
    table["against_rest"] = difference.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.abs(table["against_rest"]) / np.sqrt(np.where(variance > 0, variance, np.nan))
    return table.assign(p=2 * stdtr(freedom, -t))


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums over the examples of each group: how many, and by seed the sum of changes, and of squared seed means."""

    n: Floats
    sums: Floats
    squares: Floats

    @property
    def by_seed(self) -> Floats:
        """Mean change of each group and seed: (n_models, n_groups)."""
        return self.sums / np.where(self.n > 0, self.n, np.nan)

    @property
    def of_mean(self) -> Floats:
        """Variance of each group's mean change that comes from which examples it has; NaN below two."""
        n = np.where(self.n > 1, self.n, np.nan)
        mean = self.sums.mean(axis=0)
        variance: Floats = np.maximum(self.squares - mean**2 / n, 0) / (n - 1) / n
        return variance

    def minus(self, other: "_Moments") -> "_Moments":
        """Those of this one's examples that are not the other's."""
        return _Moments(self.n - other.n, self.sums - other.sums, self.squares - other.squares)


def _moments(change: NDArray[np.int8], code: Ints, n_groups: int) -> _Moments:
    n = np.bincount(code, minlength=n_groups).astype(float)
    sums = np.array([np.bincount(code, row, minlength=n_groups) for row in change], float)
    squares = np.bincount(code, change.mean(axis=0) ** 2, minlength=n_groups).astype(float)
    return _Moments(n, sums, squares)


def _crossed(by_seed: Floats, sides: Sequence[_Moments]) -> tuple[Floats, Floats]:
    """Variance of the mean over seeds and examples, and its degrees of freedom."""
    n_seeds = len(by_seed)
    parts = [(side.of_mean, side.n - 1) for side in sides]
    if n_seeds > 1:
        parts.append((by_seed.var(axis=0, ddof=1) / n_seeds, np.full(by_seed.shape[1], n_seeds - 1.0)))
    variance = np.sum([part for part, _ in parts], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = variance**2 / np.sum([part**2 / of for part, of in parts], axis=0)
    return variance, np.where(variance > 0, freedom, np.nan)
