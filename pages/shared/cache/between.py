"""Whom the Frontier is fair between, on which examples it chooses, and what each group has right there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from engine.analysis.binary_rates import FOUND, POSITIVES
from engine.analysis.columns import CLASS, MODEL
from engine.analysis.curves.baseline import CONTROL
from engine.analysis.example_columns import group_columns, member_columns
from engine.analysis.groupings import LEAST, LEFT_OUT, Grouping, correct_counts, grouping_of
from engine.errors import PruneScopeError
from engine.store.parquet import from_parquet
from engine.store.run_tables import is_right
from engine.store.validation import VALIDATION
from pages.shared.cache.catalog import (
    Experiment,
    Source,
    class_facts,
    class_names,
    classes,
    control_classes,
    control_levels,
    example_set,
    examples,
    levels,
)
from pages.shared.cache.kept import remembered

TEST = "test"


@dataclass(frozen=True)
class Between:
    """The groups that are compared, by columns of the examples (several are crossed), on the test split or on each
    run's validation split."""

    source: Source
    experiment: Experiment
    columns: tuple[str, ...] = (CLASS,)
    split: str = TEST
    baseline: str = CONTROL
    """What measures of a change are since: the choice in the frame."""

    @property
    def of_classes(self) -> bool:
        """Whether the groups are the classes."""
        return self.columns == (CLASS,)

    def on_test(self) -> "Between":
        """The same groups on the test split."""
        return replace(self, split=TEST)


@dataclass(frozen=True, eq=False)
class Tally:
    """What networks have right, by group: tables as `catalog.levels` and `catalog.classes` give them, in which the
    column `class` numbers the groups and the accuracy is that of the split. Between groups of a binary target the
    counts have POSITIVES and FOUND too."""

    levels: pd.DataFrame
    counts: pd.DataFrame
    control_counts: pd.DataFrame
    names: Mapping[int, str]
    """Names of the groups by number."""
    left_out: pd.DataFrame
    """Groups too small to count, and examples without one: group, n, reason."""


@dataclass(frozen=True, eq=False)
class Answered:
    """Which examples each level of a run has right, and to which group each of them belongs."""

    run: str
    levels: np.ndarray
    right: np.ndarray
    grouping: Grouping
    positive: np.ndarray | None = None
    """Of a binary target, which examples are of the second class."""


@dataclass(frozen=True)
class Columns:
    """Columns of the examples by what they part them into."""

    groups: tuple[str, ...]
    members: tuple[str, ...]
    """At most one: that of most members, such as writers."""


@remembered(max_entries=64, show_spinner=False)
def example_columns(source: Source, experiment: Experiment) -> Columns:
    """Columns that part the examples into a few groups, and into many members; none where they cannot be read."""
    try:
        table = examples(source, example_set(source, experiment))
    except PruneScopeError:
        return Columns((), ())
    return Columns(tuple(group_columns(table)), tuple(member_columns(table)[:1]))


@remembered(max_entries=64, show_spinner=False)
def has_validation(source: Source, experiment: Experiment) -> bool:
    """Whether every run of an experiment kept what it predicts on its validation split, so that this may choose."""
    study = source.study
    runs = [str(run) for run in levels(source, experiment)["run"].cat.categories]
    known = example_set(source, experiment) in study.training_sets()
    return known and len(study.runs_with(runs, VALIDATION)) == len(runs)


@remembered(max_entries=16, show_spinner="Counting right answers by group …")
def tally(between: Between) -> Tally:
    """What every network of an experiment has right of every group."""
    source, experiment = between.source, between.experiment
    models, controls = levels(source, experiment), control_levels(source, experiment)
    if between.of_classes and between.split == TEST:
        counts = classes(source, experiment), control_classes(source, experiment)
        return Tally(models, *counts, class_names(source, experiment), pd.DataFrame(columns=list(LEFT_OUT)))
    if between.split == VALIDATION:
        recorded = set(source.study.runs_with(map(str, controls["run"].unique()), VALIDATION))
        controls = controls[controls["run"].isin(recorded)]
        models = models.assign(accuracy=models["validation_accuracy"])
    runs = [str(run) for table in (models, controls) for run in table["run"].unique()]
    parts = list(answered(between, runs))
    counts = tuple(_rows(table, parts) for table in (models, controls))
    return Tally(models, *counts, dict(enumerate(parts[0].grouping.groups)), parts[0].grouping.left_out)


