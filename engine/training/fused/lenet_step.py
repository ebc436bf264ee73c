"""A LeNet's training step by compiled functions, for `train_network`: what torch does in some forty calls."""

import numpy as np
import torch
from torch import Tensor

from engine.networks.architectures import LeNet
from engine.training.fused import kernels
from engine.training.fused.kernels import HIDDEN1, HIDDEN2, LINE2, MAPS1, MAPS2, SLACK, Buffers, Layers, Shape


def _flat(parameter: Tensor) -> np.ndarray:
    """The numbers of a parameter in the order of its memory, channels last, as a view."""
    if parameter.dim() == 4:
        parameter = parameter.permute(0, 2, 3, 1)
    return parameter.detach().numpy().reshape(-1)


class FusedStep:
    def __init__(self, network: LeNet, size: int, batch_size: int, momentum: float, decay: float) -> None:
        channels, classes = network.conv1.in_channels, network.linear3.out_features
        side1 = (size - 2) // 2
        side2 = (side1 - 2) // 2
        self.shape = Shape(channels, size, side1, side2, classes)
        self.network = network
        for conv in (network.conv1, network.conv2):
            conv.weight.data = conv.weight.data.contiguous(memory_format=torch.channels_last)
        self.layers = Layers(*(_flat(p) for p in network.parameters()))
        pitch = self.pitch = kernels.whole_vectors(batch_size)
        w1 = -(-3 * channels // 8) * 8
        n2 = side2 * side2 * MAPS2
        z = lambda *n: np.zeros(int(np.prod(n)), np.float32)
        wv = kernels.whole_vectors
        self.slopes = Layers(z(6, 3, w1), z(6), z(16, 3, LINE2), z(16), z(HIDDEN1, wv(n2)), z(HIDDEN1),
                             z(HIDDEN2, wv(HIDDEN1)), z(HIDDEN2), z(classes, wv(HIDDEN2)), z(classes))
        self.lengths = (3 * channels, 6, 18, 16, n2, HIDDEN1, HIDDEN1, HIDDEN2, HIDDEN2, classes)
        self.momenta = Layers(*(np.zeros_like(a) for a in self.layers))
        self.kept = Layers(*(np.ones_like(a) for a in self.layers))
        line1, line2 = size * channels, side1 * 6
        f = np.float32
        m1, m2 = side1 * side1 * 6 + SLACK, n2 + SLACK
        self.buffers = Buffers(
            z(pitch, size * size * channels + SLACK), z(pitch, m1), z(pitch, m1), z(pitch, m2), z(pitch, m2), z(m1),
            z(n2, pitch), z(HIDDEN1, pitch), z(HIDDEN2, pitch), z(classes, pitch),
            z(n2, pitch), z(HIDDEN1, pitch), z(HIDDEN2, pitch), z(classes, pitch),
            np.array([0, channels, line1, line1 + channels], f), np.array([0, 6, line2, line2 + 6], f),
            z(9 * channels, 8), z(54, 16), z(16, 3, LINE2), z(8), z(pitch, wv(max(n2, HIDDEN1))), z(side1 * side1 + 1),
            np.zeros(side1 * side1 + 1, np.int64))
        self.momentum, self.decay = f(momentum), f(decay)

    def step(self, images, labels, rate, weights=None):
        flat = images.permute(0, 2, 3, 1).contiguous().numpy().reshape(-1)
        n = len(labels)
        pitch = kernels.whole_vectors(n)
        kernels.forward(flat, self.shape, self.layers, self.buffers, self.pitch)
        w = np.full(n, 1 / n, np.float32)
        kernels.backward(labels.numpy(), w, self.shape, self.layers, self.slopes, self.buffers, self.pitch)
        for a, s, m, k, l in zip(self.layers, self.slopes, self.momenta, self.kept, self.lengths):
            kernels.descend(a, s, m, k, l, np.float32(rate), self.momentum, self.decay)
