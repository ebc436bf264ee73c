"""What many networks predict for each example, kept between reruns: for Harmed examples, Subgroups and Writers."""

from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.columns import VARIANT
from engine.analysis.curves.controls import trains_longer
from engine.analysis.examples import at_risk, exemplars, subgroups
from engine.analysis.examples.unpruned_counts import Excess, beside_control, beside_halves
from engine.errors import PruneScopeError
from engine.pruning.techniques import untrained_techniques
from engine.store import annotations
from engine.store.annotations import read_marks
from pages.shared.cache.catalog import (
    Experiment,
    Source,
    class_facts,
    control_levels,
    examples,
    levels,
    predictions,
)
from pages.shared.cache.pairs import Asked, pairs


@st.cache_resource(max_entries=64, show_spinner="Looking for harmed examples …")
def exemplar_levels(asked: Asked, examples_set: str) -> pd.DataFrame:
    """Accuracy on the exemplars of every pruned level: `exemplar_accuracy` with the column `level`.

    Its population "baseline" is what they are compared with.
    """
    labels, n_classes = _labels(asked.source, examples_set)
    parts = []
    for level, pair in pairs(asked).items():
        divergence = exemplars.divergence(pair.before, pair.after, n_classes)
        parts.append(exemplars.exemplar_accuracy(labels, pair.before, pair.after, divergence).assign(level=level))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*exemplars.ACCURACY, "level"])


@st.cache_resource(max_entries=64, show_spinner="Comparing unpruned networks …")
def changes_beside_nothing(
    asked: tuple[Hashable, ...],
    _unpruned: np.ndarray,
    _pruned: np.ndarray,
    _controls: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    n_classes: int,
) -> tuple[Excess | None, Excess | None]:
    """Changed examples beside those of halves of the unpruned networks, and beside those of dense and control; None
    where they cannot be had. `asked` says what the arrays were made from; `_controls` is from `control_population`."""
    halves = beside_halves(_unpruned, _pruned, n_classes)
    if _controls is None:
        return halves, None
    kept, dense, control = _controls
    return halves, beside_control(_unpruned[kept], _pruned[kept], dense, control, n_classes)


@st.cache_resource(max_entries=16, show_spinner=False)
def control_population(
    source: Source, experiment: Experiment, runs: tuple[str, ...], level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Places of the runs whose seed has a control at this level, and what those runs' dense networks and their controls
    predict, (n_controls, n_examples) each; None without any that can be read."""
    rows, controls = levels(source, experiment), control_levels(source, experiment)
    rows = rows.assign(run=rows["run"].astype(str)).drop_duplicates("run").set_index("run").loc[list(runs)]
    technique, treatment, mitigation = (str(rows[name].iloc[0]) for name in VARIANT)
    if not trains_longer((technique, treatment, mitigation), untrained_techniques()):
        return None
    by_seed = controls[controls["level"] == level].drop_duplicates("seed").set_index("seed")["run"].astype(str)
    kept = np.flatnonzero(rows["seed"].isin(by_seed.index).to_numpy())
    if not len(kept):
        return None
    try:
        dense = [_at_level(source, runs[place], 0) for place in kept]
        control = [_at_level(source, by_seed[rows["seed"].iloc[place]], level) for place in kept]
    except PruneScopeError:  # the page has the halves of the seeds to say
        return None
    return kept, np.stack(dense), np.stack(control)


@st.cache_resource(max_entries=16, show_spinner="Asking the dense networks …")
def risk_scores(source: Source, runs: tuple[str, ...], n_classes: int) -> dict[str, np.ndarray]:
    """What the dense networks of these runs say of the risk of every example, by the names of `at_risk.SCORES`."""
    found = {"disagreement": at_risk.disagreement(np.stack([_at_level(source, run, 0) for run in runs]), n_classes)}
    margins = [source.study.dense_margins(run) for run in runs]
    kept = [margin for margin in margins if margin is not None]
    return found | ({"margin": at_risk.small_margin(np.stack(kept))} if len(kept) == len(runs) else {})


@st.cache_resource(max_entries=64, show_spinner="Counting errors by group …")
def subgroup_levels(asked: Asked, examples_set: str, columns: tuple[str, ...], positive: int | None) -> pd.DataFrame:
    """Rates of groups and intersections at every pruned level: `subgroup_table` with the columns `level`, `baseline`.

    Its column `before` is the rate of the baselines, whose kind `baseline` says.
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


@st.cache_resource(max_entries=16, show_spinner=False)
def marks(source: Source, examples_set: str, stamp: int) -> pd.DataFrame:
    """What people marked, as it is at `marks_stamp`."""
    return read_marks(source.study, examples_set)


@st.cache_resource(max_entries=16, show_spinner=False)
def marks_by_person(source: Source, examples_set: str, stamp: int) -> pd.DataFrame:
    """The same of every person."""
    return annotations.marks_by_person(source.study, examples_set)


def _labels(source: Source, examples_set: str) -> tuple[np.ndarray, int]:
    return examples(source, examples_set)["label"].to_numpy(), len(class_facts(source, examples_set))


def _at_level(source: Source, run: str, level: int) -> np.ndarray:
    at, matrix = predictions(source, run)
    return np.asarray(matrix[np.searchsorted(at, level)])
