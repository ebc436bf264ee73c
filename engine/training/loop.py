"""How a network learns and is tested: images stay on the device as bytes, batches are cut and shifted there.

Every random choice comes from the generator that is passed in, drawn on the CPU, so that a seed means one thing.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from engine.pruning.masks import prunable
from engine.run_spec import PruneScopeError, RunSpec
from engine.training.device import make_arithmetic_portable

CHUNK = 2048
"""Images that are gathered and augmented in one go, then handed out in batches."""


@dataclass(frozen=True)
class Split:
    """One side of a data set on the device: images as bytes, labels, and how a network wants to see them.

    `groups` is there where a training looks at them: the group of each example, -1 where it has none.
    """

    images: Tensor
    labels: Tensor
    mean: Tensor
    deviation: Tensor
    size: int
    groups: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, rows: Tensor) -> "Split":
        """The same with only these rows."""
        rows = rows.to(self.labels.device)
        groups = None if self.groups is None else self.groups[rows]
        return Split(self.images[rows], self.labels[rows], self.mean, self.deviation, self.size, groups)

    def inputs(self, images: Tensor) -> Tensor:
        """What the network sees: normalised by the training split, resized, channels last."""
        values = images.to(torch.float32).sub_(self.mean).div_(self.deviation)
        if values.shape[-1] != self.size or values.shape[-2] != self.size:
            values = functional.interpolate(values, (self.size, self.size), mode="bilinear", antialias=False)
        return values.contiguous(memory_format=torch.channels_last)


@dataclass(frozen=True)
class Evaluation:
    """What a network says of every example: the class, the true class's probability, its margin and its loss."""

    prediction: np.ndarray
    probability: np.ndarray
    margin: np.ndarray
    loss: np.ndarray


class Objective(Protocol):
    """What training makes small in place of the plain loss, and what it learns from an epoch, counted from 1."""

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
        """Loss of one batch."""

    def end_epoch(self, epoch: int) -> None:
        """Look back on an epoch."""


@dataclass(frozen=True)
class TrainingJob:
    """How a network is trained: the spec's settings, for how long, with which random numbers, and who looks on.

    `on_step` sees the number of steps done and may return other masks, `on_epoch` the number of epochs done. With an
    `objective` the split must have groups; without one the loss is the cross entropy.
    """

    spec: RunSpec
    epochs: int
    generator: Generator
    on_epoch: Callable[[int], None] = lambda epoch: None
    on_step: Callable[[int], Mapping[str, Tensor] | None] = lambda step: None
    objective: Objective | None = None


def pick_device(name: str = "auto") -> torch.device:
    """The device asked for, or the best that is there; sets it up to give the same result each time."""
    make_arithmetic_portable()
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, is_there in available.items() if is_there)
    kind = name.split(":")[0]
    if not available.get(kind, False):
        there = ", ".join(kind for kind, is_there in available.items() if is_there)
        raise PruneScopeError(f"Device {name!r} is not on this machine; there is {there}.")
    if kind == "cpu":
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
    else:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.benchmark = False
    torch.set_deterministic_debug_mode("warn")  # as use_deterministic_algorithms, without its import of the compiler
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # costs up to a sixth
    return torch.device(name)


def make_split(images: np.ndarray, labels: np.ndarray, like: np.ndarray, size: int, device: torch.device) -> Split:
    """A split on the device, normalised channel by channel as the training images `like` are distributed."""
    counts = np.stack([np.bincount(like[:, channel].reshape(-1), minlength=256) for channel in range(like.shape[1])])
    values = np.arange(256)
    mean = (counts * values).sum(1) / counts.sum(1)
    deviation = np.sqrt((counts * (values - mean[:, None]) ** 2).sum(1) / counts.sum(1))
    shape = (1, -1, 1, 1)
    return Split(
        torch.from_numpy(images).to(device),
        torch.from_numpy(labels).to(device),
        torch.tensor(mean, dtype=torch.float32, device=device).reshape(shape),
        torch.tensor(np.maximum(deviation, 1.0), dtype=torch.float32, device=device).reshape(shape),
        size,
    )


