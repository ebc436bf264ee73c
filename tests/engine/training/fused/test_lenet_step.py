"""The compiled step is torch's step: same weights, same predictions, whatever the images, batch and settings are."""

import copy
import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.networks.architectures import LeNet
from engine.pruning.masks import Cut, Masks, apply_masks, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.specs.arithmetic import EAGER, PORTABLE, SETTING
from engine.specs.checks import validate_spec
from engine.store.study import Study
from engine.training.device import reproducible
from engine.training.evaluation import evaluate_network
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, make_split, n_batches
from tests.engine.training.fused.digest import DIGEST
from tests.support.harness.turns import in_turn

TOP = Path(__file__).resolve().parents[4]
CPU = torch.device("cpu")
FEATURES = "+avx,+avx2,+fma,+bmi,+bmi2"
SPEC = RunSpec("mnist", "lenet", "global_unstructured")


class Weigher:
    """Weighs the examples of two groups by what they lose."""

    def example_weights(self, losses: Tensor, groups: Tensor) -> Tensor:
        return torch.where(groups == 0, 0.5, 1.5) + 0.1 * losses

    def end_epoch(self, epoch: int) -> None:
        pass


def noise(n: int, channels: int, size: int, n_classes: int, seed: int) -> Split:
    """Images whose classes can be told: each has its own pattern under noise."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, n_classes, n)
    patterns = draw.integers(0, 128, (n_classes, channels, size, size))
    images = (patterns[labels] + draw.integers(0, 128, (n, channels, size, size))).astype(np.uint8)
    split = make_split(images, labels, images, size, CPU)
    return replace(split, groups=torch.from_numpy(draw.integers(0, 2, n)))


def network_and_masks(channels: int, size: int, n_classes: int, share: float, seed: int) -> tuple[LeNet, Masks]:
    torch.manual_seed(seed)
    network = LeNet(channels, size, n_classes)
    if seed % 2:
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    masks = full_masks(network)
    if share:
        cut = Cut(TECHNIQUES["global_unstructured"], share, generator(seed, 1, "prune"))
        masks = cut_masks(prunable(network), masks, cut)
    apply_masks(network, masks)
    return network, masks


def trained(
    monkeypatch: pytest.MonkeyPatch, arithmetic: str, network: LeNet, split: Split, masks: Masks, job: TrainingJob
) -> LeNet:
    monkeypatch.setenv(SETTING, arithmetic)
    network = copy.deepcopy(network)
    job = replace(job, generator=generator(0, 1, "order"))
    with reproducible(CPU):
        train_network(network, split, masks, job)
    return network


def largest_difference(one: LeNet, other: LeNet) -> float:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((mine - theirs).detach().abs().max()) for mine, theirs in pairs)


TIES = (2, 14)
"""Draws in which two pixels of a window, or a pixel and 0, come to the same number up to its last bit: rounding decides
which of them passes the gradient on, and from there on the weights differ by more than rounding."""


@pytest.mark.parametrize("number", in_turn(range(22), 3))
def test_weights_after_a_hundred_steps_are_torchs(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A third of the draws each day; all with PRUNESCOPE_FULL."""
    draw = np.random.default_rng(2000 + number)
    channels, size, n_classes = int(draw.choice([1, 2, 3, 5])), int(draw.integers(10, 41)), int(draw.integers(2, 63))
    batch_size = int(draw.choice([1, 7, 16, 32, 50, 128]))
    spec = replace(
        SPEC,
        batch_size=batch_size,
        momentum=float(draw.choice([0.0, 0.9])),
        weight_decay=float(draw.choice([0.0, 5e-4])),
        learning_rate=0.002,
        rate_schedule=str(draw.choice(["constant", "cosine"])),
    )
    n_images = 5 * batch_size - (3 if batch_size > 3 else 0)
    split = noise(n_images, channels, size, n_classes, number)
    network, masks = network_and_masks(channels, size, n_classes, float(draw.choice([0.0, 0.8])), number)
    objective = Weigher() if draw.random() < 0.3 else None
    job = TrainingJob(spec, 20, generator(0, 1, "order"), objective=objective)
    fused = trained(monkeypatch, PORTABLE, network, split, masks, job)
    eager = trained(monkeypatch, EAGER, network, split, masks, job)
    assert largest_difference(eager, network) > 1e-3
    assert largest_difference(fused, eager) < (1e-3 if number in TIES else 1e-6)
    assert all(not weight[~masks[name]].any() for name, weight in prunable(fused).items())


