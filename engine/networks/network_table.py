"""Which networks there are: one row each, built for any channel count, image size and class count.

Names torch for types only, so that a menu can read the table without loading it; `modules` holds our own classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from engine.errors import PruneScopeError
from engine.import_path import object_name
from engine.table import Table

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class NetworkRow:
    """One network: its builder takes channels, image side and classes; `size` is the side it sees, 0 the data's."""

    key: str
    label: str
    help: str
    build: Callable[[int, int, int], nn.Module]
    size: int = 0
    minimum: int = 1


def _lenet(channels: int, size: int, n_classes: int) -> nn.Module:
    from engine.networks.architectures import LeNet

    return LeNet(channels, size, n_classes)


def _cifar_resnet(channels: int, size: int, n_classes: int, depth: int) -> nn.Module:
    from engine.networks.architectures import CifarResNet

    return CifarResNet(channels, n_classes, depth)


def _torchvision(channels: int, size: int, n_classes: int, name: str) -> nn.Module:
    from torchvision import models

    from engine.networks.architectures import fit_first_layer

    return fit_first_layer(models.get_model(name, weights=None, num_classes=n_classes), channels)


def _of_torchvision(key: str, label: str, text: str, minimum: int) -> NetworkRow:
    return NetworkRow(key, label, text, partial(_torchvision, name=key), size=224, minimum=minimum)


def _for_cifar(depth: int) -> NetworkRow:
    return NetworkRow(
        f"resnet{depth}",
        f"ResNet-{depth}",
        f"Residual network of {depth} layers for small images (He 2015, CIFAR version).",
        partial(_cifar_resnet, depth=depth),
        minimum=4,
    )


def own_network(name: str, build: object, label: str = "", help: str = "", size: int = 0) -> NetworkRow:
    """The row of a user's own network: a function of channels, image side and number of classes."""
    if isinstance(build, NetworkRow):
        return build
    if not callable(build):
        raise PruneScopeError(
            f"The network {name!r} is {type(build).__name__}; it should be a function of channels, image side and "
            "number of classes that returns a torch.nn.Module."
        )
    return NetworkRow(name, label or object_name(name), help or "A network of your own.", build, size)


NETWORKS: Table[NetworkRow] = Table(
    "network",
    (
        NetworkRow(
            "lenet",
            "LeNet",
            "Two convolutions and three linear layers; 61,000 weights on 28 x 28 images.",
            _lenet,
            minimum=16,
        ),
        _of_torchvision("alexnet", "AlexNet", "Five convolutions and three linear layers; 57 million weights.", 63),
        _of_torchvision(
            "vgg11", "VGG-11", "Eight 3 x 3 convolutions and three linear layers; 129 million weights.", 32
        ),
        _of_torchvision("vgg19", "VGG-19", "Sixteen 3 x 3 convolutions and three linear layers.", 32),
        _of_torchvision(
            "resnet18", "ResNet-18", "Residual network of 18 layers for photographs; 11 million weights.", 32
        ),
        _of_torchvision(
            "resnet50", "ResNet-50", "Residual network of 50 layers for photographs; 24 million weights.", 32
        ),
        *(_for_cifar(depth) for depth in (20, 32, 44, 56, 110)),
    ),
    own_network,
)


def input_size(row: NetworkRow, height: int, width: int, asked: int = 0) -> int:
    """Side in pixels that the network sees: what was asked for, else its own, else the data's or its minimum."""
    if asked and asked < row.minimum:
        raise PruneScopeError(
            f"Image size {asked} is too small for {row.key}; it needs {row.minimum} pixels a side or more."
        )
    return asked or row.size or max(row.minimum, min(height, width))
