"""One run: the same each time, the same after any interruption, and recorded whole."""

import hashlib
import multiprocessing
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.errors import PruneScopeError
from engine.pruning.masks import EmptyLayer, Masks, count_kept, cut_masks
from engine.pruning.schedules import planned_levels
from engine.run_spec import Progress, RunSpec
from engine.runs import run as experiment
from engine.runs.checkpoints import load_states
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.store.study import Study

ROOT = Path("unused")
TINY = RunSpec("digits", "lenet", "global_unstructured", levels=4, epochs=1, learning_rate=0.1, batch_size=64)


def contents(study: Path) -> dict[str, str]:
    """Digest of every table of every run."""
    files = sorted(path for path in (study / "runs").rglob("*") if path.is_file() and path.name != "spec.json")
    return {str(path.relative_to(study)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run_in(study: Path, spec: RunSpec = TINY) -> Study:
    run_experiment(spec, Study(study), ROOT, "cpu")
    return Study(study)


def test_same_spec_twice_gives_identical_tables(tmp_path: Path) -> None:
    spec = replace(TINY, technique="random_structured", crop=1, flip=True, keep_checkpoints=True)
    run_in(tmp_path / "a", spec)
    run_in(tmp_path / "b", spec)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert len(contents(tmp_path / "a")) == 6 + spec.levels


def test_other_seed_gives_other_predictions(tmp_path: Path) -> None:
    study = run_in(tmp_path)
    run_in(tmp_path, replace(TINY, seed=1))
    first, second = (study.prediction_matrix(key)[1] for key in study.runs())
    assert (first != second).any()


def test_recorded_seconds_are_of_computing_and_pauses_are_out(tmp_path: Path) -> None:
    begun = time.process_time()
    run_experiment(TINY, Study(tmp_path), ROOT, "cpu", lambda progress: time.sleep(0.5))
    record = Study(tmp_path).run_record(validate_spec(TINY).key)
    assert 0 < record.provenance["seconds"] <= time.process_time() - begun + 0.1


def test_run_killed_at_ten_moments_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    spec = validate_spec(replace(TINY, levels=6, technique="random_unstructured"))
    begun = time.monotonic()
    run_in(tmp_path / "calm", spec)
    duration = time.monotonic() - begun
    fork = multiprocessing.get_context("fork")
    draw = random.Random(0)
    for _ in range(10):
        process = fork.Process(target=run_in, args=(tmp_path / "killed", spec))
        process.start()
        time.sleep(draw.uniform(0.05, max(0.3, duration / 3)))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    run_in(tmp_path / "killed", spec)
    assert contents(tmp_path / "killed") == contents(tmp_path / "calm")
    assert not (tmp_path / "killed" / "work" / spec.key).exists()


def test_a_run_resumes_after_its_last_finished_level(tmp_path: Path) -> None:
    spec, seen = validate_spec(TINY), []

    def stop(progress: Progress) -> None:
        if progress.level == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, Study(tmp_path), ROOT, "cpu", stop)
    run_experiment(spec, Study(tmp_path), ROOT, "cpu", seen.append)
    assert [progress.level for progress in seen] == [3, 4]
    levels = Study(tmp_path).levels().set_index("level")
    assert [progress.accuracy for progress in seen] == levels.loc[[2, 3], "validation_accuracy"].tolist()


def test_a_finished_run_is_not_computed_again(tmp_path: Path) -> None:
    run_in(tmp_path)
    again = run_experiment(TINY, Study(tmp_path), ROOT, "cpu", lambda progress: pytest.fail("it trained"))
    assert not again.computed


def test_runs_that_prune_differently_share_the_dense_network(tmp_path: Path) -> None:
    study = run_in(tmp_path)
    levels = []
    run_experiment(
        replace(TINY, technique="l1_structured", treatment="finetune"),
        study,
        ROOT,
        "cpu",
        lambda progress: levels.append(progress.level),
    )
    assert 0 not in levels
    rows = study.levels()
    assert rows.loc[rows["level"] == 0, "loss"].nunique() == 1
    assert len(list((tmp_path / "dense").glob("*.safetensors"))) == 1


def test_rewind_goes_back_and_finetune_goes_on(tmp_path: Path) -> None:
    still = replace(TINY, learning_rate=1e-12, levels=1, keep_checkpoints=True)
    weights = {}
    for treatment in ("rewind", "finetune"):
        study = run_in(tmp_path / treatment, replace(still, treatment=treatment))
        run, device = study.runs()[0], torch.device("cpu")
        dense = load_states(next((tmp_path / treatment / "dense").glob("*.safetensors")), device)
        after = load_states(study.path / "runs" / run / "checkpoints" / "level-001.safetensors", device)
        assert dense is not None and after is not None
        weights[treatment] = (dense, after["weights"]["conv1.bias"])
    dense, rewound = weights["rewind"]
    torch.testing.assert_close(rewound, dense["initial"]["conv1.bias"])
    dense, tuned = weights["finetune"]
    torch.testing.assert_close(tuned, dense["trained"]["conv1.bias"])


def test_tables_agree_with_each_other(tmp_path: Path) -> None:
    study = run_in(tmp_path)
    key = study.runs()[0]
    labels = study.examples("digits-official")["label"].to_numpy()
    levels, said = study.prediction_matrix(key)
    table = study.levels().set_index("level")
    np.testing.assert_allclose((said == labels).mean(1), table.loc[levels, "accuracy"])
    by_class = study.classes().groupby("level")[["n", "correct", "predicted"]].sum()
    assert (by_class["n"] == len(labels)).all() and (by_class["predicted"] == len(labels)).all()
    np.testing.assert_array_equal(by_class["correct"], (said == labels).sum(1))
    assert table["sparsity"].is_monotonic_increasing
    assert len(study.predictions(key)) == len(labels) * 5


@pytest.mark.parametrize("technique", ["gradient", "undecayed", "global_random", "global_unstructured"])
def test_oneshot_starts_each_level_from_the_dense_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, technique: str
) -> None:
    spec = RunSpec(
        "digits",
        "lenet",
        technique,
        "finetune",
        schedule="oneshot",
        sparsities=(0.3, 0.6),
        epochs=1,
        epochs_after=1,
        weight_decay=0.0005,
        batch_size=64,
    )
    starts: list[tuple[dict[str, torch.Tensor], Masks]] = []

    def watched(weights: dict[str, torch.Tensor], masks: Masks, *others: Any) -> Masks:
        starts.append(({name: weight.detach().clone() for name, weight in weights.items()}, masks))
        return cut_masks(weights, masks, *others)

    monkeypatch.setattr(experiment, "cut_masks", watched)
    study = run_in(tmp_path, spec)
    np.testing.assert_allclose(study.levels()["sparsity"], [0, 0.3, 0.6], atol=1e-4)
    (first, _), (second, _) = starts
    assert first and all(torch.equal(first[name], second[name]) for name in first)
    assert [count_kept(masks) for _, masks in starts] == [study.levels()["n_weights"].iloc[0]] * 2


