"""A study as large as Paganini's, made up: 5,757 runs, 120,897 models and about 949,300 class rows.

It is made through the catalog's own files: `levels()` and `classes()` are there; of the runs themselves there is
spec.json and nothing else.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.store.catalog import empty_tables, joined_tables, merged_tables, run_part, save_tables
from engine.store.run_files import SPEC, RunRecord, spec_file
from engine.store.study import Study

N_RUNS = 5_757
N_LEVELS = 21
TEN = ("mnist", "fashion-mnist", "qmnist", "kmnist", "cifar10", "svhn")
MIX = (("emnist-byclass", 62, 0.01), ("cifar100", 100, 0.02), ("celeba", 2, 0.466))
"""Data sets with other than ten classes, their classes, and up to which share of all runs they reach."""

NETWORKS = ("lenet", "alexnet", "vgg11", "resnet18")


def make_population(path: Path, n_runs: int = N_RUNS) -> Study:
    """A study of so many runs of 21 levels; the same number gives the same study."""
    study, random = Study(path), np.random.default_rng(n_runs)
    parts = []
    for number in range(n_runs):
        record, n_classes = _record(number)
        folder = path / "runs" / record.spec.key
        folder.mkdir(parents=True)
        (folder / SPEC).write_bytes(spec_file(record))
        parts.append(run_part(record.spec.key, record, *_tables(n_classes, random)))
    save_tables(study, merged_tables(empty_tables(), set(), joined_tables(parts)), {})
    return study


def _record(number: int) -> tuple[RunRecord, int]:
    """What the run of this number says of itself, and how many classes its data set has."""
    place = number * 0.618034 % 1  # spreads the data sets evenly
    found = next(((name, n) for name, n, share in MIX if place < share), None)
    dataset, n_classes = found or (TEN[number % len(TEN)], 10)
    techniques, treatments = list(TECHNIQUES)[:7], ("rewind", "finetune")
    spec = RunSpec(dataset, NETWORKS[number % 4], techniques[number % 7], treatments[number % 2], seed=number)
    return RunRecord(spec, {"engine": "made up", "device": "cpu", "seconds": 1.0, "stopped": ""}, {}), n_classes


def _tables(n_classes: int, random: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """Levels and classes whose accuracy falls with sparsity, each class at its own pace."""
    level, n = np.arange(N_LEVELS), 1000
    sparsity = 1 - 0.8**level
    pace = random.uniform(0.05, 0.6, n_classes)
    correct = random.binomial(n, (0.99 - pace * sparsity[:, None] ** 8).clip(0.01))
    accuracy, loss = correct.mean(1) / n, random.uniform(0.1, 2, (N_LEVELS, n_classes))
    kept = np.round(61_000 * (1 - sparsity)).astype("int64")
    shared = {"sparsity_asked": sparsity, "sparsity": sparsity, "accuracy": accuracy, "loss": loss.mean(1)}
    levels = {
        "level": level,
        **shared,
        "validation_accuracy": accuracy,
        "n_weights": kept[[0] * N_LEVELS],
        "n_kept": kept,
    }
    classes = {
        "level": np.repeat(level, n_classes),
        "class": np.tile(np.arange(n_classes), N_LEVELS),
        "n": np.full(correct.size, n),
        "correct": correct.ravel(),
        "predicted": random.integers(0, 2 * n, correct.size),
        "loss": loss.ravel(),
    }
    return pa.table(levels), pa.table(classes)
