"""The network that is shipped: it takes images as they are stored and normalises them itself."""

import copy
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.training.split import Split


class Packaged(nn.Module):
    """Images as bytes, n x channels x height x width, in; scores of the classes out. It evaluates for good."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, network: nn.Module, like: Split) -> None:
        super().__init__()
        self.training = False
        self.network = network
        self.resized = None if tuple(like.images.shape[-2:]) == (like.size, like.size) else like.size
        self.register_buffer("mean", like.mean.cpu().clone())
        self.register_buffer("deviation", like.deviation.cpu().clone())

    def train(self, mode: bool = True) -> Self:
        """Stays in evaluation; a quantized graph inside refuses to be told anything."""
        return self

    def forward(self, images: Tensor) -> Tensor:
        """Scores, n x classes; the highest is the answer."""
        values = (images.to(torch.float32) - self.mean) / self.deviation
        if self.resized is not None:
            values = functional.interpolate(values, (self.resized, self.resized), mode="bilinear", antialias=False)
        scores: Tensor = self.network(values)
        return scores


def packaged(network: nn.Module, like: Split) -> nn.Module:
    """A copy of the network on the CPU, evaluating, that sees images as the split shows them to it."""
    plain = copy.deepcopy(network).to("cpu").to(memory_format=torch.contiguous_format).eval()
    return Packaged(plain, like)


def sample_images(like: Split, n: int = 2) -> Tensor:
    """The first images of the split, as bytes on the CPU."""
    return like.images[:n].cpu().contiguous()
