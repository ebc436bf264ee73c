"""Images a second: the engine on all cores beside a training loop as people write it, and beside itself without the
compiled step, which is how it was at 0.1.0.

The loop is a `DataLoader` with two workers, torchvision's transforms and `torch.nn.utils.prune`, at torch's own number
of threads. All train a pruned LeNet on MNIST's shape, batch 32, with a random crop.
"""

import multiprocessing
import os
import statistics
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
from engine.specs.arithmetic import EAGER, PORTABLE, SETTING
from engine.training.device import reproducible
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, make_split

N_IMAGES, ROUNDS, LOADERS = 6_400, 3, 2
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
    loader = DataLoader(Images(images, labels), batch_size=32, shuffle=True, num_workers=LOADERS)
    optimiser, loss = torch.optim.SGD(network.parameters(), lr=0.01), nn.CrossEntropyLoss()
    begun = time.monotonic()
    for batch, target in loader:
        optimiser.zero_grad()
        loss(network(batch), target).backward()
        optimiser.step()
    return len(labels) / (time.monotonic() - begun)


def serve(images: np.ndarray, labels: np.ndarray, orders: "Queue[str]", rates: "Queue[float]") -> None:
    """One process of the engine, which stays in its scope: an epoch for each order, by the arithmetic it names."""
    with reproducible(torch.device("cpu")):
        split = make_split(images, labels, images, 28, torch.device("cpu"))
        for arithmetic in iter(orders.get, ""):
            os.environ[SETTING] = arithmetic
            rates.put(_rate(split))


def _rate(split: Split) -> float:
    """Images a second of one process: a little to warm up, then an epoch that counts."""
    network = LeNet(1, 28, 10).to(memory_format=torch.channels_last)
    masks = cut_masks(
        prunable(network), full_masks(network), Cut(TECHNIQUES["l1_unstructured"], 0.2, generator(0, 1, "prune"))
    )
    apply_masks(network, masks)
    train_network(network, split.part(torch.arange(640)), masks, TrainingJob(SPEC, 1, generator(0, 0, "order")))
    begun = time.monotonic()
    train_network(network, split, masks, TrainingJob(SPEC, 1, generator(0, 1, "order")))
    return len(split) / (time.monotonic() - begun)


def run() -> float:
    images, labels = digits()
    n_processes = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    orders, rates = [context.Queue() for _ in range(n_processes)], context.Queue()
    processes = [context.Process(target=serve, args=(images, labels, queue, rates)) for queue in orders]
    for process in processes:
        process.start()

    def engine_rate(arithmetic: str) -> float:
        for queue in orders:
            queue.put(arithmetic)
        return sum(float(rates.get()) for _ in processes)

    engine_rate(PORTABLE), engine_rate(EAGER)  # compiles what is not kept yet
    found: dict[str, list[float]] = {PORTABLE: [], EAGER: [], "loop": []}
    for _ in range(ROUNDS):
        found["loop"].append(reference_rate(images, labels))
        found[EAGER].append(engine_rate(EAGER))
        found[PORTABLE].append(engine_rate(PORTABLE))
    for queue in orders:
        queue.put("")
    for process in processes:
        process.join()
    loop, eager, fused = (statistics.median(found[name]) for name in ("loop", EAGER, PORTABLE))
    print(f"medians of {ROUNDS} rounds, interleaved, images a second:")
    print(f"  loop as people write it {loop:,.0f} ({torch.get_num_threads()} threads, {LOADERS} processes that load)")
    print(
        f"  engine, torch's own step {eager:,.0f} ({n_processes} processes of 1 thread), {eager / loop:.1f}x the loop"
    )
    print(f"  engine, compiled step {fused:,.0f} (the same processes), {fused / eager:.1f}x torch's own step")
    return fused / loop
