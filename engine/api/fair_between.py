"""Unfairness between classes, or between the groups of any column: of one model's answers, or of a study's models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from engine.analysis.binary_rates import BINARY_RATES
from engine.analysis.columns import CLASS, MODEL
from engine.analysis.frontier.points import operating_points
from engine.analysis.groupings import LEAST, LEFT_OUT, Grouping, group_rows, group_unfairness_table, grouping_of
from engine.analysis.held_out_gap import debiased_gaps
from engine.analysis.noise_floor import SIDES, noise_floors
from engine.analysis.seeds import over_seeds
from engine.analysis.unfairness import UNFAIRNESS, unfairness_table
from engine.errors import PruneScopeError, unknown_name
from engine.store.study import Study, examples_name


def unfairness(
    labels: ArrayLike, predictions: ArrayLike, groups: ArrayLike | None = None, before: ArrayLike | None = None
) -> pd.Series:
    """Each measure's value for one model's answers: between its classes, or between groups where they are given.

    `before` are the unpruned network's answers to the same examples; measures of a change are NaN without them, and so
    are those that need losses. Every group counts, however small.
    """
    truth = np.asarray(labels)
    sides = {
        "labels": truth,
        "predictions": np.asarray(predictions),
        "groups": np.asarray(truth if groups is None else groups),
    }
    if before is not None:
        sides["before"] = np.asarray(before)
    for name, values in sides.items():
        if values.shape != truth.shape or truth.ndim != 1:
            raise PruneScopeError(f"{name} has the shape {values.shape}; it should be that of labels, one row each.")
    answers = [sides["predictions"]] if before is None else [sides["before"], sides["predictions"]]
    levels = pd.DataFrame({"run": "model", "level": range(2 - len(answers), 2)})
    grouping = grouping_of(pd.DataFrame({"group": sides["groups"]}), "group", least=1)
    classes = np.unique(np.concatenate([truth, *answers]))
    positive = truth == classes[1] if len(classes) == 2 and groups is not None else None
    rows = group_rows(levels, np.stack([answer == truth for answer in answers]), grouping, positive)
    table = group_unfairness_table(levels.assign(**dict.fromkeys(MODEL, ""), seed=0, sparsity=0.0), rows)
    measures = [*UNFAIRNESS, *(BINARY_RATES if positive is not None else ())]
    return table.iloc[-1][measures].astype(float).rename("unfairness")


def study_points(study: Study, fair_between: str | Sequence[str] = CLASS, least: int = LEAST) -> pd.DataFrame:
    """The operating points of a study with every measure between classes, or between the groups of one column or more.

    Several columns are crossed. Groups below `least` examples are left out (`left_out_groups` names them), classes
    never; runs whose examples lack a column are left out too.
    """
    levels = study.levels()
    if _columns(fair_between) == (CLASS,):
        return operating_points(levels, unfairness_table(study.classes()))
    tested = _tested(study, levels, fair_between, least)
    levels = levels[levels["run"].isin(set(tested))]
    return operating_points(levels, group_unfairness_table(levels, _counted(_answers(study, tested))))


def left_out_groups(study: Study, fair_between: str | Sequence[str], least: int = LEAST) -> pd.DataFrame:
    """What `study_points` leaves out, one row per example set and group: examples, group, n, reason.

    A set that lacks a column has one row, without a group; n are all of its examples.
    """
    columns = _columns(fair_between)
    parts = [pd.DataFrame(columns=["examples", *LEFT_OUT])]
    for name, examples in _example_sets(study, study.levels(), columns).items():
        missing = [column for column in columns if column not in {*examples, CLASS}]
        reason = f"no column {', '.join(missing)}"
        rows = (
            pd.DataFrame([("", len(examples), reason)], columns=list(LEFT_OUT))
            if missing
            else grouping_of(examples, columns, 1 if columns == (CLASS,) else least).left_out
        )
        parts.append(rows.assign(examples=name)[["examples", *LEFT_OUT]])
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def study_noise(study: Study, fair_between: str | Sequence[str] = CLASS, least: int = LEAST) -> pd.DataFrame:
    """One row per operating point: identity, level, n_seeds, and means over seeds of max_min, of what equal groups of
    these sizes would show (`max_min_floor`, and `max_min_floor_high` in 5 % of draws), and of `debiased_gap`.

    Reads the predictions of every run, so that it is for once per study, not for a slider.
    """
    levels, same = study.levels(), ["run", "level"]
    tested = _tested(study, levels, fair_between, 1 if _columns(fair_between) == (CLASS,) else least)
    levels = levels[levels["run"].isin(set(tested))]
    parts = [
        (_counted([part]), debiased_gaps(part.models, part.right, part.grouping)) for part in _answers(study, tested)
    ]
    rows, gaps = (pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True))
    table = group_unfairness_table(levels, rows, ["max_min"]).merge(
        noise_floors(rows, ("max_min",)), on=same, how="left"
    )
    values = ["max_min", *(f"max_min_{side}" for side in SIDES), "debiased_gap"]
    return over_seeds(table.merge(gaps, on=same, how="left"), [*MODEL, "level"], values)


@dataclass(frozen=True, eq=False)
class _Tested:
    """The examples that a run was tested on: their labels and groups."""

    labels: np.ndarray
    grouping: Grouping
    positive: np.ndarray | None = None
    """Of a binary target, which examples are of the second class."""


@dataclass(frozen=True, eq=False)
class _Answers:
    """A run's levels, which examples each gets right, and the groups of those."""

    models: pd.DataFrame
    right: np.ndarray
    grouping: Grouping
    positive: np.ndarray | None = None


