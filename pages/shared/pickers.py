"""Which networks are compared: the controls that Harmed examples and Subgroups share, and what they choose."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.store.study import examples_name
from pages.shared import formats, members
from pages.shared.cache import catalog as load
from pages.shared.cache import predictions as load_predictions
from pages.shared.frame import Frame, stop_with
from pages.shared.training_note import training_of


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """What is known of the examples: their table's name, the table, the classes."""

    spec: RunSpec
    name: str
    examples: pd.DataFrame
    classes: pd.DataFrame

    @property
    def class_names(self) -> dict[int, str]:
        """Names of the classes by their numbers."""
        return dict(zip(self.classes["class"].astype(int), self.classes["name"].astype(str), strict=True))


@dataclass(frozen=True, eq=False)
class Populations:
    """The networks of one technique: dense and at the chosen level, (n_runs, n_examples) each, of the same seeds."""

    runs: tuple[str, ...]
    words: str
    """The technique and treatment in a sentence."""
    level: int
    sparsity: float
    by_level: pd.Series
    """Mean sparsity of each level."""
    dense: np.ndarray
    compressed: np.ndarray
    n_missing: int
    """Runs left out because they lack the dense or the chosen level."""
    working: str
    """Sparsity up to which the networks work at all, where the level lies beyond it; else empty."""
    training: str
    """What of their change since dense is training; may be empty."""


def load_examples(frame: Frame) -> ExampleSet:
    """The examples of the experiment; stops with a sentence where they cannot be read."""
    try:
        spec = load.spec(frame.source, frame.experiment)
        name = examples_name(spec)
        return ExampleSet(spec, name, load.examples(frame.source, name), load.class_facts(frame.source, name))
    except PruneScopeError as error:
        stop_with("The examples of these runs cannot be read.", formats.plain(error))


def choose_populations(frame: Frame) -> Populations:
    """Technique, treatment and sparsity, and what those networks said; stops where there is nothing to compare."""
    rows = frame.keep(load.levels(frame.source, frame.experiment))
    rows, words = _choose_kind(rows, frame.techniques)
    labels = members.level_labels(rows)
    with_dense = set(rows.loc[rows["level"] == 0, "run"])
    rows = rows[rows["run"].isin(with_dense).to_numpy()]
    if not labels or rows.empty:
        stop_with(
            "These runs have no dense level and a pruned one.",
            "This page compares the two; choose another technique above or on the left.",
        )
    level = int(
        st.select_slider(
            "Sparsity",
            list(labels),
            _usual_level(rows, labels),
            format_func=labels.__getitem__,
            key="level",
            bind="query-params",
            help="Share of the weights that is cut. It starts at the sparsest level within one point of the dense "
            "accuracy.",
            width=320,
        )
    )
    here = rows[(rows["level"] == level).to_numpy()].sort_values("seed")
    if here.empty:
        stop_with("No run with a dense level has this one.", "Choose another sparsity.")
    runs = tuple(here["run"].astype(str))
    try:
        levels, said = load_predictions.population(frame.source, runs)
    except PruneScopeError as error:
        stop_with("The predictions of these runs cannot be read.", formats.plain(error))
    at = np.flatnonzero(levels == level)[0]
    return Populations(
        runs=runs,
        words=", ".join(words),
        level=level,
        sparsity=float(here["sparsity"].mean()),
        by_level=rows[rows["run"].isin(runs).to_numpy()].groupby("level")["sparsity"].mean(),
        dense=said[:, 0],
        compressed=said[:, at],
        n_missing=len(with_dense) - len(runs),
        working=_working(rows, level),
        training=training_of(frame.source, frame.experiment, rows, level),
    )


def _usual_level(rows: pd.DataFrame, labels: dict[int, str], within: float = 0.01) -> int:
    means = rows.groupby("level")["accuracy"].mean()
    kept = means[(means.index > 0) & (means >= means.get(0, np.nan) - within)]
    return int(kept.index.max()) if len(kept) else min(labels)


def _working(rows: pd.DataFrame, level: int) -> str:
    last = members.last_working(rows)
    if last is None or level <= last:
        return ""
    return formats.sparsity(float(rows.loc[rows["level"] == last, "sparsity"].mean()))


def _choose_kind(rows: pd.DataFrame, techniques: Iterable[str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows of one technique, treatment and mitigation, and their names in a sentence."""
    if rows.empty:
        stop_with("No run is switched on.", "Choose other techniques or treatments on the left.")
    there = set(map(str, rows["technique"]))
    rows, technique = _pick(rows, "technique", [t for t in techniques if t in there], formats.technique)
    rows, treatment = _pick(
        rows, "treatment", sorted(set(map(str, rows["treatment"])), reverse=True), formats.treatment
    )
    words = [formats.plain(technique), formats.plain(treatment).lower()]
    mitigations = sorted(set(map(str, rows["mitigation"])), key=lambda name: (name != "none", name))
    if len(mitigations) > 1:
        rows, mitigation = _pick(rows, "mitigation", mitigations, str)
        words.append(f"mitigation {formats.plain(mitigation)}")
    return rows, words


def _pick(rows: pd.DataFrame, column: str, keys: list[str], named: Callable[[str], str]) -> tuple[pd.DataFrame, str]:
    labels = distinct(keys, named)
    chosen = str(st.selectbox(column.capitalize(), list(labels), key=column, bind="query-params", width=220))
    return rows[(rows[column] == labels[chosen]).to_numpy()], chosen


def distinct(keys: Iterable[str], named: Callable[[str], str]) -> dict[str, str]:
    """Keys by their labels; a label that two share has its key beside it."""
    keys = list(keys)
    names = [named(key) for key in keys]
    return {f"{n} ({k})" if names.count(n) > 1 else n: k for n, k in zip(names, keys, strict=True)}
