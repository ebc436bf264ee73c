"""Prints a digest of what some steps of two LeNets come to, to be run on other processors, real or emulated."""

import hashlib

import numpy as np
import torch

from engine.networks.architectures import LeNet
from engine.run_spec import RunSpec
from engine.training.device import reproducible
from engine.training.fused.lenet_step import LeNetStep

DIGEST = "1da786bfe6fa4e8ee4c8c18db5446a5a2ed8bea7ec2761396c0dd32e659962c2"
SHAPES = ((1, 12, 10, 9), (3, 16, 7, 20))
"""Channels, size, number of classes and batch."""


def steps_digest() -> str:
    """Digest of all logits and of the weights at the end."""
    found = hashlib.sha256()
    for channels, size, n_classes, n in SHAPES:
        draw, network = np.random.default_rng(0), LeNet(channels, size, n_classes)
        with torch.no_grad():
            for parameter in network.parameters():
                numbers = draw.standard_normal(tuple(parameter.shape)).astype(np.float32) * 0.1
                parameter.copy_(torch.from_numpy(numbers))
        spec = RunSpec("mnist", "lenet", "none", batch_size=n, momentum=0.9, weight_decay=1e-3)
        step = LeNetStep(network, size, spec)
        for _ in range(20):
            images = torch.from_numpy(draw.standard_normal((n, channels, size, size)).astype(np.float32))
            labels = torch.from_numpy(draw.integers(0, n_classes, n))
            found.update(step.logits(images).contiguous().numpy().tobytes())
            step.take(labels, None, 0.05)
        for parameter in network.parameters():
            found.update(parameter.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    with reproducible(torch.device("cpu")):
        print(steps_digest())
