"""Images a second: the engine on all cores beside a training loop as people write it.

The reference is a `DataLoader` with two workers, torchvision's transforms and `torch.nn.utils.prune`, at torch's own
number of threads. Both train a pruned LeNet on MNIST's shape, batch 32, with a random crop.
"""

import multiprocessing
import os
import time
from multiprocessing.queues import Queue
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from engine.networks.architectures import LeNet
from engine.pruning.masks import Cut, apply_masks, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.training.device import reproducible
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import make_split

N_IMAGES = 24_000
SPEC = RunSpec("mnist", "lenet", "global_unstructured", crop=4)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Real MNIST where it is there, noise of its shape otherwise; what is in the pixels does not matter here."""
    root = Path(os.environ.get("PRUNESCOPE_DATA", ""))
    if os.environ.get("PRUNESCOPE_DATA") and (root / "MNIST" / "raw").is_dir():
        from engine.datasets.dataset_table import load_dataset

        train = load_dataset("mnist", root).train
        return train.images[:N_IMAGES], train.labels[:N_IMAGES]
    draw = np.random.default_rng(0)
    return draw.integers(0, 256, (N_IMAGES, 1, 28, 28), dtype=np.uint8), draw.integers(0, 10, N_IMAGES)


class Images(Dataset):  # type: ignore[type-arg]
    """Images as torchvision's data sets hand them out: a PIL image through a transform, one by one."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = images, labels
        self.transform = transforms.Compose(
            [transforms.RandomCrop(28, padding=4), transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        return self.transform(Image.fromarray(self.images[row, 0])), int(self.labels[row])


def reference_rate(images: np.ndarray, labels: np.ndarray) -> float:
    """Images a second of the loop as people write it."""
    network = LeNet(1, 28, 10)
    layers = [(module, "weight") for module in network.modules() if isinstance(module, nn.Conv2d | nn.Linear)]
    prune.global_unstructured(layers, prune.L1Unstructured, amount=0.2)
    loader = DataLoader(Images(images, labels), batch_size=32, shuffle=True, num_workers=2)
    optimiser, loss = torch.optim.SGD(network.parameters(), lr=0.01), nn.CrossEntropyLoss()
    begun = time.monotonic()
    for batch, target in loader:
        optimiser.zero_grad()
        loss(network(batch), target).backward()
        optimiser.step()
    return len(labels) / (time.monotonic() - begun)


def train_once(images: np.ndarray, labels: np.ndarray, ready: object, rates: "Queue[float]") -> None:
    """One process of the engine, which stays in its scope: an epoch to warm up, then one that counts."""
    with reproducible(torch.device("cpu")):
        rates.put(_rate(images, labels, ready))


def _rate(images: np.ndarray, labels: np.ndarray, ready: object) -> float:
    split = make_split(images, labels, images, 28, torch.device("cpu"))
    network = LeNet(1, 28, 10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    masks = cut_masks(
        prunable(network), full_masks(network), Cut(TECHNIQUES["l1_unstructured"], 0.2, generator(0, 1, "prune"))
    )
    apply_masks(network, masks)
    few = split.part(torch.arange(3200))
    train_network(network, few, masks, TrainingJob(SPEC, 1, generator(0, 0, "order")))
    ready.wait()  # type: ignore[attr-defined]
    begun = time.monotonic()
    train_network(network, split, masks, TrainingJob(SPEC, 1, generator(0, 1, "order")))
    return len(split) / (time.monotonic() - begun)


def engine_rate(images: np.ndarray, labels: np.ndarray) -> float:
    """Images a second of the engine, one process per core."""
    n_processes = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    ready, rates = context.Barrier(n_processes), context.Queue()
    processes = [context.Process(target=train_once, args=(images, labels, ready, rates)) for _ in range(n_processes)]
    for process in processes:
        process.start()
    total = sum(rates.get() for _ in processes)
    for process in processes:
        process.join()
    return total


def run() -> float:
    images, labels = digits()
    ours = engine_rate(images, labels)
    theirs = reference_rate(images, labels)
    print(f"engine {ours:,.0f} images/s on all cores; DataLoader, transforms and torch.nn.utils.prune {theirs:,.0f}")
    return ours / theirs
