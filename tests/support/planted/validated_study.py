"""A made-up study whose runs kept what they say of their validation split, as a real run does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.store.parquet import to_parquet
from engine.store.run_tables import run_tables
from engine.store.study import Study, examples_name
from engine.store.validation import VALIDATION, validation_table
from tests.support.studies import PROVENANCE, Plan, made_classes, made_examples, made_outcomes, make_study

N_TRAINING, N_VALIDATION = 1500, 400


def make_validated_study(path: Path, **settings: Any) -> Study:
    """The study of `make_study` with validation splits, each seed's own draw of the training side."""
    plan = Plan(**settings)
    training = made_examples(replace(plan, examples=N_TRAINING, random=plan.random + 77))
    plain = make_study(path.with_name(f"{path.name}-plain"), **settings)
    study = Study(path)
    for run in plain.runs():
        spec = plain.run_record(run).spec
        name, examples = examples_name(spec), plain.examples(examples_name(spec))
        study.write_examples(name, examples, made_classes(plan, examples))
        study.write_training_examples(name, training[["label", *plan.groups, *(["writer"] * bool(plan.writers))]])
        rows = np.random.default_rng(spec.seed).permutation(N_TRAINING)[:N_VALIDATION]
        hardness = (1 + list(plan.techniques).index(spec.technique)) * (
            1.0 if spec.treatment == plan.treatments[0] else 1.3
        )
        held_out = training.iloc[rows].reset_index(drop=True)
        labels, results = held_out["label"].to_numpy(), []
        on_test = made_outcomes(plan, examples, hardness, spec.seed)
        for test, held in zip(on_test, made_outcomes(plan, held_out, hardness, spec.seed + 50), strict=True):
            accuracy = float((held.prediction == labels).mean())
            results.append(replace(test, validation_accuracy=accuracy, validation_prediction=held.prediction))
        tables = run_tables(results, examples["label"].to_numpy(), len(plan.classes), keep_scores=True)
        table = validation_table(results, rows, training["label"].to_numpy(), len(plan.classes))
        study.write_run(spec, tables, PROVENANCE, {f"{VALIDATION}.parquet": to_parquet(table, VALIDATION)})
    return study
