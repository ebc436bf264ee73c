"""The setting `imbalance`: a long tail in training only, recorded as it was, and none by default."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.datasets.long_tail import held_out_sizes, long_tail_sizes
from engine.errors import PruneScopeError
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.store.study import examples_name
from engine.store.verification.verify import verify_study
from tests.engine.runs.test_run import ROOT, TINY, contents, run_in

TAILED = validate_spec(replace(TINY, imbalance=20, levels=2))


def test_class_sizes_are_what_was_asked_for_in_training_only() -> None:
    plain, tailed = (open_workspace(spec, ROOT, "cpu") for spec in (validate_spec(TINY), TAILED))
    counts = np.bincount(plain.dataset.train.labels)
    sizes = tailed.class_sizes()
    np.testing.assert_array_equal(sizes, long_tail_sizes(counts - held_out_sizes(counts, TAILED.validation), 20))
    assert round(sizes.max() / sizes.min()) in range(18, 23)  # few digits: sizes are rounded
    np.testing.assert_array_equal(np.bincount(tailed.training.labels.numpy()), sizes)
    assert len(tailed.validation) == len(plain.validation) and len(tailed.test) == len(plain.test)
    validated = np.bincount(tailed.validation.labels.numpy())
    assert validated.max() - validated.min() <= 2
    assert not set(tailed.rows) & set(tailed.validation_rows)


def test_recorded_class_sizes_match(tmp_path: Path) -> None:
    study = run_in(tmp_path, TAILED)
    run_in(tmp_path, replace(TAILED, seed=1))
    run_in(tmp_path, validate_spec(TINY))
    name = examples_name(TAILED)
    for seed in (0, 1):
        sizes = open_workspace(replace(TAILED, seed=seed), ROOT, "cpu").class_sizes()
        np.testing.assert_array_equal(study.class_facts(name)["n_train"], sizes)
    assert name == "digits-official-imbalance20-validation0.2" and "digits-official" in study.example_sets()
    assert verify_study(study) == []


def test_same_spec_twice_gives_identical_tables(tmp_path: Path) -> None:
    run_in(tmp_path / "a", TAILED)
    run_in(tmp_path / "b", TAILED)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("value", [0, -3])
def test_below_one_is_refused(value: int) -> None:
    with pytest.raises(PruneScopeError, match=f"imbalance is {value}; allowed is 1 or more"):
        validate_spec(replace(TINY, imbalance=value))