def batches(split: Split, spec: RunSpec, generator: Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch in random order, cropped and mirrored as the spec says: images and labels."""
    for inputs, rows in _chunks(split, spec, generator):
        yield from zip(inputs.split(spec.batch_size), split.labels[rows].split(spec.batch_size), strict=True)


def grouped_batches(split: Split, spec: RunSpec, generator: Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The same batches with the group of each example."""
    assert split.groups is not None
    for inputs, rows in _chunks(split, spec, generator):
        parts = (inputs, split.labels[rows], split.groups[rows])
        yield from zip(*(part.split(spec.batch_size) for part in parts), strict=True)


def _chunks(split: Split, spec: RunSpec, generator: Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """What the network sees of one epoch, in pieces of many batches, and the rows that it comes from."""
    images = functional.pad(split.images, (spec.crop,) * 4)
    height, width = split.images.shape[-2:]
    windows = images.unfold(2, height, 1).unfold(3, width, 1)
    order = torch.randperm(len(split), generator=generator)
    chunk_size = max(1, CHUNK // spec.batch_size) * spec.batch_size
    for rows in order.split(chunk_size):
        shift = torch.randint(2 * spec.crop + 1, (2, len(rows)), generator=generator)
        mirrored = torch.rand(len(rows), generator=generator) < (0.5 if spec.flip else 0.0)
        rows, shift = rows.to(images.device), shift.to(images.device)
        chunk = windows[rows, :, shift[0], shift[1]]
        if spec.flip:
            chunk = torch.where(mirrored.to(images.device)[:, None, None, None], chunk.flip(3), chunk)
        yield split.inputs(chunk), rows


def train_network(network: nn.Module, split: Split, masks: Mapping[str, Tensor], job: TrainingJob) -> None:
    """Train in place by stochastic gradient descent; weights that are cut stay zero."""
    spec = job.spec
    network.train()
    parameters: list[Tensor] = [parameter for parameter in network.parameters() if parameter.requires_grad]
    weights: list[Tensor] = list(prunable(network).values())
    cut = _as_factors(weights, masks)
    momenta = [torch.zeros_like(parameter) for parameter in parameters] if spec.momentum else None
    step = 0
    for epoch in range(job.epochs):
        for loss in _losses(network, split, job):
            if (changed := job.on_step(step)) is not None:
                cut = _as_factors(weights, changed)
                _apply(weights, cut)
                network.train()
            gradients = list(torch.autograd.grad(loss(), parameters))
            with torch.no_grad():
                if spec.weight_decay:
                    torch._foreach_add_(gradients, parameters, alpha=spec.weight_decay)
                if momenta is not None:
                    torch._foreach_mul_(momenta, spec.momentum)
                    torch._foreach_add_(momenta, gradients)
                    gradients = momenta
                torch._foreach_add_(parameters, gradients, alpha=-spec.learning_rate)
            _apply(weights, cut)
            step += 1
        if job.objective is not None:
            job.objective.end_epoch(epoch + 1)
        job.on_epoch(epoch + 1)


def _losses(network: nn.Module, split: Split, job: TrainingJob) -> Iterator[Callable[[], Tensor]]:
    """One epoch of batches, each as a call that sends it through the network as it then is and gives its loss."""
    spec, objective = job.spec, job.objective
    if objective is None:
        for images, labels in batches(split, spec, job.generator):
            yield partial(_plain_loss, network, images, labels)
        return
    for images, labels, groups in grouped_batches(split, spec, job.generator):
        yield partial(objective.loss, network, images, labels, groups)


def _plain_loss(network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(network(images), labels)


@torch.no_grad()
def _apply(weights: list[Tensor], cut: list[Tensor]) -> None:
    """Set what is cut to zero again."""
    if cut:
        torch._foreach_mul_(weights, cut)


def _as_factors(weights: list[Tensor], masks: Mapping[str, Tensor]) -> list[Tensor]:
    """The masks as numbers in the weights' order, or nothing where nothing is cut."""
    if all(bool(mask.all()) for mask in masks.values()):
        return []
    return [mask.to(weight.dtype) for weight, mask in zip(weights, masks.values(), strict=True)]


def evaluate_network(network: nn.Module, split: Split, batch_size: int = 1000) -> Evaluation:
    """What the network says of every example of the split, in its order."""
    network.eval()
    parts: list[list[Tensor]] = []
    with torch.no_grad():
        for images, labels in zip(split.images.split(batch_size), split.labels.split(batch_size), strict=True):
            logs = functional.log_softmax(network(split.inputs(images)), dim=1)
            true = logs.gather(1, labels[:, None]).squeeze(1)
            best = logs.topk(2, dim=1)
            top = best.values.exp()
            parts.append([best.indices[:, 0], true.exp(), top[:, 0] - top[:, 1], -true])
    prediction, probability, margin, loss = (torch.cat(column).cpu().numpy() for column in zip(*parts, strict=True))
    return Evaluation(prediction, probability, margin, loss.astype(np.float64))


def mean_gradients(network: nn.Module, split: Split, batch_size: int = 1000) -> dict[str, Tensor]:
    """Gradient of the mean loss over the whole split, for every prunable weight; no weight decay in it."""
    network.eval()
    weights = prunable(network)
    sums = [torch.zeros_like(weight) for weight in weights.values()]
    for images, labels in zip(split.images.split(batch_size), split.labels.split(batch_size), strict=True):
        loss = functional.cross_entropy(network(split.inputs(images)), labels, reduction="sum")
        torch._foreach_add_(sums, list(torch.autograd.grad(loss, list(weights.values()))))
    return {name: total / len(split) for name, total in zip(weights, sums, strict=True)}
