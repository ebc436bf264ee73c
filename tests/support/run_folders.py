"""Small studies made by hand: runs that nobody trained, with tables that agree with each other."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from engine.datasets.groups import CLASS, Grouping
from engine.pruning.schedules import planned_levels
from engine.run_spec import RunSpec
from engine.store.group_losses import LOSSES, loss_rows
from engine.store.parquet import to_parquet
from engine.store.run_tables import LevelResult, RunTables, row_tables, run_tables
from engine.store.study import Study, examples_name
from engine.store.validation import VALIDATION, validation_table

SPEC = RunSpec("digits", "lenet", "global_unstructured", split="official", levels=2)
N_EXAMPLES, N_CLASSES = 60, 3
LABELS = np.arange(N_EXAMPLES) % N_CLASSES
SIDES = np.arange(N_EXAMPLES) % 7 % 2
TRAINING_LABELS = np.arange(100) * 7 % 11 % N_CLASSES
PROVENANCE = {"engine": "0", "device": "cpu", "seconds": 1.5, "stopped": ""}
CHECKPOINT = {"checkpoints/level-001.safetensors": bytes(range(256))}


def made_results(spec: RunSpec) -> list[LevelResult]:
    """Levels of a run that predicts at random, by its seed."""
    random, validated = np.random.default_rng(spec.seed), np.random.default_rng(100 + spec.seed)
    results = [
        LevelResult(
            level=level,
            sparsity_asked=1 - 0.8**level,
            n_weights=1000,
            n_kept=round(1000 * 0.8**level),
            validation_accuracy=random.random(),
            validation_prediction=validated.integers(0, N_CLASSES, len(validation_rows(spec))),
            prediction=random.integers(0, N_CLASSES, N_EXAMPLES),
            probability=random.random(N_EXAMPLES),
            margin=random.random(N_EXAMPLES),
            loss=random.random(N_EXAMPLES),
        )
        for level in range(len(planned_levels(spec)) + 1)
    ]
    labels = TRAINING_LABELS[validation_rows(spec)]
    return [replace(r, validation_accuracy=float((r.validation_prediction == labels).mean())) for r in results]


def validation_rows(spec: RunSpec) -> np.ndarray:
    """Rows of the training side that a made run holds out, by its seed and in the order of its draws."""
    n_rows = round(spec.validation * len(TRAINING_LABELS))
    return np.random.default_rng(spec.seed).permutation(len(TRAINING_LABELS))[:n_rows]


def made_tables(spec: RunSpec) -> RunTables:
    """Tables of such a run."""
    return run_tables(made_results(spec), LABELS, N_CLASSES, spec.keep_scores)


def made_validation(spec: RunSpec) -> dict[str, bytes]:
    """The file that keeps what such a run says of its validation split."""
    table = validation_table(made_results(spec), validation_rows(spec), TRAINING_LABELS, N_CLASSES)
    return {f"{VALIDATION}.parquet": to_parquet(table, VALIDATION)}


def made_losses(spec: RunSpec) -> dict[str, bytes]:
    """The file that keeps the losses of such a run's groups, right after each cut and after training."""
    results = made_results(spec)
    groupings = [Grouping(CLASS, tuple("abc"), TRAINING_LABELS, LABELS), Grouping("side", tuple("lr"), LABELS, SIDES)]
    cuts = [None, *made_results(replace(spec, seed=spec.seed + 50))[1:]]
    rows = [loss_rows(groupings, LABELS, *pair) for pair in zip(results, cuts, strict=True)]
    table = row_tables([replace(result, losses=part) for result, part in zip(results, rows, strict=True)])[LOSSES]
    return {f"{LOSSES}.parquet": to_parquet(table, LOSSES)}


def write_made_run(study: Study, spec: RunSpec = SPEC) -> str:
    """Key of a run that was written with its examples."""
    sides = np.array(["l", "r"])[SIDES]
    examples = pd.DataFrame({"example": np.arange(N_EXAMPLES), "label": LABELS, "side": sides, "tilt": LABELS / 7})
    facts = pd.DataFrame(
        {
            "class": range(N_CLASSES),
            "name": ["a", "b", "c"],
            "n_train": np.bincount(TRAINING_LABELS),
            "n_test": np.bincount(LABELS),
            "entropy": 1.0,
        }
    )
    training = pd.DataFrame({"label": TRAINING_LABELS, "writer": np.arange(len(TRAINING_LABELS)) // 10})
    study.write_examples(examples_name(spec), examples, facts)
    study.write_training_examples(examples_name(spec), training)
    study.write_run(spec, made_tables(spec), PROVENANCE, CHECKPOINT | made_validation(spec) | made_losses(spec))
    return spec.key


def made_study(path: Path, n_runs: int = 2) -> Study:
    """A study of runs that differ in their seed."""
    study = Study(path)
    for seed in range(n_runs):
        write_made_run(study, replace(SPEC, seed=seed))
    return study


def files_of(study: Study) -> dict[str, dict[str, str]]:
    """Digests of the tables of every run."""
    return {key: study.run_record(key).files for key in study.runs()}
