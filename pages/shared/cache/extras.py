"""What only some runs recorded, kept between reruns: diagnostics, mitigation, sizes on disk."""

import pandas as pd

from engine.analysis import columns
from engine.analysis.causes.mitigation_arms import arm_outcomes, groups_of_classes
from engine.analysis.columns import MODEL
from engine.errors import PruneScopeError
from engine.store.records.measures import measured_models
from pages.shared.cache.catalog import Experiment, Source, classes, levels
from pages.shared.cache.kept import remembered


@remembered(max_entries=256, show_spinner=False)
def is_diagnosed(source: Source, experiment: Experiment) -> bool:
    """Whether a run of the experiment was diagnosed."""
    return bool(source.study.runs_with(levels(source, experiment)["run"].astype(str).unique(), "groups"))


def is_mitigated(source: Source, experiment: Experiment) -> bool:
    """Whether a run of the experiment was mitigated."""
    return any(map(columns.is_mitigated, levels(source, experiment)["mitigation"].cat.categories))


@remembered(max_entries=16, show_spinner="Reading the groups …")
def diagnosed(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model and group of the runs that were diagnosed; empty where none was."""
    return _run_tables(source, experiment, "groups")


@remembered(max_entries=16, show_spinner=False)
def multipliers(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model, epoch and group of the trainings that were mitigated; empty where none was."""
    return _run_tables(source, experiment, "multipliers")


@remembered(max_entries=16, show_spinner=False)
def sizes(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model of the runs that recorded what it costs: bytes, zipped, and of newer runs multiplications."""
    return _run_tables(source, experiment, "sizes")


@remembered(max_entries=16, show_spinner=False)
def measures(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model whose milliseconds were measured, of one image at a time, on the processor that
    most were measured on; empty where none was."""
    models = levels(source, experiment)[["run", *MODEL, "seed", "level", "sparsity"]]
    try:
        rows = measured_models(source.study, models)
    except PruneScopeError:  # `verify` says what is wrong with the file
        return models.iloc[:0]
    rows = rows[(rows["batch"] == 1) & (rows["device"] != "cuda")]
    return rows[rows["device"] == rows["device"].mode().iloc[0]] if len(rows) else rows


@remembered(max_entries=16, show_spinner=False)
def arms(source: Source, experiment: Experiment) -> pd.DataFrame:
    """Accuracy and gaps of each run and level, by class and by every grouping that was diagnosed."""
    groups, by_class = diagnosed(source, experiment), groups_of_classes(classes(source, experiment))
    parts = [by_class] if groups.empty else [by_class, groups[groups["grouping"] != "class"]]
    kept = ["run", *MODEL, "seed", "level", "sparsity", "grouping", "group", "test_n", "test_correct", "test_loss"]
    return arm_outcomes(pd.concat([part[kept].astype({"group": str, "run": str}) for part in parts], ignore_index=True))


def _run_tables(source: Source, experiment: Experiment, kind: str) -> pd.DataFrame:
    """A table that only some runs have, of all that have it, with each row's identity, seed and sparsity."""
    return source.study.run_tables(levels(source, experiment)[["run", *MODEL, "seed", "level", "sparsity"]], kind)
