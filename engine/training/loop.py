"""How a network learns: stochastic gradient descent, with weights that are cut kept at zero.

Every random choice comes from the generator that is passed in, drawn on the CPU, so that a seed means one thing; what
layers draw by themselves follows from its seed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from engine.pruning.masks import prunable
from engine.run_spec import RunSpec
from engine.specs.learning import learning_rate
from engine.training.best_epoch import BestEpoch
from engine.training.seeding import seeded
from engine.training.split import Split, batches, grouped_batches, n_batches


class Objective(Protocol):
    """What training makes small in place of the plain loss, and what it learns from an epoch, counted from 1."""

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
        """Loss of one batch."""

    def end_epoch(self, epoch: int) -> None:
        """Look back on an epoch."""


@runtime_checkable
class ExampleWeights(Protocol):
    """An objective that only weighs examples: the loss of a batch is the mean of weight x cross entropy."""

    def example_weights(self, losses: Tensor, groups: Tensor) -> Tensor | None:
        """Weights of a batch's examples, asked once a batch between forward and backward; None where all weigh 1.

        `losses` are the examples' cross entropies, without gradient; `groups` has -1 for an example of none.
        """

    def end_epoch(self, epoch: int) -> None:
        """Look back on an epoch."""


@dataclass(frozen=True)
class TrainingJob:
    """How a network is trained: the spec's settings, for how long, with which random numbers, and who looks on.

    `on_step` sees the number of steps done and may return other masks, `on_epoch` the number of epochs done. With an
    `objective` the split must have groups; without one the loss is the cross entropy. With a `validation` split the
    network ends as it was after the epoch that was best on it, among those since the last change of masks.
    """

    spec: RunSpec
    epochs: int
    generator: Generator
    on_epoch: Callable[[int], None] = lambda epoch: None
    on_step: Callable[[int], Mapping[str, Tensor] | None] = lambda step: None
    objective: Objective | ExampleWeights | None = None
    validation: Split | None = None


def train_network(network: nn.Module, split: Split, masks: Mapping[str, Tensor], job: TrainingJob) -> None:
    """Train in place by stochastic gradient descent; weights that are cut stay zero."""
    with seeded(job.generator.initial_seed(), split.labels.device):
        _train(network, split, masks, job)


def _train(network: nn.Module, split: Split, masks: Mapping[str, Tensor], job: TrainingJob) -> None:
    spec = job.spec
    network.train()
    parameters: list[Tensor] = [parameter for parameter in network.parameters() if parameter.requires_grad]
    weights: list[Tensor] = list(prunable(network).values())
    cut = _as_factors(weights, masks)
    momenta = [torch.zeros_like(parameter) for parameter in parameters] if spec.momentum else None
    best = BestEpoch(job.validation) if job.validation is not None else None
    step, n_steps = 0, job.epochs * n_batches(split, spec)
    for epoch in range(job.epochs):
        for loss in _losses(network, split, job):
            if (changed := job.on_step(step)) is not None:
                cut = _as_factors(weights, changed)
                _apply(weights, cut)
                network.train()
                if best is not None:
                    best.forget()
            gradients = list(torch.autograd.grad(loss(), parameters))
            with torch.no_grad():
                if spec.weight_decay:
                    torch._foreach_add_(gradients, parameters, alpha=spec.weight_decay)
                if momenta is not None:
                    torch._foreach_mul_(momenta, spec.momentum)
                    torch._foreach_add_(momenta, gradients)
                    gradients = momenta
                torch._foreach_add_(parameters, gradients, alpha=-learning_rate(spec, step / n_steps))
            _apply(weights, cut)
            step += 1
        if job.objective is not None:
            job.objective.end_epoch(epoch + 1)
        if best is not None:
            best.look(network)
        job.on_epoch(epoch + 1)
    if best is not None:
        best.restore(network)


def _losses(network: nn.Module, split: Split, job: TrainingJob) -> Iterator[Callable[[], Tensor]]:
    """One epoch of batches, each as a call that sends it through the network as it then is and gives its loss."""
    spec, objective = job.spec, job.objective
    if objective is None:
        for images, labels in batches(split, spec, job.generator):
            yield partial(_plain_loss, network, images, labels)
        return
    for images, labels, groups in grouped_batches(split, spec, job.generator):
        if isinstance(objective, ExampleWeights):
            yield partial(_weighted_loss, objective, network, images, labels, groups)
        else:
            yield partial(objective.loss, network, images, labels, groups)


def _weighted_loss(
    objective: ExampleWeights, network: nn.Module, images: Tensor, labels: Tensor, groups: Tensor
) -> Tensor:
    losses = functional.cross_entropy(network(images), labels, reduction="none")
    weights = objective.example_weights(losses.detach(), groups)
    return losses.mean() if weights is None else (weights * losses).mean()


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
