"""How steep and how bent is a mean loss: its gradient, Hessian-vector products, and the largest eigenvalue by Lanczos.

All over every trainable parameter of the network, in evaluation mode.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from engine.training.split import Split

LARGEST_CHUNK, CHUNK_PIXELS = 256, 200_000
"""Images whose graph is kept in memory at a time, and the pixels that they may have together."""

Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Eigenvalue:
    """The largest eigenvalue of a symmetric matrix; `residual` bounds how far the nearest true eigenvalue is."""

    value: float
    residual: float
    n_products: int


def trainable(network: nn.Module) -> list[nn.Parameter]:
    """The parameters that training moves."""
    return [parameter for parameter in network.parameters() if parameter.requires_grad]


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors as one vector."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def gradient_and_logits(network: nn.Module, split: Split) -> tuple[Tensor, Tensor]:
    """Gradient of the mean loss of the split, and what the network says of each example."""
    network.eval()
    parameters = trainable(network)
    total = torch.zeros(sum(parameter.numel() for parameter in parameters), device=split.labels.device)
    logits_of_parts = []
    for part in _chunks(split):
        logits = network(part.inputs(part.images))
        loss = functional.cross_entropy(logits, part.labels, reduction="sum") / len(split)
        total += flat(torch.autograd.grad(loss, parameters))
        logits_of_parts.append(logits.detach())
    return total, torch.cat(logits_of_parts)


def hessian_product(network: nn.Module, split: Split) -> Product:
    """What multiplies a vector with the Hessian of the split's mean loss; the graph is kept where it is small.

    Works on a copy with channels first, in which the gradient of a gradient takes a fifth less time.
    """
    network = deepcopy(network.eval()).to(memory_format=torch.contiguous_format)
    parameters = trainable(network)
    parts = _chunks(split)
    kept = _gradient_graph(network, parts[0], parameters) if len(parts) == 1 else None

    def product(vector: Tensor) -> Tensor:
        shaped = _shaped(vector, parameters)
        if kept is not None:
            return _flat_product(kept, parameters, shaped, keep=True)
        total = torch.zeros_like(vector)
        for part in parts:
            graph = _gradient_graph(network, part, parameters)
            total += len(part) / len(split) * _flat_product(graph, parameters, shaped, keep=False)
        return total

    return product


def largest_eigenvalue(product: Product, start: Tensor, n_products: int, tolerance: float) -> Eigenvalue:
    """Largest eigenvalue by Lanczos with full reorthogonalisation from `start`.

    Ends once the residual is below tolerance x |value|, or after so many products.
    """
    basis = [start / start.norm()]
    diagonal: list[float] = []
    beside: list[float] = []
    top = Eigenvalue(float("nan"), float("nan"), 0)
    for count in range(1, min(n_products, len(start)) + 1):
        vector = product(basis[-1])
        diagonal.append(float(vector @ basis[-1]))
        directions = torch.stack(basis)
        for _ in range(2):  # the second time removes what rounding left
            vector = vector - directions.T @ (directions @ vector)
        size = float(vector.norm())
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
        top = Eigenvalue(float(values[-1]), size * abs(float(vectors[-1, -1])), count)
        if top.residual <= tolerance * abs(top.value) or size < 1e-10:
            break
        basis.append(vector / size)
        beside.append(size)
    return top


def lanczos_start(slope: Tensor, draw: Generator) -> Tensor:
    """Where Lanczos starts: the gradient, which leans towards steep directions, and a little of all others."""
    noise = torch.randn(len(slope), generator=draw).to(slope.device)
    size = slope.norm()
    return noise if size == 0 else slope / size + 0.1 * noise / noise.norm()


def _chunks(split: Split) -> list[Split]:
    size = min(LARGEST_CHUNK, max(8, CHUNK_PIXELS // split.size**2))
    if len(split) <= size:
        return [split]
    return [split.part(rows) for rows in torch.split(torch.arange(len(split)), size)]


def _gradient_graph(network: nn.Module, split: Split, parameters: list[nn.Parameter]) -> tuple[Tensor, ...]:
    logits = network(split.inputs(split.images).contiguous())
    return torch.autograd.grad(functional.cross_entropy(logits, split.labels), parameters, create_graph=True)


def _flat_product(
    graph: tuple[Tensor, ...], parameters: list[nn.Parameter], shaped: list[Tensor], keep: bool
) -> Tensor:
    products = torch.autograd.grad(graph, parameters, shaped, retain_graph=keep, allow_unused=True)
    pairs = zip(products, parameters, strict=True)
    return flat([torch.zeros_like(parameter) if part is None else part for part, parameter in pairs])


def _shaped(vector: Tensor, parameters: list[nn.Parameter]) -> list[Tensor]:
    parts = torch.split(vector, [parameter.numel() for parameter in parameters])
    return [part.view(parameter.shape) for part, parameter in zip(parts, parameters, strict=True)]
