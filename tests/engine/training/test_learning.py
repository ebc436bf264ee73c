"""The learning rate falls as torch's schedulers let it; the best epoch is the one that a loop by hand finds."""

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, MultiStepLR

from engine.pruning.masks import Cut, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.specs.learning import learning_rate
from engine.training.best_epoch import BestEpoch
from engine.training.evaluation import evaluate_network
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, batches, make_split

SPEC = RunSpec("mnist", "lenet", "global_unstructured", batch_size=16, learning_rate=0.1)
EPOCHS = 8


def noise(seed: int) -> Split:
    """Images and labels that have nothing to do with each other: what is learned of them holds nowhere else."""
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 256, (100, 1, 8, 8)).astype(np.uint8)
    return make_split(images, draw.integers(0, 10, 100), images, 8, torch.device("cpu"))


def small_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def scheduler(name: str, optimiser: torch.optim.Optimizer, n_steps: int) -> LRScheduler:
    """Torch's own, to be stepped after each batch."""
    if name == "cosine":
        return CosineAnnealingLR(optimiser, n_steps)
    return MultiStepLR(optimiser, [n_steps // 2, 3 * n_steps // 4] if name == "step" else [])


@pytest.mark.parametrize("name", ["constant", "step", "cosine"])
def test_rates_are_those_of_torchs_schedulers(name: str) -> None:
    n_steps = 7 * EPOCHS
    optimiser = torch.optim.SGD(small_network().parameters(), SPEC.learning_rate)
    theirs = scheduler(name, optimiser, n_steps)
    for step in range(n_steps):
        mine = learning_rate(replace(SPEC, rate_schedule=name), step / n_steps)
        assert mine == pytest.approx(theirs.get_last_lr()[0], rel=1e-9)
        optimiser.step()
        theirs.step()


def test_the_constant_rate_is_the_very_number() -> None:
    assert all(learning_rate(SPEC, step / 70) == SPEC.learning_rate for step in range(70))


@pytest.mark.parametrize("name", ["step", "cosine"])
def test_training_equals_torch_optim_under_its_scheduler(name: str) -> None:
    spec, split, ours = replace(SPEC, rate_schedule=name, momentum=0.9, learning_rate=0.01), noise(0), small_network()
    reference = copy.deepcopy(ours)
    train_network(ours, split, full_masks(ours), TrainingJob(spec, 4, generator(0, 1, "order")))
    draw = generator(0, 1, "order")
    optimiser = torch.optim.SGD(reference.parameters(), spec.learning_rate, spec.momentum)
    falling = scheduler(name, optimiser, 4 * 7)
    for _ in range(4):
        for images, labels in batches(split, spec, draw):
            optimiser.zero_grad()
            functional.cross_entropy(reference(images), labels).backward()
            optimiser.step()
            falling.step()
    for mine, theirs in zip(ours.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def trained(epochs: int, validation: Split | None = None, cut_at: int | None = None) -> nn.Module:
    """A network after so many epochs on noise; with `cut_at`, half of it is cut before that step."""
    network = small_network()
    masks = full_masks(network)

    def on_step(step: int) -> Mapping[str, Tensor] | None:
        cut = Cut(TECHNIQUES["l1_unstructured"], 0.5, generator(0, 1, "prune"))
        return cut_masks(prunable(network), masks, cut) if step == cut_at else None

    job = TrainingJob(SPEC, epochs, generator(0, 1, "order"), on_step=on_step, validation=validation)
    train_network(network, noise(0), masks, job)
    return network


@pytest.mark.parametrize("cut_at", [None, 30])
def test_the_best_epoch_is_the_one_that_a_loop_by_hand_finds(cut_at: int | None) -> None:
    validation = noise(1)
    first = 1 if cut_at is None else cut_at // 7 + 1
    ends = {epochs: trained(epochs, cut_at=cut_at) for epochs in range(first, EPOCHS + 1)}
    losses = {epochs: evaluate_network(network, validation).loss.mean() for epochs, network in ends.items()}
    best = min(losses, key=losses.__getitem__)
    assert best < EPOCHS
    kept = trained(EPOCHS, validation, cut_at)
    assert all(torch.equal(mine, ends[best].state_dict()[name]) for name, mine in kept.state_dict().items())
    if cut_at is not None:
        assert all((weight == 0).float().mean() > 0.4 for weight in prunable(kept).values())


def test_the_first_of_equals_stays_and_no_number_is_the_worst() -> None:
    network = small_network()
    network.register_buffer("epoch", torch.zeros(()))
    best, weights = BestEpoch(noise(1)), copy.deepcopy(network.state_dict())
    for epoch, factor in enumerate((torch.nan, 1.0, 1.0, torch.nan)):
        network.load_state_dict({name: tensor * factor for name, tensor in weights.items()})
        network.get_buffer("epoch").fill_(epoch)
        best.look(network)
    best.restore(network)
    assert network.get_buffer("epoch") == 1 and network.training
