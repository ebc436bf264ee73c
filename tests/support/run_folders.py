"""Small studies made by hand: runs that nobody trained, with tables that agree with each other."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from engine.pruning.schedules import planned_levels
from engine.run_spec import RunSpec
from engine.store.run_tables import LevelResult, RunTables, run_tables
from engine.store.study import Study, examples_name

SPEC = RunSpec("digits", "lenet", "global_unstructured", split="official", levels=2)
N_EXAMPLES, N_CLASSES = 60, 3
LABELS = np.arange(N_EXAMPLES) % N_CLASSES
PROVENANCE = {"engine": "0", "device": "cpu", "seconds": 1.5, "stopped": ""}
CHECKPOINT = {"checkpoints/level-001.safetensors": bytes(range(256))}


def made_tables(spec: RunSpec) -> RunTables:
    """Tables of a run that predicts at random, by its seed."""
    random = np.random.default_rng(spec.seed)
    outcomes = [
        LevelResult(
            level=level,
            sparsity_asked=1 - 0.8**level,
            n_weights=1000,
            n_kept=round(1000 * 0.8**level),
            validation_accuracy=random.random(),
            prediction=random.integers(0, N_CLASSES, N_EXAMPLES),
            probability=random.random(N_EXAMPLES),
            margin=random.random(N_EXAMPLES),
            loss=random.random(N_EXAMPLES),
        )
        for level in range(len(planned_levels(spec)) + 1)
    ]
    return run_tables(outcomes, LABELS, N_CLASSES, spec.keep_scores)


def write_made_run(study: Study, spec: RunSpec = SPEC) -> str:
    """Key of a run that was written with its examples."""
    examples = pd.DataFrame({"example": np.arange(N_EXAMPLES), "label": LABELS, "tilt": LABELS / 7})
    facts = pd.DataFrame(
        {"class": range(N_CLASSES), "name": ["a", "b", "c"], "n_test": np.bincount(LABELS), "entropy": 1.0}
    )
    study.write_examples(examples_name(spec), examples, facts)
    study.write_run(spec, made_tables(spec), PROVENANCE, CHECKPOINT)
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
