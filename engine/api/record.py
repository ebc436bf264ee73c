"""Predictions of a model of any toolkit, recorded as a level of an ordinary run.

A run holds the models of one technique, treatment, network and seed, by sparsity. One that grows is written anew under
the key of its larger self, and only then the smaller one goes, so that nothing recorded is ever lost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from engine import __version__
from engine.api.answers import ExampleSet, Recorded
from engine.errors import PruneScopeError
from engine.exchange.mapping import names_dense
from engine.run_spec import RunSpec
from engine.store.claims import claim
from engine.store.files import remove_folder
from engine.store.run_tables import LevelResult, RunTables, run_tables
from engine.store.study import Study, examples_name

ALIKE = ("dataset", "split", "network", "mitigation", "seed", "schedule")
"""Settings in which runs agree that share a dense model."""
LEAST_PROBABILITY = 1e-7
"""What a probability of 0 counts as where a loss is made of it."""


def record_model(study: Study, spec: RunSpec, tested: ExampleSet, model: Recorded) -> str:
    """Key of the run that holds the model now; a dense one joins every run of its network and seed that has none.

    The same answers of the same model twice are one model.
    """
    with claim(study.path / "claims", f"record-{examples_name(spec)}") as ours:
        if not ours:
            raise PruneScopeError(f"Somebody else records into {study.path} now; try again when they have finished.")
        _check_examples(study, tested)
        runs = _without_superseded(study, _related_runs(study, spec))
        present = _run_with(runs, spec, model)
        if present:
            return present
        study.write_examples(tested.name, _example_table(tested), _class_table(tested))
        if not names_dense(spec.technique):
            own = next((run for run in runs if run.is_of(spec)), None)
            models = [*(own.models if own else _dense_models(runs)), model]
            takes_dense = own.has_shared_dense if own else bool(models[:-1])
            key = _write(study, tested, spec, models, takes_dense)
            _remove(study, {run.key for run in (own, *_dense_runs(runs)) if run} - {key})
            return key
        waiting = [run for run in runs if not names_dense(run.spec.technique) and not run.has_dense]
        keys = [_write(study, tested, run.spec, [model, *run.models], True) for run in waiting]
        _remove(study, {run.key for run in waiting} - set(keys))
        return keys[0] if keys else _write(study, tested, spec, [model], True)


# -- what is there ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Run:
    """A recorded run: its models by sparsity, and whether its dense one was recorded for all techniques."""

    key: str
    spec: RunSpec
    models: tuple[Recorded, ...]
    has_shared_dense: bool

    @property
    def has_dense(self) -> bool:
        return any(model.sparsity == 0 for model in self.models)

    def is_of(self, spec: RunSpec) -> bool:
        return (self.spec.technique, self.spec.treatment) == (spec.technique, spec.treatment)


def _related_runs(study: Study, spec: RunSpec) -> list[_Run]:
    """Recorded runs that differ from the spec in technique and treatment at most, those of most models first."""
    runs = []
    for key in study.runs():
        record = study.run_record(key)
        if "recorded" in record.provenance and all(getattr(record.spec, n) == getattr(spec, n) for n in ALIKE):
            runs.append(_Run(key, record.spec, _models(study, key), bool(record.provenance["shared_dense"])))
    return sorted(runs, key=lambda run: -len(run.models))


def _without_superseded(study: Study, runs: list[_Run]) -> list[_Run]:
    """The runs without those that a larger one replaced just before its process was killed; these are removed."""
    kept: list[_Run] = []
    for run in runs:
        if not any(run.is_of(other.spec) and set(run.spec.sparsities) < set(other.spec.sparsities) for other in kept):
            kept.append(run)
    _remove(study, {run.key for run in runs} - {run.key for run in kept})
    return kept


def _models(study: Study, key: str) -> tuple[Recorded, ...]:
    levels, answers = study.run_table(key, "levels"), study.predictions(key)
    shape = (len(levels), -1)
    prediction = answers["prediction"].to_numpy(np.int64).reshape(shape)
    chances = (
        answers["probability"].to_numpy(float).reshape(shape) if "probability" in answers else [None] * len(levels)
    )
    return tuple(map(Recorded, levels["sparsity"].astype(float), prediction, chances))


def _dense_runs(runs: Iterable[_Run]) -> list[_Run]:
    return [run for run in runs if names_dense(run.spec.technique)]


def _dense_models(runs: Iterable[_Run]) -> list[Recorded]:
    """The dense model that was recorded for all techniques, where there is one."""
    shared = (model for run in runs if run.has_shared_dense for model in run.models if model.sparsity == 0)
    return [model for model in (next(shared, None),) if model]


def _run_with(runs: Sequence[_Run], spec: RunSpec, model: Recorded) -> str:
    """Key of the run that has this very model already, or nothing; one with other answers in its place is refused."""
    for run in runs:
        is_shared = names_dense(spec.technique) and run.has_shared_dense
        for other in run.models if run.is_of(spec) or is_shared else ():
            if other.sparsity != model.sparsity or (not run.is_of(spec) and other.sparsity > 0):
                continue
            if np.array_equal(other.prediction, model.prediction):
                return run.key
            raise PruneScopeError(
                f"The model of technique {spec.technique!r}, seed {spec.seed}, at sparsity {model.sparsity:g} is "
                "recorded already, with other answers; a model is recorded once."
            )
    return ""


def _check_examples(study: Study, tested: ExampleSet) -> None:
    """Refuse examples that differ from those that the study has by this name."""
    if tested.name not in study.example_sets():
        return
    examples, facts = study.examples(tested.name), study.class_facts(tested.name)
    if len(examples) != len(tested.labels):
        raise PruneScopeError(
            f"There are {len(tested.labels):,} labels; the study has {len(examples):,} examples of {tested.name!r}. "
            "Give other examples another dataset name."
        )
    if facts["name"].tolist() != list(tested.classes):
        raise PruneScopeError(
            f"The classes are {', '.join(tested.classes[:10])}; those of {tested.name!r} in the study are "
            f"{', '.join(facts['name'].astype(str)[:10])}."
        )
    if not np.array_equal(examples["label"], tested.labels):
        row = int(np.argmax(examples["label"].to_numpy() != tested.labels))
        raise PruneScopeError(
            f"Example {row} has the label {tested.classes[tested.labels[row]]!r}; in the study it is "
            f"{tested.classes[int(examples['label'][row])]!r}. Bring the same examples in the same order."
        )
    for column in tested.columns:
        if column not in examples or not examples[column].equals(tested.columns[column]):
            reason = "is new" if column not in examples else "has other values than in the study"
            raise PruneScopeError(f"The group column {column!r} {reason}; say the groups alike for all models.")


# -- writing ----------------------------------------------------------------------------------------------------------


def _write(study: Study, tested: ExampleSet, spec: RunSpec, models: Iterable[Recorded], shared_dense: bool) -> str:
    """Write a run of these models; its key."""
    ordered = sorted(models, key=lambda model: model.sparsity)
    spec = replace(spec, sparsities=tuple(model.sparsity for model in ordered))
    first = 0 if ordered[0].sparsity == 0 else 1
    has_scores = all(model.probability is not None for model in ordered)
    results = [_result(level, model, tested) for level, model in enumerate(ordered, start=first)]
    tables = run_tables(results, tested.labels, len(tested.classes), keep_scores=has_scores)
    study.write_run(spec, _with_sparsities(tables, ordered), provenance(shared_dense))
    return spec.key


def provenance(shared_dense: bool) -> dict[str, Any]:
    """What a recorded run says of its origin."""
    return {"engine": __version__, "recorded": True, "shared_dense": shared_dense}


def _result(level: int, model: Recorded, tested: ExampleSet) -> LevelResult:
    unknown = np.full(len(tested.labels), np.nan)
    probability = unknown if model.probability is None else model.probability
    return LevelResult(
        level=level,
        sparsity_asked=model.sparsity,
        n_weights=1,
        n_kept=1,
        validation_accuracy=float("nan"),
        prediction=model.prediction,
        probability=probability,
        margin=unknown,
        loss=-np.log(np.maximum(probability, LEAST_PROBABILITY)),
    )


def _with_sparsities(tables: RunTables, models: Sequence[Recorded]) -> RunTables:
    """The tables with the sparsities as they were said: how many weights there are is unknown."""
    unknown = pd.array([pd.NA] * len(models), dtype="Int64")
    sparsity = [model.sparsity for model in models]
    predictions = tables.predictions
    if "margin" in predictions.column_names:
        predictions = predictions.drop_columns("margin")
    return replace(
        tables,
        levels=tables.levels.assign(sparsity=sparsity, n_weights=unknown, n_kept=unknown),
        predictions=predictions,
    )


def _remove(study: Study, keys: Iterable[str]) -> None:
    for key in keys:
        remove_folder(study.path / "runs" / key)


def _example_table(tested: ExampleSet) -> pd.DataFrame:
    examples = pd.DataFrame({"example": np.arange(len(tested.labels)), "label": tested.labels})
    return pd.concat([examples, tested.columns], axis=1)


def _class_table(tested: ExampleSet) -> pd.DataFrame:
    n = len(tested.classes)
    return pd.DataFrame(
        {
            "class": np.arange(n),
            "name": pd.Series(tested.classes, dtype="str"),
            "n_train": 0,
            "n_test": np.bincount(tested.labels, minlength=n),
            "entropy": np.nan,
        }
    )
