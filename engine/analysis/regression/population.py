"""Which rows does the regression see: every pruned model's classes with what is known of them before pruning.

The model that is fitted to them stands in `terms`, the fit in `least_squares`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.errors import PruneScopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
FactsOf = Callable[[str], pd.DataFrame]

ORDER = ("dataset", "network", "treatment", "technique", "split", "mitigation", "schedule", "protocol", "seed", "run")
"""Rows are sorted by these, then by level and class, so that neighbours, which HAC errors let depend on each other, are
classes of one model. The paper does not say its order."""

WORDS = ("dataset", "network", "treatment", "technique", "split", "mitigation", "schedule", "protocol", "run")
NO_EXAMPLE = "the class has no test example"
NO_DENSE = "the run has no dense level for the class"
COLLAPSED = "the network has collapsed"
TIMES_CHANCE = 1.5
"""A network whose accuracy is at most this many times that of guessing has collapsed: it says nothing about classes."""


@dataclass(frozen=True)
class LeftOut:
    """Rows, a term or a column that the fit goes without, and why."""

    name: str
    reason: str
    n_rows: int = 0
    """How many rows; 0 for a term or a column."""
    term: str = ""
    """The term of a column."""


@dataclass(frozen=True, eq=False)
class Population:
    """One row per pruned model and class, in the order of ORDER, level and class.

    Columns: accuracy, sparsity, accuracy0 (the run's own dense accuracy of the class), quartile (of accuracy0, 0 to 3
    over the whole table), imbalance (share of the training set - 1 / number of classes), entropy (bits), run, dataset,
    network, treatment, technique, split, mitigation, schedule, protocol, seed, level, class. A number may be NaN.
    """

    table: pd.DataFrame
    left_out: tuple[LeftOut, ...] = ()


def population(
    classes: pd.DataFrame, facts_of: FactsOf, with_dense: bool = False, without_collapsed: bool = False
) -> Population:
    """The population of a table of classes.

    `facts_of` gives the class facts (class, n_train, entropy) of a run's key; it is asked once per data set, split and
    protocol. Level 0, where accuracy and accuracy0 are the same number, is left out unless `with_dense`; a
    network is left out at its levels within TIMES_CHANCE of guessing if `without_collapsed`.
    """
    run, first = _runs(classes)
    level, name = classes["level"].to_numpy(np.int64), classes["class"].to_numpy(np.int64)
    n, correct = classes["n"].to_numpy(float), classes["correct"].to_numpy(float)
    accuracy = np.divide(correct, n, out=np.full(len(n), np.nan), where=n > 0)
    width = int(name.max(initial=0)) + 1
    dense = np.full((len(first), width), np.nan)
    dense[run[level == 0], name[level == 0]] = accuracy[level == 0]
    imbalance, entropy = _class_facts(classes.iloc[first], facts_of, width)
    rows = _ordered(classes.iloc[first], run, level, name)
    rows = rows if with_dense else rows[level[rows] > 0]
    fallen = _collapsed(run, level, n, correct)[rows] if without_collapsed else np.zeros(len(rows), bool)
    rows = rows[~fallen]
    place = run[rows], name[rows]
    table = _words(classes.iloc[first], run[rows]).assign(
        seed=classes["seed"].to_numpy()[rows],
        level=level[rows],
        **{"class": name[rows]},
        sparsity=classes["sparsity"].to_numpy(float)[rows],
        accuracy=accuracy[rows],
        accuracy0=dense[place],
        imbalance=imbalance[place],
        entropy=entropy[place],
    )
    return _counted(table, (LeftOut("rows", COLLAPSED, int(fallen.sum())),) if fallen.any() else ())


def _collapsed(run: Ints, level: NDArray[np.int64], n: Floats, correct: Floats) -> NDArray[np.bool_]:
    """Whether the network of each row is right at most TIMES_CHANCE as often as one that guesses among its classes."""
    model = pd.factorize(run * (level.max(initial=0) + 1) + level)[0]
    n_classes, tested, right = (np.bincount(model, weights) for weights in ((n > 0).astype(float), n, correct))
    return np.asarray((right * n_classes <= TIMES_CHANCE * tested)[model])


def quartile(values: Floats) -> Floats:
    """Quarter of each value among all, 0 to 3, as `pandas.qcut` has it; equal values share one. NaN stays NaN."""
    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return np.full(len(values), np.nan)
    cuts = np.quantile(numbers, (0.25, 0.5, 0.75))
    return np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values).astype(float))


def _runs(classes: pd.DataFrame) -> tuple[Ints, Ints]:
    """Number of each row's run, and one row of each run."""
    run, names = pd.factorize(classes["run"])
    first = np.zeros(len(names), np.intp)
    first[run[::-1]] = np.arange(len(run))[::-1]
    return run, first


