"""What a network says of every example, and the gradient of its mean loss."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.pruning.masks import prunable
from engine.training.split import Split


@dataclass(frozen=True)
class Evaluation:
    """What a network says of every example: the class, the true class's probability, its margin and its loss."""

    prediction: np.ndarray
    probability: np.ndarray
    margin: np.ndarray
    loss: np.ndarray


def evaluate_network(network: nn.Module, split: Split, batch_size: int = 1000) -> Evaluation:
    """What the network says of every example of the split, in its order; batches are halved until they fit."""
    network.eval()
    while True:
        try:
            return _evaluated(network, split, batch_size)
        except torch.OutOfMemoryError:
            if batch_size == 1:
                raise
            batch_size = max(1, min(batch_size, len(split)) // 2)
            torch.cuda.empty_cache()


def _evaluated(network: nn.Module, split: Split, batch_size: int) -> Evaluation:
    parts: list[list[Tensor]] = []
    with torch.no_grad():
        for images, labels in _batches(split, batch_size):
            logs = functional.log_softmax(network(split.inputs(images)), dim=1)
            true = logs.gather(1, labels[:, None]).squeeze(1)
            best = logs.topk(2, dim=1)
            top = best.values.exp()
            parts.append([best.indices[:, 0], true.exp(), top[:, 0] - top[:, 1], -true])
    prediction, probability, margin, loss = (torch.cat(column).cpu().numpy() for column in zip(*parts, strict=True))
    return Evaluation(prediction, probability, margin, loss.astype(np.float64))


def mean_gradients(network: nn.Module, split: Split, batch_size: int = 1000) -> dict[str, Tensor]:
    """Gradient of the mean loss over the whole split, for every prunable weight; no weight decay in it.

    Batches that do not fit into memory are halved, until they do.
    """
    network.eval()
    weights = prunable(network)
    while True:
        try:
            sums = _summed_gradients(network, split, list(weights.values()), batch_size)
            return {name: total / len(split) for name, total in zip(weights, sums, strict=True)}
        except torch.OutOfMemoryError:
            if batch_size == 1:
                raise
            batch_size = max(1, min(batch_size, len(split)) // 2)
            torch.cuda.empty_cache()


def _summed_gradients(network: nn.Module, split: Split, weights: list[Tensor], batch_size: int) -> list[Tensor]:
    sums = [torch.zeros_like(weight) for weight in weights]
    for images, labels in _batches(split, batch_size):
        loss = functional.cross_entropy(network(split.inputs(images)), labels, reduction="sum")
        torch._foreach_add_(sums, list(torch.autograd.grad(loss, weights)))
    return sums


def group_importances(network: nn.Module, split: Split, batch_size: int = 128) -> dict[str, Tensor]:
    """Groups x weights for every layer: how much each group's loss hangs on each weight (FairGRAPE, Lin et al. 2022).

    Sum over the group's batches, in the split's order, of (w g)^2 with g the gradient of the batch's mean loss; groups
    of nobody are left out. The split must have groups.
    """
    assert split.groups is not None
    network.eval()
    weights = prunable(network)
    sums: dict[str, list[Tensor]] = {name: [] for name in weights}
    for code in range(int(split.groups.max()) + 1):
        members = (split.groups == code).nonzero().flatten()
        totals = [torch.zeros_like(weight) for weight in weights.values()]
        for images, labels in _batches(split.part(members), batch_size) if len(members) else ():
            loss = functional.cross_entropy(network(split.inputs(images)), labels)
            for total, weight, slope in zip(
                totals, weights.values(), torch.autograd.grad(loss, list(weights.values())), strict=True
            ):
                total += (weight.detach() * slope).square()
        if len(members):
            for name, total in zip(weights, totals, strict=True):
                sums[name].append(total.flatten())
    return {name: torch.stack(parts) for name, parts in sums.items()}


def _batches(split: Split, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Images and labels in the split's order."""
    return zip(torch.split(split.images, batch_size), torch.split(split.labels, batch_size), strict=True)
