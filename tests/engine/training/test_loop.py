"""Training: the optimiser equals torch's, crops are windows of the padded image, evaluation is softmax by hand."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from engine.errors import PruneScopeError
from engine.networks.architectures import LeNet
from engine.pruning.masks import Cut, apply_masks, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.training.device import pick_device
from engine.training.evaluation import evaluate_network, mean_gradients
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, batches, make_split

SPEC = RunSpec("mnist", "lenet", "global_unstructured", batch_size=16)


@pytest.fixture
def split() -> Split:
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (100, 1, 28, 28)).astype(np.uint8)
    return make_split(images, draw.integers(0, 10, 100), images, 28, torch.device("cpu"))


def lenet() -> LeNet:
    torch.manual_seed(0)
    return LeNet(1, 28, 10)


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.01), (0.9, 0.01)])
def test_training_equals_torch_optim(split: Split, momentum: float, decay: float) -> None:
    spec = replace(SPEC, momentum=momentum, weight_decay=decay)
    ours = lenet()
    masks = cut_masks(prunable(ours), full_masks(ours), Cut(TECHNIQUES["l1_unstructured"], 0.5, generator(0, 1, "p")))
    apply_masks(ours, masks)
    reference = copy.deepcopy(ours)
    train_network(ours, split, masks, TrainingJob(spec, 2, generator(0, 1, "order")))

    draw = generator(0, 1, "order")
    optimiser = torch.optim.SGD(reference.parameters(), spec.learning_rate, momentum, weight_decay=decay)
    for _ in range(2):
        for images, labels in batches(split, spec, draw):
            optimiser.zero_grad()
            functional.cross_entropy(reference(images), labels).backward()
            for name, weight in prunable(reference).items():
                weight.grad.mul_(masks[name])
            optimiser.step()
    for mine, theirs in zip(ours.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-7)
    assert all(not weight[~masks[name]].any() for name, weight in prunable(ours).items())


def test_an_epoch_sees_every_image_once(split: Split) -> None:
    seen = torch.cat([images for images, _ in batches(split, SPEC, generator(0, 0, "order"))])
    assert len(seen) == 100
    assert torch.equal(seen.sum((1, 2, 3)).sort().values, split.inputs(split.images).sum((1, 2, 3)).sort().values)


def test_crops_are_windows_of_the_padded_image_and_all_occur() -> None:
    image = np.arange(1, 17, dtype=np.uint8).reshape(1, 1, 4, 4)
    images = np.repeat(image, 400, 0)
    split = make_split(images, np.zeros(400, int), images, 4, torch.device("cpu"))
    padded = np.pad(image[0, 0], 1)
    windows = {padded[y : y + 4, x : x + 4].tobytes() for y in range(3) for x in range(3)}
    found = set()
    for inputs, _ in batches(split, replace(SPEC, crop=1), generator(0, 0, "order")):
        values = (inputs * split.deviation + split.mean).round().to(torch.uint8)
        found |= {bytes(value.contiguous().numpy().tobytes()) for value in values[:, 0]}
    assert found == windows


def test_about_half_of_the_images_are_mirrored() -> None:
    images = np.zeros((1000, 1, 4, 4), np.uint8)
    images[..., 0] = 200
    split = make_split(images, np.zeros(1000, int), images, 4, torch.device("cpu"))
    left = sum(
        int((x[:, 0, 0, 0] > 0).sum()) for x, _ in batches(split, replace(SPEC, flip=True), generator(0, 0, "o"))
    )
    assert 430 < left < 570


def test_inputs_are_normalised_channel_by_channel_and_resized() -> None:
    draw = np.random.default_rng(1)
    images = draw.integers(0, 256, (50, 3, 8, 8)).astype(np.uint8)
    split = make_split(images, np.zeros(50, int), images, 8, torch.device("cpu"))
    values = split.inputs(split.images)
    torch.testing.assert_close(values.mean((0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(values.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-3, rtol=0)
    assert replace(split, size=16).inputs(split.images).shape == (50, 3, 16, 16)


def test_evaluation_equals_softmax_by_hand(split: Split) -> None:
    network = lenet()
    said = evaluate_network(network, split, batch_size=33)
    with torch.no_grad():
        chances = network(split.inputs(split.images)).softmax(1).numpy()
    ordered = np.sort(chances, 1)
    labels = split.labels.numpy()
    np.testing.assert_array_equal(said.prediction, chances.argmax(1))
    np.testing.assert_allclose(said.margin, ordered[:, -1] - ordered[:, -2], atol=1e-6)
    np.testing.assert_allclose(said.probability, chances[np.arange(100), labels], atol=1e-6)
    np.testing.assert_allclose(said.loss, -np.log(chances[np.arange(100), labels]), rtol=1e-4)


def test_mean_gradient_equals_autograd_on_the_whole_split(split: Split) -> None:
    network = lenet()
    ours = mean_gradients(network, split, batch_size=32)
    functional.cross_entropy(network(split.inputs(split.images)), split.labels).backward()
    for name, weight in prunable(network).items():
        torch.testing.assert_close(ours[name], weight.grad, rtol=1e-4, atol=1e-6)


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(PruneScopeError, match="not on this machine; there is"):
        pick_device("tpu")


def test_dropout_follows_from_the_seed_whatever_was_drawn_before(split: Split) -> None:
    weights = []
    for drawn_before in (1, 2):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 20), nn.Dropout(), nn.Linear(20, 10))
        torch.manual_seed(drawn_before)
        state = torch.get_rng_state()
        train_network(network, split, full_masks(network), TrainingJob(SPEC, 1, generator(0, 1, "order")))
        assert torch.equal(torch.get_rng_state(), state)
        weights.append(torch.cat([parameter.flatten() for parameter in network.parameters()]))
    assert torch.equal(*weights)


class Weigher:
    """Weighs two groups as it is told, and keeps what it was shown."""

    def __init__(self, weights: torch.Tensor | None) -> None:
        self.weights, self.seen, self.epochs = weights, [], []

    def example_weights(self, losses: torch.Tensor, groups: torch.Tensor) -> torch.Tensor | None:
        assert not losses.requires_grad
        self.seen.append(losses)
        return None if self.weights is None else self.weights[groups]

    def end_epoch(self, epoch: int) -> None:
        self.epochs.append(epoch)


def weighed(split: Split, spec: RunSpec, weigher: Weigher) -> nn.Module:
    network = lenet()
    job = TrainingJob(spec, 2, generator(0, 0, "order"), objective=weigher)
    train_network(network, replace(split, groups=split.labels % 2), full_masks(network), job)
    return network


@pytest.mark.parametrize("weights", [None, torch.ones(2)])
def test_examples_that_all_weigh_one_train_as_ever_bit_for_bit(split: Split, weights: torch.Tensor | None) -> None:
    plain = lenet()
    train_network(plain, split, full_masks(plain), TrainingJob(SPEC, 2, generator(0, 0, "order")))
    weigher = Weigher(weights)
    found = weighed(split, SPEC, weigher).state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in plain.state_dict().items())
    assert weigher.epochs == [1, 2] and sum(map(len, weigher.seen)) == 2 * len(split)


def test_an_example_that_weighs_two_counts_as_one_that_is_there_twice(split: Split) -> None:
    spec = replace(SPEC, batch_size=len(split), learning_rate=0.05)
    ours = weighed(split, spec, Weigher(torch.tensor([0.0, 2.0])))
    reference, odd = lenet(), (split.labels % 2 == 1).nonzero().flatten()
    images = split.inputs(split.images)[odd]
    for _ in range(2):
        loss = 2 * functional.cross_entropy(reference(images), split.labels[odd]) * len(odd) / len(split)
        gradients = torch.autograd.grad(loss, list(reference.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(reference.parameters(), gradients, strict=True):
                parameter -= 0.05 * gradient
    for mine, theirs in zip(ours.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