def _ordered(runs: pd.DataFrame, run: Ints, level: NDArray[np.int64], name: NDArray[np.int64]) -> Ints:
    """Places of the rows in the population's order."""
    rank = np.empty(len(runs), np.int64)
    rank[np.lexsort([pd.factorize(runs[column], sort=True)[0] for column in reversed(ORDER)])] = np.arange(len(runs))
    key = (rank[run] * (level.max(initial=0) + 1) + level) * (name.max(initial=0) + 1) + name
    rows = np.argsort(key, kind="stable")
    if np.any(np.diff(key[rows]) == 0):
        raise PruneScopeError("A run, level and class stand twice in the table of classes; once is allowed.")
    return rows


def _class_facts(runs: pd.DataFrame, facts_of: FactsOf, width: int) -> tuple[Floats, Floats]:
    """Imbalance and entropy by run and class; NaN where a run's data set has none."""
    imbalance, entropy = np.full((2, len(runs), width), np.nan)
    groups = runs.groupby(["dataset", "split", "protocol"], observed=True, dropna=False).indices
    for places in groups.values():
        try:
            facts = facts_of(str(runs["run"].iloc[places[0]]))
        except PruneScopeError:
            continue
        n_train = facts["n_train"].to_numpy(float)
        share = n_train / n_train.sum() if n_train.sum() > 0 else np.full(len(facts), np.nan)
        tested = facts["class"].between(0, width - 1).to_numpy()
        where = np.ix_(places, facts["class"].to_numpy(int)[tested])
        entropy[where] = facts["entropy"].to_numpy(float)[tested]
        imbalance[where] = (share - 1 / len(facts))[tested]
    return imbalance, entropy


def _words(runs: pd.DataFrame, run: Ints) -> pd.DataFrame:
    """The identity of each row as categories in the order of the alphabet."""
    columns = {}
    for column in WORDS:
        code, names = pd.factorize(runs[column].astype(str), sort=True)
        columns[column] = pd.Categorical.from_codes(code[run], categories=names)
    return pd.DataFrame(columns)


def _counted(table: pd.DataFrame, before: tuple[LeftOut, ...]) -> Population:
    """The table without rows that have no accuracy to explain or to start from, and with their quartile."""
    outside = table["sparsity"][(table["sparsity"] < 0) | (table["sparsity"] > 1)]
    if len(outside):
        raise PruneScopeError(f"A sparsity is {outside.iloc[0]:g}; allowed are shares from 0 to 1.")
    untested = table["accuracy"].isna().to_numpy()
    undense = table["accuracy0"].isna().to_numpy() & ~untested
    left_out = tuple(
        LeftOut("rows", reason, int(mask.sum()))
        for mask, reason in ((untested, NO_EXAMPLE), (undense, NO_DENSE))
        if mask.any()
    )
    if left_out:
        table = table[~untested & ~undense].reset_index(drop=True)
    return Population(table.assign(quartile=quartile(table["accuracy0"].to_numpy())), before + left_out)
