"""Predictions on validation: read as they were made, with the training rows that they belong to."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.store.study import examples_name
from engine.store.validation import split_rows, validation_table
from engine.store.verification.verify import Fault, set_aside, verify_study
from tests.support.run_folders import (
    PROVENANCE,
    SPEC,
    TRAINING_LABELS,
    made_results,
    made_study,
    made_tables,
    validation_rows,
)

NAME = examples_name(SPEC)


def test_validation_is_read_as_it_was_made(tmp_path: Path) -> None:
    study = made_study(tmp_path, 2)
    for spec in (SPEC, replace(SPEC, seed=1)):
        levels, predictions, rows = study.validation(spec.key)
        order = np.argsort(validation_rows(spec))
        np.testing.assert_array_equal(rows, validation_rows(spec)[order])
        assert levels.tolist() == [0, 1, 2] and rows.dtype == np.int32
        for row, result in zip(predictions, made_results(spec), strict=True):
            np.testing.assert_array_equal(row, result.validation_prediction[order])
        labels = study.training_examples(NAME)["label"].to_numpy()[rows]
        accuracy = study.run_table(spec.key, "levels")["validation_accuracy"]
        np.testing.assert_array_equal((predictions == labels).mean(1), accuracy)


@pytest.mark.parametrize("n_classes", [2, 10, 256, 300])
def test_any_rows_and_number_of_classes_come_back(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    labels, rows = random.integers(0, n_classes, 1001), random.permutation(1001)[:333]
    results = [
        replace(result, validation_prediction=random.integers(0, n_classes, len(rows))) for result in made_results(SPEC)
    ]
    table = validation_table(results, rows, labels, n_classes)
    np.testing.assert_array_equal(split_rows(table), np.sort(rows))
    assert table["rows"].null_count == 2


def test_the_training_side_is_no_set_of_test_examples(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    assert study.example_sets() == study.training_sets() == [NAME]
    assert study.training_examples(NAME).columns.tolist() == ["label", "writer"]
    with pytest.raises(PruneScopeError, match="No training side of 'mnist'; there is digits-official"):
        study.training_examples("mnist")
    study.write_training_examples(NAME, pd.DataFrame({"label": [0]}))
    assert len(study.training_examples(NAME)) == len(TRAINING_LABELS)


def test_names_of_sets_and_of_training_sides_stay_apart(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    tables = study.examples(NAME), study.class_facts(NAME)
    with pytest.raises(PruneScopeError, match="is the training side of another set"):
        study.write_examples(f"{NAME}-train", *tables)
    study.write_examples("animals-train", *tables)
    assert study.example_sets() == ["animals-train", NAME] and study.training_sets() == [NAME]
    with pytest.raises(PruneScopeError, match="needs the name 'animals-train'"):
        study.write_training_examples("animals", pd.DataFrame({"label": [0]}))


def test_a_run_without_validation_says_so_and_is_whole(tmp_path: Path) -> None:
    study, older = made_study(tmp_path, 1), replace(SPEC, seed=7)
    study.write_run(older, made_tables(older), PROVENANCE)
    assert study.has_validation(SPEC.key) and not study.has_validation(older.key)
    assert verify_study(study) == []
    with pytest.raises(PruneScopeError, match="no predictions on its validation split"):
        study.validation(older.key)


def test_a_training_side_that_is_gone_or_wrong_is_found_and_wanted_again(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    file = tmp_path / "examples" / f"{NAME}-train.parquet"
    file.unlink()
    assert verify_study(study) == [Fault(f"examples/{NAME}-train", "It is missing, and runs need it.")]
    assert study.lacks_examples(SPEC)
    study.write_training_examples(NAME, pd.DataFrame({"label": TRAINING_LABELS[::-1][1:]}))
    (fault,) = verify_study(study)
    assert "differ in number from what its classes say" in fault.reason
    assert set_aside(study, fault) == f"set aside in broken/{NAME}-train-1" and not file.exists()
    assert study.lacks_examples(SPEC)