@remembered(max_entries=64, show_spinner=False)
def test_grouping(between: Between) -> Grouping:
    """The groups of the test examples."""
    return _grouping(between, examples(between.source, example_set(between.source, between.experiment)))


def answered(between: Between, runs: list[str]) -> Iterator[Answered]:
    """What each of the runs has right, one at a time."""
    read = _on_validation if between.split == VALIDATION else _on_test
    return read(between, runs)


def _on_test(between: Between, runs: list[str]) -> Iterator[Answered]:
    study, name = between.source.study, example_set(between.source, between.experiment)
    n_classes = len(class_facts(between.source, name))
    table = examples(between.source, name)
    grouping, positive = _grouping(between, table), _positive(between, table["label"].to_numpy())
    for run in runs:
        rows = from_parquet(study.run_file(run, "predictions.parquet"), run, ["level", "offset"])
        right = np.stack([is_right(offset.as_py(), n_classes) for offset in rows["offset"]])
        yield Answered(run, rows["level"].to_numpy(), right, grouping, positive)


def _on_validation(between: Between, runs: list[str]) -> Iterator[Answered]:
    study, name = between.source.study, example_set(between.source, between.experiment)
    table = study.training_examples(name)
    label, grouping = table["label"].to_numpy(), None
    for run in runs:
        at, predicted, rows = study.validation(run)
        # A group must be large enough in the split, of which each run has another draw.
        grouping = grouping or _grouping(between, table, len(table) / len(rows))
        code = grouping.code[rows]
        n = np.bincount(code[code >= 0], minlength=len(grouping.groups))
        grouped = replace(grouping, code=code, n=n)
        yield Answered(run, at, predicted == label[rows], grouped, _positive(between, label[rows]))


def _positive(between: Between, labels: np.ndarray) -> np.ndarray | None:
    """Which examples are of the second class, where there are two and the groups do not part them already."""
    two = len(class_facts(between.source, example_set(between.source, between.experiment))) == 2
    return labels == 1 if two and CLASS not in between.columns else None


def _grouping(between: Between, table: pd.DataFrame, times: float = 1.0) -> Grouping:
    """The groups of an example table; `times` as many examples are asked of each as usual."""
    names = class_names(between.source, between.experiment)
    labels = [names.get(number, str(number)) for number in range(int(table["label"].max()) + 1)]
    return grouping_of(table, between.columns, 1 if between.of_classes else round(LEAST * times), labels)


def _rows(models: pd.DataFrame, parts: list[Answered]) -> pd.DataFrame:
    """One row per model and group, as `catalog.classes` has them of classes; losses of groups are not recorded."""
    counts = {key: row for part in parts for key, row in _counted(part)}
    n_groups = len(parts[0].grouping.groups) if parts else 0
    keys = list(zip(models["run"].astype(str), models["level"].astype(int), strict=True))
    repeated = models[["run", *MODEL, "seed", "level", "sparsity"]].iloc[np.repeat(np.arange(len(models)), n_groups)]
    names = ["n", "correct", *((POSITIVES, FOUND) if parts and parts[0].positive is not None else ())]
    numbers = {
        name: np.array([counts[key][place] for key in keys], int).reshape(-1) for place, name in enumerate(names)
    }
    place = np.tile(np.arange(n_groups), len(models))
    return repeated.reset_index(drop=True).assign(**{"class": place}, **numbers, predicted=0, loss=np.nan)


def _counted(part: Answered) -> Iterator[tuple[tuple[str, int], list[np.ndarray]]]:
    """Of each level of a run, by group: examples, right ones; of a binary target the positive ones and those found."""
    correct, grouping, n_levels = correct_counts(part.right, part.grouping), part.grouping, len(part.levels)
    columns = [np.broadcast_to(grouping.n, correct.shape), correct]
    if part.positive is not None:
        there = correct_counts(part.positive[None], grouping)
        columns += [np.broadcast_to(there, correct.shape), correct_counts(part.right & part.positive, grouping)]
    for row in range(n_levels):
        yield (part.run, int(part.levels[row])), [column[row] for column in columns]
