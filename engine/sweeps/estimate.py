"""How long a sweep takes on this machine: small networks are measured, large ones follow from their operations."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from engine.datasets.dataset_table import Dataset, Request, load_dataset
from engine.datasets.long_tail import long_tailed
from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS, input_size
from engine.pruning.masks import full_masks
from engine.pruning.schedules import TREATMENTS, n_epochs_after, planned_levels
from engine.run_spec import RunSpec
from engine.specs.dense_key import dense_key
from engine.specs.experiment_names import ExperimentName, experiment_of
from engine.training.device import pick_device, reproducible
from engine.training.evaluation import evaluate_network
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import make_split

MEASURED_IMAGES = 2000
MEASURED_SECONDS = 2.0
"""A network that would need longer for the measured images is not measured but counted."""

PATIENCE_SECONDS = 180.0
"""Once an estimate has taken so long, it says what it knows."""

_YARDSTICK = RunSpec("cifar10", "resnet20", "global_unstructured")


@dataclass(frozen=True)
class Rate:
    """Images a second of one process, in training and in testing."""

    training: float
    testing: float
    is_measured: bool


@dataclass
class _Machine:
    """What is known of this machine so far: the rates of networks, and its operations a second."""

    device: torch.device
    rates: dict[tuple[object, ...], Rate] = field(default_factory=dict)
    operations: float = 0.0

    def rate(self, spec: RunSpec, dataset: Dataset) -> Rate:
        """Measured where that is quick, else by the network's operations; equal shapes are looked at once."""
        channels, height, width = dataset.train.images.shape[1:]
        side = input_size(NETWORKS[spec.network], height, width, spec.image_size)
        shape = (spec.network, channels, side, len(dataset.classes))
        if (*shape, spec.batch_size) not in self.rates:
            with reproducible(self.device):  # here, because a scope around the lines would stay open between them
                self.rates[(*shape, spec.batch_size)] = self._rate(spec, dataset, shape)
        return self.rates[(*shape, spec.batch_size)]

    def _rate(self, spec: RunSpec, dataset: Dataset, shape: tuple[str, int, int, int]) -> Rate:
        self.operations = self.operations or _operations("resnet20", 3, 32, 10) * self._yardstick()
        training = self.operations / _operations(*shape)
        if MEASURED_IMAGES / training < MEASURED_SECONDS:
            return self._measured(spec, dataset, shape[2])
        return Rate(training, 3 * training, is_measured=False)

    def _yardstick(self) -> float:
        images = torch.zeros(64, 3, 32, 32, dtype=torch.uint8).numpy()
        split = make_split(images, torch.zeros(64, dtype=torch.int64).numpy(), images, 32, self.device)
        network = NETWORKS["resnet20"].build(3, 32, 10).to(self.device)
        job = TrainingJob(_YARDSTICK, 1, generator(0, 0, "estimate"))
        return 64 / self._seconds(lambda: train_network(network, split, full_masks(network), job))

    def _measured(self, spec: RunSpec, dataset: Dataset, side: int) -> Rate:
        images, labels = dataset.train.images[:MEASURED_IMAGES], dataset.train.labels[:MEASURED_IMAGES]
        split = make_split(images, labels, images, side, self.device)
        network: nn.Module = NETWORKS[spec.network].build(images.shape[1], side, len(dataset.classes)).to(self.device)
        job = TrainingJob(spec, 1, generator(0, 0, "estimate"))
        train_network(network, split.part(torch.arange(len(split))[:64]), full_masks(network), job)  # what is made once
        training = self._seconds(lambda: train_network(network, split, full_masks(network), job))
        return Rate(len(split) / training, len(split) / self._seconds(lambda: evaluate_network(network, split)), True)

    def _seconds(self, act: Callable[[], object]) -> float:
        """What it takes; on a processor, without what neighbours do meanwhile."""
        clock = time.process_time if self.device.type == "cpu" else time.monotonic
        begun = clock()
        act()
        return clock() - begun


def estimate(
    specs: Sequence[RunSpec], root: Path, device: str, workers: int, names: Sequence[ExperimentName] = ()
) -> Iterator[str]:
    """Lines in words: how fast each network goes on each data set, what each experiment of these names takes, and what
    the whole does. A dense network counts once, with the first run that starts from it."""
    machine, deadline = _Machine(pick_device(device)), time.monotonic() + PATIENCE_SECONDS
    kinds: dict[tuple[str, Request], dict[tuple[str, int], list[RunSpec]]] = {}
    for spec in specs:
        data = (spec.dataset, Request(spec.split, spec.target, spec.groups, spec.image_size))
        kinds.setdefault(data, {}).setdefault((spec.network, spec.batch_size), []).append(spec)
    seconds: dict[ExperimentName, float] = {}
    n_estimated, trained = 0, set[str]()
    for (name, request), by_network in kinds.items():
        if time.monotonic() > deadline:
            break
        try:
            dataset = load_dataset(name, root, request)
        except PruneScopeError as error:
            yield f"{name}: no estimate. {error}"
            continue
        for (network, _), alike in by_network.items():
            rate = machine.rate(alike[0], dataset)
            how = "measured" if rate.is_measured else "by its operations"
            speed = f"{rate.training:,.{0 if rate.training > 10 else 1}f}"
            yield f"{name}, {network}: {speed} images a second in training, {how}."
            for spec in alike:
                experiment, dense = experiment_of(spec), dense_key(spec)
                took = _seconds_of(spec, dataset, rate, has_dense=dense in trained)
                seconds[experiment] = seconds.get(experiment, 0.0) + took
                trained.add(dense)
            n_estimated += len(alike)
    for named in names:
        if (experiment := replace(named, name="")) in seconds:
            n = sum(experiment_of(spec) == experiment for spec in specs)
            yield f"{named.name}: {n:,} runs, {_words(seconds[experiment] / workers)}."
    if n_estimated:
        total = sum(seconds.values())
        rest = f" for {n_estimated:,} of the {len(specs):,} runs" if n_estimated < len(specs) else ""
        yield f"About {_words(total / workers)} with {workers} workers{rest}."
    elif time.monotonic() > deadline:
        yield "No estimate within a few minutes; the first runs will tell."


def _seconds_of(spec: RunSpec, dataset: Dataset, rate: Rate, has_dense: bool) -> float:
    """What one run takes; where another has trained its dense network, without that."""
    n_validation = round(spec.validation * len(dataset.train.labels))
    n_levels = len(planned_levels(spec))
    trainings = n_levels * (2 if TREATMENTS[spec.treatment].controls else 1)  # a control trains for its masks too
    epochs = (0 if has_dense else spec.epochs) + trainings * n_epochs_after(spec)
    trained = epochs * _n_trained(spec, dataset.train.labels, n_validation)
    judged = epochs * n_validation if spec.kept_epoch == "best" else 0
    tested = (n_levels + 1) * (len(dataset.test.labels) + n_validation) + judged
    return trained / rate.training + tested / rate.testing


def _n_trained(spec: RunSpec, labels: np.ndarray, n_validation: int) -> int:
    if spec.imbalance == 1:
        return len(labels) - n_validation
    return len(long_tailed(labels, np.arange(len(labels)), spec.validation, spec.imbalance)[1])


def _operations(network: str, channels: int, side: int, n_classes: int) -> float:
    """Operations that one image takes in training, counted without computing."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        built = NETWORKS[network].build(channels, side, n_classes)
        built(torch.zeros(2, channels, side, side)).sum().backward()
    return float(counter.get_total_flops()) / 2


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"
