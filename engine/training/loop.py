"""How a network learns: stochastic gradient descent, with weights that are cut kept at zero.

Every random choice comes from the generator that is passed in, drawn on the CPU, so that a seed means one thing; what
layers draw by themselves follows from its seed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from engine.pruning.masks import apply_masks, prunable
from engine.run_spec import RunSpec
from engine.specs.learning import learning_rate
from engine.training.best_epoch import BestEpoch
from engine.training.captured_gradients import CapturedGradients, can_be_captured
from engine.training.compaction import compacted_training
from engine.training.fused.step_choice import fused_step
from engine.training.seeding import seeded
from engine.training.split import Split, batches, grouped_batches, n_batches

if TYPE_CHECKING:
    from engine.training.fused.lenet_step import LeNetStep


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
        smaller = compacted_training(network, split, masks, job.spec)
        if smaller is None:
            _train(network, split, masks, job)
        else:
            _train(smaller.network, split, smaller.masks, job)
            smaller.write_back()


def _train(network: nn.Module, split: Split, masks: Mapping[str, Tensor], job: TrainingJob) -> None:
    spec = job.spec
    network.train()
    step = _new_step(network, split, job)
    step.cut(masks)
    best = BestEpoch(job.validation) if job.validation is not None else None
    done, n_steps = 0, job.epochs * n_batches(split, spec)
    for epoch in range(job.epochs):
        for batch in _batches(split, job):
            if (changed := job.on_step(done)) is not None:
                step.cut(changed)
                apply_masks(network, changed)
                network.train()
                if best is not None:
                    best.forget()
            step.take(batch, learning_rate(spec, done / n_steps))
            done += 1
        if job.objective is not None:
            job.objective.end_epoch(epoch + 1)
        if best is not None:
            best.look(network)
        job.on_epoch(epoch + 1)
    if best is not None:
        best.restore(network)


def _batches(split: Split, job: TrainingJob) -> Iterator[tuple[Tensor, ...]]:
    """One epoch: images and labels, and groups where an objective looks at them."""
    return (batches if job.objective is None else grouped_batches)(split, job.spec, job.generator)


class _Step(Protocol):
    """How one batch changes the weights."""

    def cut(self, masks: Mapping[str, Tensor]) -> None:
        """Keep what these masks cut at zero from the next step on."""

    def take(self, batch: tuple[Tensor, ...], rate: float) -> None:
        """Step down the loss of the batch."""


def _new_step(network: nn.Module, split: Split, job: TrainingJob) -> _Step:
    is_plain = job.spec.precision == "full" and job.spec.optimizer == "sgd"
    if is_plain and (job.objective is None or isinstance(job.objective, ExampleWeights)):
        fused = fused_step(network, split.size, job.spec)
        if fused is not None:
            return _FusedStep(fused, job.objective)
    return _EagerStep(network, job)


class _FusedStep:
    """By compiled functions."""

    def __init__(self, lenet: "LeNetStep", objective: ExampleWeights | None) -> None:
        self.lenet, self.objective = lenet, objective

    def cut(self, masks: Mapping[str, Tensor]) -> None:
        self.lenet.cut(masks)

    def take(self, batch: tuple[Tensor, ...], rate: float) -> None:
        images, labels, *groups = batch
        logits = self.lenet.logits(images)
        weights = None
        if self.objective is not None:
            losses = functional.cross_entropy(logits, labels, reduction="none")
            weights = self.objective.example_weights(losses, *groups)
        self.lenet.take(labels, weights, rate)


class _EagerStep:
    """By torch's own functions."""

    def __init__(self, network: nn.Module, job: TrainingJob) -> None:
        self.network, self.spec, self.objective = network, job.spec, job.objective
        self.parameters: list[Tensor] = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self.weights: list[Tensor] = list(prunable(network).values())
        self.factors: list[Tensor] = []
        self.momenta = [torch.zeros_like(parameter) for parameter in self.parameters] if self.spec.momentum else None
        self.adam = _adam(self.parameters, self.spec)
        device, has_objective = self.parameters[0].device, job.objective is not None
        is_captured = can_be_captured(network, job.spec, device, has_objective)
        self.gradients = CapturedGradients(self._gradients) if is_captured else self._gradients

    def cut(self, masks: Mapping[str, Tensor]) -> None:
        self.factors = _as_factors(self.weights, masks)

    def take(self, batch: tuple[Tensor, ...], rate: float) -> None:
        gradients = list(self.gradients(*batch))
        with torch.no_grad():
            if self.adam is not None:
                self._take_adam(self.adam, gradients, rate)
                return
            if self.spec.weight_decay:
                torch._foreach_add_(gradients, self.parameters, alpha=self.spec.weight_decay)
            if self.momenta is not None:
                torch._foreach_mul_(self.momenta, self.spec.momentum)
                torch._foreach_add_(self.momenta, gradients)
                gradients = self.momenta
            torch._foreach_add_(self.parameters, gradients, alpha=-rate)
            self._keep_cut()

    def _take_adam(self, adam: torch.optim.Optimizer, gradients: list[Tensor], rate: float) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        adam.param_groups[0]["lr"] = rate
        adam.step()
        adam.zero_grad()
        self._keep_cut()

    def _keep_cut(self) -> None:
        if self.factors:
            torch._foreach_mul_(self.weights, self.factors)

    def _gradients(self, *batch: Tensor) -> Sequence[Tensor]:
        with torch.autocast(batch[0].device.type, torch.bfloat16, enabled=self.spec.precision == "mixed"):
            loss = self._loss(*batch)
        return torch.autograd.grad(loss, self.parameters)

    def _loss(self, images: Tensor, labels: Tensor, *groups: Tensor) -> Tensor:
        if self.objective is None:
            return functional.cross_entropy(self.network(images), labels)
        if not isinstance(self.objective, ExampleWeights):
            return self.objective.loss(self.network, images, labels, *groups)
        losses = functional.cross_entropy(self.network(images), labels, reduction="none")
        weights = self.objective.example_weights(losses.detach(), *groups)
        return losses.mean() if weights is None else (weights * losses).mean()


def _adam(parameters: list[Tensor], spec: RunSpec) -> torch.optim.Optimizer | None:
    """The optimiser where it is one of Adam's kind."""
    if spec.optimizer == "sgd":
        return None
    kind = torch.optim.AdamW if spec.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, lr=spec.learning_rate, weight_decay=spec.weight_decay, foreach=True)


def _as_factors(weights: list[Tensor], masks: Mapping[str, Tensor]) -> list[Tensor]:
    """The masks as numbers in the weights' order, or nothing where nothing is cut."""
    if all(bool(mask.all()) for mask in masks.values()):
        return []
    return [mask.to(weight.dtype) for weight, mask in zip(weights, masks.values(), strict=True)]
