"""What pages read, kept between reruns: the only caches. What comes out is shared by all sessions: never change it."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from engine import catalog
from engine.analysis.frontier import operating_points, seed_points
from engine.analysis.identity import MODEL
from engine.catalog import Catalog
from engine.store import Study
from engine.unfairness import unfairness_table

TOP = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
EXPERIMENT = ("dataset", "split", "network", "schedule", "protocol")
"""What must be equal for models to be compared on one page."""


@dataclass(frozen=True)
class Source:
    """A study as it is at one moment; the stamp changes when a run is added or set aside."""

    path: str
    stamp: int

    @property
    def study(self) -> Study:
        """The study itself."""
        return Study(self.path)


@dataclass(frozen=True)
class Experiment:
    """Runs that may be compared: one data set, split, network, schedule and protocol."""

    dataset: str
    split: str
    network: str
    schedule: str
    protocol: str


def studies_root() -> Path:
    """The folder whose subfolders are the studies to choose from."""
    return Path(os.environ.get("PRUNESCOPE_STUDIES") or TOP / "data")


def study_names() -> list[str]:
    """Names of the studies under the root; `demo` first."""
    root = studies_root()
    names = [p.name for p in root.iterdir() if _NAME.match(p.name) and (p / "runs").is_dir()] if root.is_dir() else []
    return sorted(names, key=lambda name: (name != "demo", name))


def source(name: str) -> Source:
    """The study of this name as it is now."""
    path = studies_root() / name
    runs = path / "runs"
    return Source(str(path), runs.stat().st_mtime_ns if runs.is_dir() else 0)


@st.cache_resource(max_entries=8, show_spinner="Reading the study …")
def load_catalog(source: Source) -> Catalog:
    """All runs of a study."""
    return catalog.refresh(source.study)


@st.cache_resource(max_entries=64, show_spinner=False)
def experiments(source: Source) -> list[Experiment]:
    """The comparable sets of runs in a study, the largest first."""
    runs = load_catalog(source).runs
    counts = runs.groupby(list(EXPERIMENT), observed=True).size().sort_values(ascending=False)
    return [Experiment(*map(str, key)) for key in counts.index]


@st.cache_resource(max_entries=64, show_spinner=False)
def levels(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model of an experiment."""
    return _of(load_catalog(source).levels, experiment)


@st.cache_resource(max_entries=64, show_spinner=False)
def classes(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model and class of an experiment."""
    return _of(load_catalog(source).classes, experiment)


@st.cache_resource(max_entries=64, show_spinner=False)
def unfairness(source: Source, experiment: Experiment) -> pd.DataFrame:
    """Every unfairness measure of every model of an experiment."""
    return unfairness_table(classes(source, experiment))


@st.cache_resource(max_entries=64, show_spinner=False)
def operating(source: Source, experiment: Experiment) -> pd.DataFrame:
    """Operating points of an experiment: means over seeds."""
    return operating_points(levels(source, experiment), unfairness(source, experiment))


@st.cache_resource(max_entries=64, show_spinner=False)
def by_seed(source: Source, experiment: Experiment) -> pd.DataFrame:
    """The models behind the operating points, seed by seed."""
    return seed_points(levels(source, experiment), unfairness(source, experiment))


@st.cache_resource(max_entries=64, show_spinner=False)
def class_facts(source: Source, dataset: str, split: str) -> pd.DataFrame:
    """Names, counts and entropy of the classes of a data set."""
    return source.study.class_facts(dataset, split)


@st.cache_resource(max_entries=16, show_spinner=False)
def examples(source: Source, dataset: str, split: str) -> pd.DataFrame:
    """The test examples of a data set."""
    return source.study.examples(dataset, split)


@st.cache_resource(max_entries=256, show_spinner=False)
def predictions(source: Source, run: str) -> tuple[np.ndarray, np.ndarray]:
    """Levels and predictions (levels x examples) of one run."""
    return source.study.prediction_matrix(run)


def _of(table: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    keep = np.ones(len(table), bool)
    for name in EXPERIMENT:
        keep &= (table[name] == getattr(experiment, name)).to_numpy()
    rows = table[keep].reset_index(drop=True)
    for name in ("run", *MODEL):
        rows[name] = rows[name].cat.remove_unused_categories()
    return rows
