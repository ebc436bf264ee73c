"""Who loses how much at every level of one model, while the total does what: kept between reruns."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.columns import CLASS, VARIANT
from engine.analysis.members.permutation import PayLine, pay_line, strata
from engine.errors import PruneScopeError
from pages.shared.cache.between import example_columns
from pages.shared.cache.catalog import Experiment, Source, class_facts, example_set, examples, levels
from pages.shared.cache.pairs import Asked, Pair, pairs
from pages.shared.names import Variant, group_name

N_DRAWS = 200
"""Permutations behind the line from which on somebody pays."""
MOST_PARTIES = 400
"""More members than this cannot be told apart in a picture; those with most examples are shown."""


@dataclass(frozen=True)
class OneModel:
    """One variant of an experiment, and what it is compared with."""

    source: Source
    experiment: Experiment
    variant: Variant
    baseline: str


@dataclass(frozen=True, eq=False)
class WhoPays:
    """What each party loses, level by level, the level before pruning first.

    `losses` is (levels, parties), the mean over seeds of baseline minus pruned accuracy; above 0 is a loss.
    """

    column: str
    """What parts the examples: `class`, or a column of theirs."""
    parties: tuple[str, ...]
    n: np.ndarray
    n_left_out: int
    """Parties that are not shown, since there are too many."""
    levels: tuple[int, ...]
    sparsity: np.ndarray
    total: np.ndarray
    """Accuracy on all examples."""
    before: np.ndarray
    """That of the baseline."""
    losses: np.ndarray
    n_seeds: int
    kind: str
    """What the baselines are: "control" or "dense"."""
    exemplars: np.ndarray
    """Of each party, the example that turns wrong most often at the sparsest levels."""

    @property
    def total_losses(self) -> np.ndarray:
        """What the total loses at each level."""
        return np.asarray(self.before - self.total)


@st.cache_resource(max_entries=32, show_spinner=False)
def who_pays(model: OneModel, column: str) -> WhoPays | None:
    """Who of the parties of a column loses how much; None where no pruned level can be compared."""
    source, experiment = model.source, model.experiment
    rows = _rows(model)
    runs = tuple(map(str, rows.sort_values("seed")["run"].astype(str).unique()))
    table = examples(source, example_set(source, experiment))  # first: without it no run is to blame
    compared = pairs(Asked(source, experiment, runs, model.baseline)) if runs else {}
    if not compared or 0 not in set(rows["level"]):
        return None
    labels = table["label"].to_numpy()
    codes, names = _parties(model, table, column)
    n = np.bincount(codes, minlength=len(names))
    changes = {level: _changes(pair, labels) for level, pair in compared.items()}
    losses = [np.bincount(codes, change, len(names)) / np.maximum(n, 1) for change in changes.values()]
    dense = float(rows.loc[rows["level"] == 0, "accuracy"].mean())
    last = np.mean(list(changes.values())[-3:], axis=0)
    found = WhoPays(
        column,
        tuple(names),
        n,
        0,
        (0, *compared),
        np.array([0.0, *(float(rows.loc[rows["level"] == level, "sparsity"].mean()) for level in compared)]),
        np.array([dense, *(float((pair.after == labels).mean()) for pair in compared.values())]),
        np.array([dense, *(float((pair.before == labels).mean()) for pair in compared.values())]),
        np.stack([np.zeros(len(names)), *losses]),
        len(runs),
        next(iter(compared.values())).kind,
        _worst_examples(codes, last, len(names)),
    )
    kept = np.sort(np.argsort(-n, kind="stable")[:MOST_PARTIES])
    kept = kept[n[kept] > 0]
    return replace(
        found,
        parties=tuple(found.parties[place] for place in kept),
        n=n[kept],
        n_left_out=int((n > 0).sum()) - len(kept),
        losses=found.losses[:, kept],
        exemplars=found.exemplars[kept],
    )


@st.cache_resource(max_entries=32, show_spinner=False)
def line_of(model: OneModel, column: str, level: int) -> PayLine:
    """The loss from which on a party pays at a level; classes are dealt over all examples, others within classes."""
    runs = tuple(map(str, _rows(model).sort_values("seed")["run"].astype(str).unique()))
    compared = pairs(Asked(model.source, model.experiment, runs, model.baseline))[level]
    table = examples(model.source, example_set(model.source, model.experiment))
    labels = table["label"].to_numpy()
    codes = _parties(model, table, column)[0]
    kinds = np.zeros(len(labels), int) if column == CLASS else strata(labels)
    return pay_line(-_changes(compared, labels), codes, kinds, N_DRAWS)


def best_column(model: OneModel) -> str:
    """What the examples are parted by: members where there are any, else groups, else classes."""
    columns = example_columns(model.source, model.experiment)
    return next(iter((*columns.members, *columns.groups)), CLASS)


def payers(model: OneModel) -> WhoPays | None:
    """Who pays by the best column that there is; None where the predictions cannot be read or compared."""
    try:
        return who_pays(model, best_column(model))
    except PruneScopeError:
        return None


def _rows(model: OneModel) -> pd.DataFrame:
    rows = levels(model.source, model.experiment)
    for name, value in zip(VARIANT, model.variant, strict=True):
        rows = rows[rows[name] == value]
    return rows


def _parties(model: OneModel, table: pd.DataFrame, column: str) -> tuple[np.ndarray, list[str]]:
    """The number of each example's party, and the names of the parties."""
    if column == CLASS:
        facts = class_facts(model.source, example_set(model.source, model.experiment)).sort_values("class")
        return table["label"].to_numpy(), [str(name) for name in facts["name"]]
    codes, values = pd.factorize(table[column].astype(str), sort=True)
    return codes, [group_name(column, str(value)) for value in values]


def _changes(pair: Pair, labels: np.ndarray) -> np.ndarray:
    """Of each example, how many of the networks fewer have it right than of the baselines, as a share."""
    return np.asarray((pair.before == labels).mean(axis=0) - (pair.after == labels).mean(axis=0))


def _worst_examples(codes: np.ndarray, change: np.ndarray, n: int) -> np.ndarray:
    """Of each party the example that changes most for the worse; the first of equals."""
    order = np.lexsort((np.arange(len(codes)), -change, codes))
    first = np.unique(codes[order], return_index=True)
    found = np.zeros(n, int)
    found[first[0]] = order[first[1]]
    return found
