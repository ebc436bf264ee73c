"""What a run works with: its data set on the device, split by its seed, and networks made for it."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from engine.datasets.content import content_digest
from engine.datasets.dataset_table import Dataset, Request, load_dataset
from engine.datasets.groups import CLASS, Grouping, grouping
from engine.datasets.long_tail import long_tailed
from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS, input_size
from engine.run_spec import RunSpec
from engine.runs.shared_images import with_shared_images
from engine.training.device import pick_device, reproducible
from engine.training.seeding import generator, seed_of, seeded
from engine.training.split import Split, make_split, n_batches


@dataclass(frozen=True)
class Workspace:
    """A data set on a device, with the training split parted into training and validation by the run's seed.

    `rows` says where the examples of `training` stand in the data set's training side, `validation_rows` where those of
    `validation` do.
    """

    dataset: Dataset
    training: Split
    validation: Split
    test: Split
    device: torch.device
    rows: np.ndarray
    validation_rows: np.ndarray
    data_digest: str
    """Of the data set's classes, labels, groups and pixels."""

    def new_network(self, spec: RunSpec, seed: int | None = None) -> nn.Module:
        """The network of the spec, with the weights that its seed gives it, or another."""
        row = NETWORKS[spec.network]
        first = seed_of(spec.seed, 0, "initialise") if seed is None else seed
        with seeded(first, torch.device("cpu")):
            network = row.build(self.dataset.train.images.shape[1], self.test.size, len(self.dataset.classes))
            network.to(memory_format=torch.channels_last)
        return network.to(self.device)

    def grouping(self, name: str) -> Grouping:
        """The grouping of this name: `class`, or a group column of the data set."""
        return grouping(self.dataset, name, self.rows)

    def groupings(self, most: int) -> list[Grouping]:
        """Classes, and every group column of the data set with at most so many groups."""
        columns = [self.grouping(str(name)) for name in self.dataset.train.groups]
        return [self.grouping(CLASS), *(groups for groups in columns if len(groups.names) <= most)]

    def training_table(self) -> pd.DataFrame:
        """One row per example of the data set's whole training side: its label and groups."""
        side = self.dataset.train
        return pd.concat([pd.DataFrame({"label": side.labels}), side.groups], axis=1)

    def class_sizes(self) -> np.ndarray:
        """Examples of each class that are trained on, validation aside."""
        return np.bincount(self.dataset.train.labels[self.rows], minlength=len(self.dataset.classes))

    def n_steps(self, spec: RunSpec, epochs: int) -> int:
        """Number of training steps in so many epochs."""
        return epochs * n_batches(self.training, spec)


def open_workspace(spec: RunSpec, root: Path, device: str = "auto") -> Workspace:
    """The workspace of a spec; the data set of the last one is still there if it is the same."""
    where = pick_device(device)
    with reproducible(where):
        return _open(spec, root, where)


def _open(spec: RunSpec, root: Path, device: torch.device) -> Workspace:
    request = Request(spec.split, spec.target, spec.groups, spec.image_size)
    dataset, train, test, digest = _on_device(spec.dataset, request, spec.network, root, device)
    order = torch.randperm(len(train), generator=generator(spec.seed, 0, "validation"))
    n_validation = round(spec.validation * len(train))
    if not 0 < n_validation < len(train):
        raise PruneScopeError(
            f"A validation share of {spec.validation} of {len(train)} training images leaves one side empty."
        )
    held_out, kept = order[:n_validation], order[n_validation:]
    if spec.imbalance != 1:
        rows = long_tailed(dataset.train.labels, order.numpy(), spec.validation, spec.imbalance)
        held_out, kept = map(torch.from_numpy, rows)
    parts = train.part(kept), train.part(held_out), test
    return Workspace(dataset, *parts, device, kept.numpy(), held_out.numpy(), digest)


@lru_cache(maxsize=1)
def _on_device(
    key: str, request: Request, network: str, root: Path, device: torch.device
) -> tuple[Dataset, Split, Split, str]:
    dataset = with_shared_images(load_dataset(key, root, request))
    height, width = dataset.train.images.shape[-2:]
    size = input_size(NETWORKS[network], height, width, request.image_size)
    like = dataset.train.images
    train = make_split(dataset.train.images, dataset.train.labels, like, size, device)
    test = make_split(dataset.test.images, dataset.test.labels, like, size, device)
    return dataset, train, test, content_digest(dataset)