def test_predictions_after_six_hundred_steps_are_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or differ less than torch's own do once the last bit of one weight is another: rounding grows."""
    workspace = open_workspace(replace(SPEC, dataset="digits"), Path("unused"), "cpu")
    network, masks = network_and_masks(1, workspace.test.size, 10, 0.33, 1)
    nudged = copy.deepcopy(network)
    with torch.no_grad():
        nudged.linear3.bias[0] = torch.nextafter(nudged.linear3.bias[0], torch.tensor(1.0))
    spec = replace(SPEC, learning_rate=0.05)
    job = TrainingJob(spec, -(-600 // n_batches(workspace.training, spec)), generator(0, 1, "order"))
    fused, eager, other = (
        evaluate_network(trained(monkeypatch, kind, start, workspace.training, masks, job), workspace.test).prediction
        for kind, start in ((PORTABLE, network), (EAGER, network), (EAGER, nudged))
    )
    assert (fused == eager).mean() >= min(0.999, (other == eager).mean())
    assert (eager == workspace.test.labels.numpy()).mean() > 0.5


@pytest.mark.skipif(not os.environ.get("PRUNESCOPE_FULL"), reason="twelve runs; PRUNESCOPE_FULL=1 makes them")
def test_six_seeds_come_to_the_accuracy_and_class_gap_that_torchs_step_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, list[list[float]]] = {PORTABLE: [], EAGER: []}
    for arithmetic, seed in itertools.product(found, range(6)):
        monkeypatch.setenv(SETTING, arithmetic)
        study = Study(tmp_path / arithmetic)
        spec = RunSpec(
            "digits", "lenet", "global_unstructured", "finetune", seed, levels=4, epochs=8, learning_rate=0.1
        )
        run_experiment(validate_spec(spec), study, Path("unused"), "cpu")
        labels = study.examples("digits-official")["label"].to_numpy()
        right = study.prediction_matrix(validate_spec(spec).key)[1][-1] == labels
        recalls = [right[labels == label].mean() for label in range(10)]
        found[arithmetic].append([right.mean(), max(recalls) - min(recalls)])
    difference = np.array(found[PORTABLE]) - np.array(found[EAGER])
    half = 2.571 * difference.std(0, ddof=1) / np.sqrt(6)  # Student's t, 5 degrees of freedom, 95 %
    assert (np.abs(difference.mean(0)) <= half).all()


def test_masks_that_change_while_training_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    split = noise(64, 1, 16, 4, 0)
    network, masks = network_and_masks(1, 16, 4, 0.0, 1)
    fewer = cut_masks(prunable(network), masks, Cut(TECHNIQUES["l1_unstructured"], 0.5, generator(0, 1, "p")))
    job = TrainingJob(SPEC, 3, generator(0, 1, "o"), on_step=lambda done: fewer if done == 3 else None)
    fused = trained(monkeypatch, PORTABLE, network, split, masks, job)
    eager = trained(monkeypatch, EAGER, network, split, masks, job)
    assert largest_difference(fused, eager) < 1e-6
    assert all(not weight[~fewer[name]].any() for name, weight in prunable(fused).items())


@pytest.mark.parametrize("processor", in_turn(("haswell", "znver4"), 2))
def test_sums_do_not_depend_on_what_they_are_compiled_for(tmp_path: Path, processor: str) -> None:
    """For one without AVX-512 and one with it, from another vendor: the same bits. They take turns by days; both with
    PRUNESCOPE_FULL."""
    told = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": FEATURES, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tests.engine.training.fused.digest"]
    printed = subprocess.run(command, cwd=TOP, env=os.environ | told, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == DIGEST


def test_compiled_code_is_kept_for_the_next_process(tmp_path: Path) -> None:
    code = "in_pairs(3); print(sum(in_pairs.stats.cache_hits.values()))"
    assert [_printed(code, tmp_path) for _ in range(2)] == ["0", "1"]


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _printed("print(in_pairs(3))", tmp_path / "file") == "16"


def _printed(code: str, cache: Path) -> str:
    """What a process prints that keeps compiled code in this folder."""
    command = [sys.executable, "-c", f"from engine.training.fused.kernels import in_pairs; {code}"]
    told = os.environ | {"XDG_CACHE_HOME": str(cache)}
    return subprocess.run(command, cwd=TOP, env=told, capture_output=True, text=True, check=True).stdout.strip()
