"""What networks of one model predict beside what their baselines do, kept between reruns."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared.cache.catalog import Experiment, Source, predictions
from pages.shared.cache.controls import baselines


@dataclass(frozen=True)
class Asked:
    """Runs of one model, one per seed, and what they are compared with: the choice in the frame."""

    source: Source
    experiment: Experiment
    runs: tuple[str, ...]
    baseline: str


@dataclass(frozen=True, eq=False)
class Pair:
    """What the runs predict at a level and what their baselines do: (n_runs, n_examples) each, run by run."""

    runs: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    kind: str
    """Of the baselines: "control" or "dense"."""
    baselines: tuple[str, ...]
    """The runs that the baselines are of."""


@st.cache_resource(max_entries=16, show_spinner="Comparing the networks …")
def pair(asked: Asked, level: int) -> Pair | None:
    """The runs that have the level and a baseline for it, beside these baselines; None where none has both."""
    rows = _baselines_of(asked)
    rows = rows[rows["level"] == level]
    return _pair(asked.source, rows) if len(rows) else None


@st.cache_resource(max_entries=16, show_spinner="Comparing the networks …")
def pairs(asked: Asked) -> dict[int, Pair]:
    """The same at every pruned level that all the runs have together with a baseline."""
    rows = _baselines_of(asked)
    rows = rows[rows["level"] > 0]
    every = {level: rows[rows["level"] == level] for level in sorted(map(int, rows["level"].unique()))}
    return {level: _pair(asked.source, part) for level, part in every.items() if len(part) == len(asked.runs)}


def _baselines_of(asked: Asked) -> pd.DataFrame:
    """The rows of `baselines` of the runs, in the runs' order."""
    rows = baselines(asked.source, asked.experiment, asked.baseline)
    rows = rows[rows["run"].isin(asked.runs)]
    return rows.sort_values("run", key=lambda names: names.map(asked.runs.index), kind="stable")


def _pair(source: Source, rows: pd.DataFrame) -> Pair:
    before = _stack(source, zip(rows["baseline"], rows["baseline_level"], strict=True))
    after = _stack(source, zip(rows["run"], rows["level"], strict=True))
    return Pair(tuple(rows["run"]), before, after, str(rows["kind"].iloc[0]), tuple(rows["baseline"]))


def _stack(source: Source, models: Iterable[tuple[str, int]]) -> np.ndarray:
    """What each model, a run at a level, predicts: (n_models, n_examples)."""
    parts = []
    for run, level in models:
        levels, predicted = predictions(source, run)
        parts.append(predicted[np.flatnonzero(levels == level)[0]])
    return np.stack(parts)
