"""What many networks predict for each example, kept between reruns: for Harmed examples, Subgroups and Writers."""

from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.examples import exemplars, subgroups
from engine.analysis.members.permutation import Permuted, permuted
from engine.store.annotations import read_marks
from pages.shared.cache.catalog import Source, class_facts, examples, predictions


@st.cache_resource(max_entries=16, show_spinner="Comparing the networks …")
def population(source: Source, runs: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Levels that all these runs have, and what they predict there: (n_runs, n_levels, n_examples)."""
    matrices = [predictions(source, run) for run in runs]
    common = sorted(set.intersection(*(set(map(int, levels)) for levels, _ in matrices)))
    parts = [matrix[np.searchsorted(levels, common)] for levels, matrix in matrices]
    return np.array(common), np.stack(parts)


@st.cache_resource(max_entries=64, show_spinner="Looking for harmed examples …")
def exemplar_levels(source: Source, runs: tuple[str, ...], examples_set: str) -> pd.DataFrame:
    """Accuracy on the exemplars of every pruned level: `exemplar_accuracy` with the column `level`."""
    labels, n_classes = _labels(source, examples_set)
    levels, predicted = population(source, runs)
    parts = []
    for place in np.flatnonzero(levels > 0) if 0 in levels else ():
        dense, compressed = predicted[:, 0], predicted[:, place]
        divergence = exemplars.divergence(dense, compressed, n_classes)
        parts.append(exemplars.exemplar_accuracy(labels, dense, compressed, divergence).assign(level=levels[place]))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*exemplars.ACCURACY, "level"])


@st.cache_resource(max_entries=64, show_spinner="Counting errors by group …")
def subgroup_levels(
    source: Source, runs: tuple[str, ...], examples_set: str, columns: tuple[str, ...], positive: int | None
) -> pd.DataFrame:
    """Rates of groups and intersections at every pruned level: `subgroup_table` with the column `level`."""
    table = examples(source, examples_set)
    levels, predicted = population(source, runs)
    dense = predicted[:, 0]
    parts = [
        subgroups.subgroup_table(table, dense, predicted[:, place], columns, positive).assign(level=levels[place])
        for place in (np.flatnonzero(levels > 0) if 0 in levels else ())
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*subgroups.COLUMNS, "level"])


@st.cache_resource(max_entries=64, show_spinner=False)
def dealt(
    asked: tuple[Hashable, ...], _change: np.ndarray, _member: np.ndarray, _label: np.ndarray, loss: float
) -> Permuted:
    """Members beside random deals of their examples; `asked` says what the arrays were made from."""
    return permuted(_change, _member, _label, loss)


@st.cache_resource(max_entries=16, show_spinner=False)
def marks(source: Source, examples_set: str, stamp: int) -> pd.DataFrame:
    """What people marked, as it is at `marks_stamp`."""
    return read_marks(source.study, examples_set)


def _labels(source: Source, examples_set: str) -> tuple[np.ndarray, int]:
    return examples(source, examples_set)["label"].to_numpy(), len(class_facts(source, examples_set))