def _columns(fair_between: str | Sequence[str]) -> tuple[str, ...]:
    return (fair_between,) if isinstance(fair_between, str) else tuple(fair_between)


def _runs(levels: pd.DataFrame) -> list[str]:
    return [str(run) for run in levels["run"].unique()]


def _example_sets(study: Study, levels: pd.DataFrame, columns: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The example tables of these runs by name; refused where a column is in none of them."""
    names = sorted({examples_name(study.run_record(run).spec) for run in _runs(levels)})
    tables = {name: study.examples(name) for name in names}
    if not any(set(columns) <= {*table, CLASS} for table in tables.values()):
        named = sorted(
            {str(c) for table in tables.values() for c in table if c not in ("example", "example_id", "label")}
        )
        lacking = next((c for c in columns if not any(c in {*table, CLASS} for table in tables.values())), None)
        if lacking is None:
            raise PruneScopeError(f"No examples of this study have all of {', '.join(columns)}; cross fewer columns.")
        raise unknown_name(lacking, (CLASS, *named), "group column of this study")
    return tables


def _tested(study: Study, levels: pd.DataFrame, fair_between: str | Sequence[str], least: int) -> dict[str, _Tested]:
    """Run -> what it was tested on, for every run whose examples have the columns."""
    columns = _columns(fair_between)
    sets = {
        name: _Tested(table["label"].to_numpy(), grouping_of(table, columns, least), _positive(study, name, table))
        for name, table in _example_sets(study, levels, columns).items()
        if set(columns) <= {*table, CLASS}
    }
    names = {run: examples_name(study.run_record(run).spec) for run in _runs(levels)}
    return {run: sets[name] for run, name in names.items() if name in sets}


def _positive(study: Study, name: str, examples: pd.DataFrame) -> np.ndarray | None:
    """Which examples are of the second class, where there are two."""
    return examples["label"].to_numpy() == 1 if len(study.class_facts(name)) == 2 else None


def _answers(study: Study, tested: Mapping[str, _Tested]) -> Iterator[_Answers]:
    """What each run gets right, one run at a time."""
    for run, examples in tested.items():
        numbers, predictions = study.prediction_matrix(run)
        models = pd.DataFrame({"run": run, "level": numbers})
        yield _Answers(models, predictions == examples.labels, examples.grouping, examples.positive)


def _counted(answers: Iterable[_Answers]) -> pd.DataFrame:
    """One row per run, level and group: place, group, n, correct."""
    parts = [group_rows(part.models, part.right, part.grouping, part.positive) for part in answers]
    return pd.concat(parts, ignore_index=True)
