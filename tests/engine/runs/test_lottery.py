"""Rewinding to an early step, and its controls: its masks with other weights, its weights with shuffled masks."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import PruneScopeError
from engine.pruning.masks import Masks, count_kept
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import Progress, RunSpec
from engine.runs import run as module
from engine.runs.dense import dense_network, early_weights
from engine.runs.lottery import control_masks
from engine.runs.run import run_experiment
from engine.runs.workspace import Workspace, open_workspace
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from engine.training.device import reproducible
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from tests.engine.runs.test_run import ROOT, TINY, contents, run_in

SPEC = validate_spec(replace(TINY, levels=3, epochs=2, momentum=0.5, rate_schedule="cosine"))
EARLY = replace(SPEC, rewind_to=5)


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return open_workspace(SPEC, ROOT, "cpu")


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[dict[str, Any], Masks]]]:
    """Weights and masks with which every training after a cut began, in the order of the trainings."""
    seen: list[tuple[dict[str, Any], Masks]] = []

    def noted(network: Any, split: Any, masks: Masks, job: TrainingJob) -> None:
        seen.append(({name: tensor.clone() for name, tensor in network.state_dict().items()}, dict(masks)))
        train_network(network, split, masks, job)

    monkeypatch.setattr(module, "train_network", noted)
    yield seen


@pytest.mark.parametrize("mitigation", ["none", "both"])
def test_early_weights_are_those_of_that_step_of_the_dense_training(
    tmp_path: Path, workspace: Workspace, mitigation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, passed = replace(EARLY, mitigation=mitigation), {}

    def watched(network: Any, split: Any, masks: Masks, job: TrainingJob) -> None:
        def on_step(done: int) -> None:
            passed[done] = {name: tensor.clone() for name, tensor in network.state_dict().items()}

        train_network(network, split, masks, replace(job, on_step=on_step))

    with monkeypatch.context() as patched:
        patched.setattr("engine.runs.dense.train_network", watched)
        dense = dense_network(spec, Study(tmp_path), workspace, lambda progress: None)
    early = early_weights(spec, workspace, dense)
    assert all(torch.equal(early[name], passed[5][name]) for name in early)
    assert not torch.equal(early["conv1.weight"], dense.initial["conv1.weight"])
    assert early_weights(replace(spec, rewind_to=0), workspace, dense) is dense.initial


def test_a_step_beyond_the_dense_training_is_refused(tmp_path: Path) -> None:
    n_steps = open_workspace(SPEC, ROOT, "cpu").n_steps(SPEC, SPEC.epochs)
    with pytest.raises(PruneScopeError, match=f"rewind_to is {n_steps}; the dense training has {n_steps} steps"):
        run_in(tmp_path, replace(SPEC, rewind_to=n_steps))


def test_rewinding_starts_every_level_from_the_early_weights(
    tmp_path: Path, workspace: Workspace, starts: list[tuple[dict[str, Any], Masks]]
) -> None:
    study = run_in(tmp_path, EARLY)
    with reproducible(torch.device("cpu")):
        early = early_weights(EARLY, workspace, dense_network(EARLY, study, workspace, lambda progress: None))
    assert len(starts) == 3 and dense_key(EARLY) == dense_key(SPEC)
    for weights, masks in starts:
        assert all(torch.equal(weights[name], early[name] * masks[name]) for name in masks)
        assert torch.equal(weights["conv1.bias"], early["conv1.bias"])


@pytest.mark.parametrize("treatment", ["fresh", "shuffled"])
@pytest.mark.parametrize("schedule", ["iterative", "oneshot"])
def test_controls_have_the_masks_of_the_run_that_rewinds(
    tmp_path: Path, treatment: str, schedule: str, starts: list[tuple[dict[str, Any], Masks]]
) -> None:
    levels = {"levels": 20, "schedule": "oneshot", "sparsities": (0.3, 0.6, 0.8)} if schedule == "oneshot" else {}
    spec = replace(EARLY, **levels)
    run_in(tmp_path, spec)
    rewound = starts.copy()
    starts.clear()
    run_in(tmp_path, replace(spec, treatment=treatment, diagnose=("class",)))
    assert len(starts) == 6  # the run that rewinds, and the control, level by level
    for (weights, masks), (same, theirs), (other, mine) in zip(rewound, starts[::2], starts[1::2], strict=True):
        assert all(torch.equal(masks[name], theirs[name]) for name in masks)
        assert all(torch.equal(weights[name], same[name]) for name in weights)
        if treatment == "fresh":
            assert all(torch.equal(masks[name], mine[name]) for name in masks)
            assert not torch.equal(weights["conv1.bias"], other["conv1.bias"])
        else:
            assert {name: int(mask.sum()) for name, mask in mine.items()} == {
                name: int(mask.sum()) for name, mask in masks.items()
            }
            assert not torch.equal(masks["linear1.weight"], mine["linear1.weight"])
            assert torch.equal(weights["conv1.bias"], other["conv1.bias"])
    assert verify_study(Study(tmp_path)) == []


def test_fresh_weights_differ_from_level_to_level(tmp_path: Path, starts: list[tuple[dict[str, Any], Masks]]) -> None:
    run_in(tmp_path, replace(SPEC, treatment="fresh"))
    first, second = (weights["conv1.bias"] for weights, _ in starts[1:4:2])
    assert not torch.equal(first, second)


def test_shuffled_channels_stay_whole() -> None:
    spec, draw = replace(SPEC, treatment="shuffled"), generator(0, 1, "shuffle")
    mask = torch.zeros(4, 6, 3, 3, dtype=torch.bool)
    mask[:, 2:4] = True
    shuffled = control_masks(spec, TECHNIQUES["l1_structured"], {"a": mask}, draw)["a"]
    assert count_kept({"a": shuffled}) == 72
    assert {int(part.sum()) for part in shuffled.transpose(0, 1)} == {0, 36}


@pytest.mark.parametrize("treatment", ["fresh", "shuffled"])
def test_a_control_that_was_interrupted_ends_as_if_it_had_not_been(tmp_path: Path, treatment: str) -> None:
    spec: RunSpec = replace(EARLY, treatment=treatment)

    def stop(progress: Progress) -> None:
        if progress.level == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, Study(tmp_path / "stopped"), ROOT, "cpu", stop)
    run_in(tmp_path / "stopped", spec)
    run_in(tmp_path / "calm", spec)
    assert contents(tmp_path / "stopped") == contents(tmp_path / "calm")
