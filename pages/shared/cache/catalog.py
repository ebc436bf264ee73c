"""What pages read of a study, kept between reruns; the other caches beside this one build on it.

What comes out is shared by all sessions: never change it.
"""

from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from engine.analysis.columns import EXPERIMENT, MODEL, is_mitigated
from engine.analysis.curves.baseline import CONTROL
from engine.analysis.curves.class_curves import class_curves, total_curves
from engine.analysis.curves.controls import Controls
from engine.analysis.curves.red_flags import kept_levels, kept_runs, red_flags
from engine.analysis.example_columns import group_columns
from engine.analysis.frontier.points import operating_points
from engine.analysis.member_counts import member_counts
from engine.analysis.unfairness import unfairness_table
from engine.datasets.dataset_table import ImageSet, Request, load_dataset
from engine.errors import PruneScopeError
from engine.pruning.techniques import untrained_techniques
from engine.run_spec import RunSpec
from engine.specs.experiment_names import names_in_study, opening_of_study
from engine.store import catalog
from engine.store.catalog import Catalog
from engine.store.parquet import from_parquet
from engine.store.records.measures import FILE as MEASURES
from engine.store.run_tables import is_right
from engine.store.study import Study, examples_name
from engine.study_folders import studies_in
from engine.study_folders import studies_root as studies_root
from pages.shared.cache.kept import remembered
from pages.shared.cache.watched_study import WatchedStudy


@dataclass(frozen=True)
class Source:
    """A study as it is at one moment; the stamp changes when a run is added or set aside, or a model was timed."""

    path: str
    stamp: int

    @property
    def study(self) -> Study:
        """The study itself."""
        return WatchedStudy(self.path)


@dataclass(frozen=True)
class Experiment:
    """Runs that may be compared: one data set, split, network, schedule and protocol."""

    dataset: str
    split: str
    network: str
    schedule: str
    protocol: str


NO_GROUPS = "the examples of this data set name no groups"


@dataclass(frozen=True, eq=False)
class RedFlags:
    """What `red_flags` found, and why it knows no groups, if it does not."""

    table: pd.DataFrame
    no_groups: str


def study_names() -> list[str]:
    """Names of the studies under the root, the one to open first at the front."""
    root = studies_root()
    return studies_in(root) if root.is_dir() else []


def source(name: str) -> Source:
    """The study of this name as it is now."""
    path = studies_root() / name
    runs = path / "runs"
    stamp = runs.stat().st_mtime_ns + catalog.n_left_out(path) if runs.is_dir() else 0
    with suppress(OSError):
        stamp += (path / MEASURES).stat().st_mtime_ns
    return Source(str(path), stamp)


@remembered(max_entries=8, show_spinner="Reading the study …")
def load_catalog(source: Source) -> Catalog:
    """All runs of a study."""
    return catalog.refresh(source.study)


@remembered(max_entries=64, show_spinner=False)
def experiments(source: Source) -> list[Experiment]:
    """The comparable sets of runs in a study: the one that it opens with, then that of most models."""
    found = [Experiment(*map(str, key)) for key in n_models(load_catalog(source)).index]
    try:
        opening = opening_of_study(source.study.info)
    except PruneScopeError:  # study.toml is damaged; `verify` says so
        opening = None
    return sorted(found, key=lambda experiment: astuple(experiment) != opening)


def short_names(source: Source) -> dict[tuple[str, ...], str]:
    """Names that a study gives its experiments, by the fields of these; read again once its file has changed."""
    try:
        file = Path(source.path, "study.toml").stat()
    except OSError:
        return {}
    return _short_names(source, (file.st_mtime_ns, file.st_size))


@remembered(max_entries=64, show_spinner=False)
def _short_names(source: Source, stamp: tuple[int, int]) -> dict[tuple[str, ...], str]:
    try:
        return names_in_study(source.study.info)
    except PruneScopeError:  # study.toml is damaged; `verify` says so
        return {}


