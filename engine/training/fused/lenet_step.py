"""A LeNet that is trained by compiled functions: its weights stay torch's, and are changed where they lie."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from engine.networks.architectures import LeNet
from engine.run_spec import RunSpec
from engine.training.fused.kernels import (
    HIDDEN1,
    HIDDEN2,
    MAPS1,
    MAPS2,
    PAIR,
    REACH,
    SLACK,
    TAPS2,
    Buffers,
    Layers,
    Shape,
    in_pairs,
)
from engine.training.fused.passes import backward, descend, forward
from engine.training.fused.vectors import LANES


class LeNetStep:
    """One training of a LeNet on images of this size: its momenta, its masks, and room for a batch."""

    def __init__(self, network: LeNet, size: int, spec: RunSpec) -> None:
        side1, side2 = (size - 2) // 2, ((size - 2) // 2 - 2) // 2
        self.shape = Shape(network.conv1.in_channels, size, side1, side2, network.linear3.out_features)
        self.layers = Layers(*(_numbers(parameter) for parameter in network.parameters()))
        self.momenta = Layers(*(np.zeros_like(numbers) for numbers in self.layers))
        self.kept = Layers(*(np.ones_like(numbers) for numbers in self.layers))
        self.gradients = _gradients(self.layers)
        columns = in_pairs(spec.batch_size)
        self.pitch = columns + PAIR * (columns // PAIR % 2 == 0)  # rows that are powers of two apart share cache lines
        self.buffers = _buffers(self.shape, columns, self.pitch)
        self.settings = np.float32(spec.momentum), np.float32(spec.weight_decay)

    def cut(self, masks: Mapping[str, Tensor]) -> None:
        """Keep the weights that the masks cut at zero from the next step on."""
        names = (f"{layer}.weight" for layer in ("conv1", "conv2", "linear1", "linear2", "linear3"))
        for kept, name in zip(self.kept[::2], names, strict=True):
            kept[:] = _in_order(masks[name]).reshape(-1)

    def logits(self, images: Tensor) -> Tensor:
        """Logits of a batch, one row per image; they last until the next."""
        pixels = images.permute(0, 2, 3, 1).contiguous().numpy().reshape(-1)
        forward(pixels, self.shape, self.layers, self.buffers, self.pitch)
        return torch.from_numpy(self.buffers.logits).view(self.shape.n_classes, self.pitch).T[: len(images)]

    def take(self, labels: Tensor, weights: Tensor | None, rate: float) -> None:
        """Step down the mean of weight x cross entropy of the batch whose logits were asked for; None weighs all 1."""
        n = len(labels)
        shares = np.full(n, 1 / n, np.float32) if weights is None else (weights / n).to(torch.float32).numpy()
        backward(labels.numpy(), shares, self.shape, self.layers, self.gradients, self.buffers, self.pitch)
        descend(self.layers, self.gradients, self.momenta, self.kept, (np.float32(rate), *self.settings))


def _in_order(tensor: Tensor) -> np.ndarray:
    """A parameter or its mask with channels last."""
    array: np.ndarray = (tensor.permute(0, 2, 3, 1) if tensor.dim() == 4 else tensor).numpy()
    return array


def _numbers(parameter: nn.Parameter) -> np.ndarray:
    """A parameter's numbers, flat, where they lie; channels are made last in memory before."""
    if parameter.dim() == 4:
        parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    numbers = _in_order(parameter.detach()).reshape(-1)
    assert numbers.ctypes.data == parameter.data_ptr()
    return numbers


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(int(np.prod(shape)), np.float32)


def _gradients(layers: Layers) -> Layers:
    """Room for gradients: as the parameters, with rows of linear layers in whole pairs of vectors."""
    arrays: Sequence[np.ndarray] = layers
    widths = (_zeros(len(b), in_pairs(len(w) // len(b))) for w, b in zip(arrays[4::2], arrays[5::2], strict=True))
    linear1, linear2, linear3 = widths
    return Layers(*map(np.zeros_like, layers))._replace(linear1=linear1, linear2=linear2, linear3=linear3)


def _buffers(shape: Shape, n: int, pitch: int) -> Buffers:
    """Room for n images."""
    n_taps, n_flat = 9 * shape.channels, shape.side2**2 * MAPS2
    n1, n2 = shape.side1**2 * MAPS1 + SLACK, n_flat + SLACK
    return Buffers(
        images=_zeros(n, shape.side**2 * shape.channels + SLACK),
        maps1=_zeros(n, n1),
        winners1=_zeros(n, n1),
        maps2=_zeros(n, n2),
        winners2=_zeros(n, n2),
        flat_gradient=_zeros(n, n_flat),
        maps1_gradient=_zeros(n1),
        maps2_gradient=_zeros(n2),
        flat=_zeros(n_flat, pitch),
        hidden1=_zeros(HIDDEN1, pitch),
        hidden2=_zeros(HIDDEN2, pitch),
        logits=_zeros(shape.n_classes, pitch),
        hidden1_gradient=_zeros(HIDDEN1, pitch),
        hidden2_gradient=_zeros(HIDDEN2, pitch),
        logits_gradient=_zeros(shape.n_classes, pitch),
        taps1=_zeros(n_taps, LANES),
        taps2=_zeros(TAPS2, MAPS2),
        start1=_zeros(LANES),
        reach2=_zeros(MAPS2, 4, 4, REACH),
        taps1_gradient=_zeros(n_taps, LANES),
        taps2_gradient=_zeros(TAPS2, MAPS2),
        bias1_gradient=_zeros(LANES),
        by_image=_zeros(n, in_pairs(max(n_flat, HIDDEN1))),
    )