def test_gradual_reaches_its_sparsity_while_training(tmp_path: Path) -> None:
    spec = RunSpec(
        "digits",
        "lenet",
        "global_unstructured",
        schedule="gradual",
        sparsities=(0.8,),
        begin_step=5,
        end_step=40,
        every_steps=7,
        epochs=2,
    )
    study = run_in(tmp_path, spec)
    assert study.levels()["sparsity"].iloc[-1] == pytest.approx(0.8, abs=1e-4)
    with pytest.raises(PruneScopeError, match="ends at step 4000"):
        run_in(tmp_path, replace(spec, end_step=4000))


def test_a_level_that_would_empty_a_layer_ends_the_run_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut, calls = experiment.cut_masks, []

    def cut_three_times(*arguments: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == 3:
            raise EmptyLayer("conv1")
        return cut(*arguments, **named)

    monkeypatch.setattr(experiment, "cut_masks", cut_three_times)
    finished = run_experiment(TINY, Study(tmp_path), ROOT, "cpu")
    assert "Level 3 would empty layer conv1" in finished.stopped
    study = Study(tmp_path)
    assert study.levels()["level"].tolist() == [0, 1, 2]
    assert study.run_record(finished.key).provenance["stopped"] == finished.stopped


def test_a_folder_that_cannot_be_written_is_said_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PruneScopeError, match="Cannot write to"):
        run_experiment(TINY, Study(tmp_path / "file"), ROOT, "cpu", lambda progress: pytest.fail("it trained"))


def test_too_little_room_is_said_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "_megabytes", lambda spec, workspace: 1e12)
    with pytest.raises(PruneScopeError, match="MB are free"):
        run_experiment(TINY, Study(tmp_path), ROOT, "cpu", lambda progress: pytest.fail("it trained"))


def test_divergence_is_an_error_not_a_result(tmp_path: Path) -> None:
    with pytest.raises(PruneScopeError, match="diverged at level 0"):
        run_in(tmp_path, replace(TINY, learning_rate=1e20))


def test_validation_split_follows_the_seed_and_leaves_the_test_split_alone() -> None:
    labs = [open_workspace(validate_spec(replace(TINY, seed=seed)), ROOT, "cpu") for seed in (0, 0, 1)]
    sums = [int(workspace.validation.images.long().sum()) for workspace in labs]
    assert sums[0] == sums[1] != sums[2]
    assert len(labs[0].validation) == round(0.2 * (len(labs[0].training) + len(labs[0].validation)))


def test_paper_protocol_is_the_default() -> None:
    spec = RunSpec("qmnist", "lenet", "global_unstructured")
    assert (spec.epochs, spec.levels, spec.share, spec.batch_size, spec.learning_rate) == (30, 20, 0.2, 32, 0.01)
    assert planned_levels(spec)[-1].sparsity == pytest.approx(0.98847, abs=1e-5)
