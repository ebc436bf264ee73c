"""What many networks predict for each example, kept between reruns: for Harmed examples, Subgroups and Writers."""

from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.examples import exemplars, subgroups
from engine.analysis.members.permutation import Permuted, permuted
from engine.store.annotations import read_marks
from pages.shared.cache.catalog import Source, class_facts, examples
from pages.shared.cache.pairs import Asked, pairs


@st.cache_resource(max_entries=64, show_spinner="Looking for harmed examples …")
def exemplar_levels(asked: Asked, examples_set: str) -> pd.DataFrame:
    """Accuracy on the exemplars of every pruned level: `exemplar_accuracy` with the column `level`.

    Its population "dense" is the baselines.
    """
    labels, n_classes = _labels(asked.source, examples_set)
    parts = []
    for level, pair in pairs(asked).items():
        divergence = exemplars.divergence(pair.before, pair.after, n_classes)
        parts.append(exemplars.exemplar_accuracy(labels, pair.before, pair.after, divergence).assign(level=level))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*exemplars.ACCURACY, "level"])


@st.cache_resource(max_entries=64, show_spinner="Counting errors by group …")
def subgroup_levels(asked: Asked, examples_set: str, columns: tuple[str, ...], positive: int | None) -> pd.DataFrame:
    """Rates of groups and intersections at every pruned level: `subgroup_table` with the columns `level`, `baseline`.

    Its column `dense` is the rate of the baselines, whose kind `baseline` says.
    """
    table = examples(asked.source, examples_set)
    parts = [
        subgroups.subgroup_table(table, pair.before, pair.after, columns, positive).assign(
            level=level, baseline=pair.kind
        )
        for level, pair in pairs(asked).items()
    ]
    names = [*subgroups.COLUMNS, "level", "baseline"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=names)


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
