"""How long a sweep takes: measured where that is quick, counted where it is not, unknown without the data set."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.datasets.dataset_table import load_dataset
from engine.run_spec import RunSpec
from engine.specs.checks import validate_spec
from engine.specs.experiment_names import experiment_of
from engine.sweeps import estimate as module
from engine.sweeps.estimate import Rate, _operations, _words, estimate

SPEC = RunSpec("digits", "lenet", "global_unstructured", levels=1, epochs=1)


def test_operations_of_lenet_equal_those_counted_by_hand() -> None:
    """Two for each weight and place of a layer, forward; twice as much backward, without the first layer's input."""
    first, second = 2 * 9 * 6 * 26**2, 2 * 9 * 6 * 16 * 11**2
    linear = 2 * (16 * 25 * 120 + 120 * 84 + 84 * 10)
    assert _operations("lenet", 1, 28, 10) == pytest.approx(2 * first + 3 * (second + linear))


def test_small_networks_are_measured_large_ones_counted_and_absent_data_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 600.0)
    specs = [SPEC, replace(SPEC, seed=1), replace(SPEC, network="vgg11"), replace(SPEC, dataset="kmnist")]
    measured, counted, absent, total = estimate(specs, tmp_path, "cpu", 2)
    assert measured.startswith("digits, lenet: ") and measured.endswith("images a second in training, measured.")
    assert counted.startswith("digits, vgg11: ") and counted.endswith("by its operations.")
    assert absent.startswith("kmnist: no estimate.") and "python -m engine data get kmnist" in absent
    assert total.startswith("About ") and total.endswith("with 2 workers for 3 of the 4 runs.")


def test_experiments_with_a_name_have_their_line_and_dense_networks_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Machine, "rate", lambda machine, spec, dataset: Rate(10.0, float("inf"), True))
    specs = [replace(SPEC, technique=key, epochs=3) for key in ("global_unstructured", "l1_structured")]
    names = [replace(experiment_of(validate_spec(spec)), name="Digits") for spec in specs[:1]]
    lines = list(estimate([validate_spec(spec) for spec in specs], tmp_path, "cpu", 1, names))
    n_trained = round(0.8 * len(load_dataset("digits", tmp_path).train.labels))
    minutes = 9 * n_trained / 10 / 60  # three trainings of three epochs: one dense, one after each cut
    assert lines[1:] == [f"Digits: 2 runs, {minutes:.0f} minutes.", f"About {minutes:.0f} minutes with 1 workers."]


def test_an_estimate_has_patience_only_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", -1.0)
    assert list(estimate([SPEC], tmp_path, "cpu", 1)) == ["No estimate within a few minutes; the first runs will tell."]


@pytest.mark.parametrize(("seconds", "words"), [(3, "3 seconds"), (600, "10 minutes"), (36_000_000, "10,000.0 hours")])
def test_time_is_said_in_fitting_units(seconds: float, words: str) -> None:
    assert _words(seconds) == words
