"""Models of one or more experiments side by side, kept between reruns: for Recall distortion and Regression."""

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from engine.analysis.columns import EXPERIMENT
from engine.analysis.distortion import balances as class_balances
from engine.analysis.distortion.alpha import alphas as model_alphas
from engine.store.study import examples_name
from pages.shared.cache.catalog import Experiment, Source, classes, control_classes, experiments, load_catalog

if TYPE_CHECKING:  # statsmodels takes a second to load: only the regression's page does
    from engine.analysis.regression.population import Population
    from engine.analysis.regression.result import Regression

SAME: dict[str, tuple[str, ...]] = {"experiment": EXPERIMENT, "protocol": ("schedule", "protocol"), "study": ()}
"""What the runs of a regression have in common with the experiment, by scope."""


def counterparts(source: Source, experiment: Experiment, by: str) -> list[Experiment]:
    """The experiments to hold beside this one: for each network on the same data, or each data set, the one that is
    most like it; only those of the same schedule. `by` is "network" or "dataset"."""
    others = [e for e in experiments(source) if e.schedule == experiment.schedule]
    if by == "network":
        others = [e for e in others if (e.dataset, e.split) == (experiment.dataset, experiment.split)]
    nearest: dict[tuple[str, ...], Experiment] = {}
    for other in sorted(others, key=lambda e: (e.network != experiment.network, e.protocol != experiment.protocol)):
        key = (other.network,) if by == "network" else (other.dataset, other.split)
        nearest.setdefault(key, other)
    return list(nearest.values())


@st.cache_resource(max_entries=64, show_spinner=False)
def alphas(source: Source, experiment: Experiment, base: str) -> pd.DataFrame:
    """How far pruning stretched the gaps of each model of an experiment, in one base measure."""
    return model_alphas(classes(source, experiment), base)


@st.cache_resource(max_entries=64, show_spinner=False)
def control_alphas(source: Source, experiment: Experiment, base: str) -> pd.DataFrame:
    """The same of networks that trained as long without being pruned; may be empty."""
    rows = control_classes(source, experiment)
    return model_alphas(rows, base) if len(rows) else pd.DataFrame()


@st.cache_resource(max_entries=16, show_spinner=False)
def balances(source: Source, experiment: Experiment, base: str) -> pd.DataFrame:
    """The balance of each class of each pruned model of an experiment, before and after."""
    return class_balances.balances(classes(source, experiment), base)


@st.cache_resource(max_entries=64, show_spinner=False)
def gap_chance(source: Source, experiment: Experiment) -> pd.DataFrame:
    """How likely the gaps of each dense network of an experiment are chance."""
    return class_balances.gap_chance(classes(source, experiment))


@st.cache_resource(max_entries=4, show_spinner="Gathering the population …")
def population(
    source: Source, experiment: Experiment, scope: str, without: tuple[str, ...], collapsed: bool = True
) -> "Population":
    """The rows of a regression: the runs of the experiment, of its protocol on all data and networks, or of the study.

    `scope` is a key of SAME; `without` names techniques and treatments that are switched off; `collapsed` keeps
    networks that only guess.
    """
    from engine.analysis.regression.population import population as class_population

    everything, study = load_catalog(source), source.study
    runs = everything.runs
    wanted = ~(runs["technique"].isin(without) | runs["treatment"].isin(without)).to_numpy()
    for name in SAME[scope]:
        wanted &= (runs[name] == getattr(experiment, name)).to_numpy()
    return class_population(
        everything.rows("classes", wanted=wanted),
        lambda run: study.class_facts(examples_name(study.run_record(run).spec)),
        without_collapsed=not collapsed,
    )


@st.cache_resource(max_entries=32, show_spinner="Fitting …")
def fitted(
    source: Source, runs: tuple[Experiment, str, tuple[str, ...], bool], terms: tuple[str, ...], link: str, errors: str
) -> "Regression":
    """A regression over the rows that `population` gives for `runs`: experiment, scope, what is left out, and whether
    collapsed networks are in."""
    from engine.analysis.regression.population_regression import regression

    return regression(population(source, *runs), terms, link, errors)