@remembered(max_entries=64, show_spinner=False)
def specs(source: Source) -> dict[Experiment, RunSpec]:
    """The settings of one run of each experiment."""
    return {experiment: spec(source, experiment) for experiment in experiments(source)}


def n_models(catalog: Catalog) -> pd.Series:
    """How many models each experiment has, most first; by the columns of EXPERIMENT."""
    runs = catalog.runs.assign(n=catalog.n_levels)[~catalog.is_control & ~catalog.is_repeat]
    return runs.groupby(list(EXPERIMENT), observed=True)["n"].sum().sort_values(ascending=False, kind="stable")


@remembered(max_entries=64, show_spinner=False)
def levels(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model of an experiment."""
    return _of(source, experiment, "levels")


@remembered(max_entries=64, show_spinner=False)
def variants(source: Source, experiment: Experiment) -> pd.DataFrame:
    """The techniques of an experiment with the treatments that each was run with."""
    return levels(source, experiment)[["technique", "treatment"]].drop_duplicates(ignore_index=True)


@remembered(max_entries=64, show_spinner=False)
def classes(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model and class of an experiment."""
    return _of(source, experiment, "classes")


@remembered(max_entries=64, show_spinner=False)
def control_levels(source: Source, experiment: Experiment) -> pd.DataFrame:
    """One row per model of an experiment that was trained on and neither pruned nor mitigated; may be empty."""
    return _unmitigated(_of(source, experiment, "levels", controls=True))


@remembered(max_entries=64, show_spinner=False)
def control_classes(source: Source, experiment: Experiment) -> pd.DataFrame:
    """The same by class."""
    return _unmitigated(_of(source, experiment, "classes", controls=True))


@remembered(max_entries=64, show_spinner=False)
def unfairness(source: Source, experiment: Experiment) -> pd.DataFrame:
    """Every unfairness measure of every model of an experiment."""
    return unfairness_table(classes(source, experiment))


@remembered(max_entries=64, show_spinner=False)
def operating(source: Source, experiment: Experiment) -> pd.DataFrame:
    """Operating points of an experiment: means over seeds."""
    return operating_points(levels(source, experiment), unfairness(source, experiment))


@remembered(max_entries=64, show_spinner=False)
def class_means(source: Source, experiment: Experiment) -> pd.DataFrame:
    """Mean accuracy of each class at each operating point, by the point's number."""
    curves = class_curves(classes(source, experiment))
    numbers = operating(source, experiment)[["point", *MODEL, "level"]]
    return curves.merge(numbers, on=[*MODEL, "level"], how="left")


@remembered(max_entries=64, show_spinner=False)
def class_names(source: Source, experiment: Experiment) -> dict[int, str]:
    """Names of the classes by their numbers; empty where the study does not have them."""
    try:
        facts = class_facts(source, example_set(source, experiment))
    except PruneScopeError:
        return {}
    return dict(zip(facts["class"].astype(int), facts["name"].astype(str), strict=True))


@remembered(max_entries=64, show_spinner=False)
def total_means(source: Source, experiment: Experiment) -> pd.DataFrame:
    """Mean accuracy of each model at each level."""
    return total_curves(levels(source, experiment))


@remembered(max_entries=64, show_spinner="Looking for red flags …")
def flags(source: Source, experiment: Experiment, baseline: str = CONTROL) -> RedFlags:
    """Who loses most at the sparsest level of each model that keeps its accuracy; groups where examples name them."""
    models, counts = levels(source, experiment), classes(source, experiment)
    controls = Controls(
        control_levels(source, experiment), control_classes(source, experiment), untrained=untrained_techniques()
    )
    given = controls if len(controls.levels) and baseline == CONTROL else None
    kept = kept_levels(models, controls=given)
    runs = kept_runs(models, kept, given)
    wanted = {(str(run), level) for run, level in zip(runs.index, runs["level"].astype(int), strict=True)}
    wanted |= {(str(run), int(level)) for run, level in runs[["control", "level"]].dropna().itertuples(index=False)}
    try:
        groups = _group_counts(source, experiment, wanted)
    except PruneScopeError as error:
        return RedFlags(red_flags(models, counts, controls=given, kept=kept), f"the groups cannot be read: {error}")
    if groups is None:
        return RedFlags(red_flags(models, counts, controls=given, kept=kept), NO_GROUPS)
    trained_on = groups["run"].isin(set(runs["control"].dropna()))
    given = given and replace(given, groups=groups[trained_on])
    return RedFlags(red_flags(models, counts, groups[~trained_on], controls=given, kept=kept), "")


@remembered(max_entries=64, show_spinner=False)
def spec(source: Source, experiment: Experiment) -> RunSpec:
    """The settings of one run of an experiment; the others differ in technique, treatment, mitigation and seed only."""
    return source.study.run_record(str(levels(source, experiment)["run"].iloc[0])).spec


def example_set(source: Source, experiment: Experiment) -> str:
    """Name of the example table that an experiment was tested on."""
    return examples_name(spec(source, experiment))


@remembered(max_entries=64, show_spinner=False)
def class_facts(source: Source, name: str) -> pd.DataFrame:
    """Names, counts and entropy of the classes of an example set."""
    return source.study.class_facts(name)


@remembered(max_entries=16, show_spinner=False)
def examples(source: Source, name: str) -> pd.DataFrame:
    """The test examples of an example set."""
    return source.study.examples(name)


@remembered(max_entries=256, show_spinner=False)
def predictions(source: Source, run: str) -> tuple[np.ndarray, np.ndarray]:
    """Levels and predictions (levels x examples) of one run."""
    return source.study.prediction_matrix(run)


@remembered(max_entries=2, show_spinner="Reading the images …")
def test_images(dataset: str, request: Request, root: Path) -> ImageSet:
    """The test side of a data set on this machine, in the order of its examples; an error where it is not there."""
    return load_dataset(dataset, root, request).test


def _group_counts(source: Source, experiment: Experiment, wanted: set[tuple[str, int]]) -> pd.DataFrame | None:
    """Right answers by group of runs, dense and at the wanted levels; None where no group of few members is known.

    Decodes only these levels: all of them would take seconds for a hundred runs.
    """
    name = example_set(source, experiment)
    table = examples(source, name)
    names = group_columns(table)
    if not names or not wanted:
        return None
    n_classes = len(class_facts(source, name))
    models, right = [], []
    for run in sorted({run for run, _ in wanted}):
        content = source.study.run_file(run, "predictions.parquet")
        rows = from_parquet(content, f"runs/{run}/predictions.parquet", ["level", "offset"])
        for level, offset in zip(rows["level"].to_pylist(), rows["offset"], strict=True):
            if level == 0 or (run, level) in wanted:
                models.append((run, level))
                right.append(is_right(offset.as_py(), n_classes))
    if not models:
        return None
    return member_counts(table, pd.DataFrame(models, columns=["run", "level"]), np.stack(right), names)


def _unmitigated(table: pd.DataFrame) -> pd.DataFrame:
    mitigated = table["mitigation"].map(is_mitigated).astype(bool)
    return table[~mitigated].reset_index(drop=True)


def _of(source: Source, experiment: Experiment, kind: str, controls: bool = False) -> pd.DataFrame:
    """The rows of an experiment alone, so that a server keeps what it shows and not what the study holds."""
    everything = load_catalog(source)
    wanted = np.ones(len(everything.runs), bool)
    for name in EXPERIMENT:
        wanted &= (everything.runs[name] == getattr(experiment, name)).to_numpy()
    rows = everything.rows(kind, controls, wanted)
    for name in ("run", *MODEL):
        rows[name] = rows[name].cat.remove_unused_categories()
    return rows
