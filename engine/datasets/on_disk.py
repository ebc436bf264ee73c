"""Which data sets are on this machine, by the files that their readers look for first; nothing is read."""

from collections.abc import Mapping
from pathlib import Path

PLACES: Mapping[str, tuple[str, ...]] = {
    "digits": (),
    "mnist": ("MNIST/raw",),
    "fashion-mnist": ("FashionMNIST/raw",),
    "qmnist": ("QMNIST/raw",),
    "kmnist": ("KMNIST/raw",),
    "emnist-byclass": ("EMNIST/raw",),
    "emnist-byclass-as-stored": ("EMNIST/raw",),
    "cifar10": ("cifar-10-batches-py",),
    "cifar100": ("cifar-100-python",),
    "svhn": ("train_32x32.mat", "test_32x32.mat"),
    "celeba": ("celeba",),
    "utkface": ("UTKFace",),
    "folder": ("folder",),
}
"""What lies in the data root where a data set is there; nothing where it comes with the engine."""


def is_on_disk(key: str, root: Path) -> bool:
    """Whether the data set seems to be on this machine; whether it is whole, loading it says."""
    return all((root / place).exists() for place in PLACES.get(key, ()))
