"""One side of a data set on the device: images stay there as bytes, batches are cut, shifted and mirrored there."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional

from engine.run_spec import RunSpec

CHUNK = 2048
"""Images that are gathered and augmented in one go, then handed out in batches."""


@dataclass(frozen=True)
class Split:
    """One side of a data set on the device: images as bytes, labels, and how a network wants to see them.

    `groups` is there where a training looks at them: the group of each example, -1 where it has none. Parts of a side
    share its images, `stored`; `rows` says which are theirs.
    """

    stored: Tensor
    labels: Tensor
    mean: Tensor
    deviation: Tensor
    size: int
    groups: Tensor | None = None
    rows: Tensor | None = None

    @property
    def images(self) -> Tensor:
        """All images of the split; a copy where it is a part."""
        return self.stored if self.rows is None else self.stored[self.rows]

    def taken(self, rows: Tensor) -> Tensor:
        """A copy of these images of the split."""
        return self.stored[rows if self.rows is None else self.rows[rows]]

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, rows: Tensor) -> "Split":
        """The same with only these rows."""
        rows = rows.to(self.labels.device)
        groups = None if self.groups is None else self.groups[rows]
        own = rows if self.rows is None else self.rows[rows]
        return Split(self.stored, self.labels[rows], self.mean, self.deviation, self.size, groups, own)

    def inputs(self, images: Tensor) -> Tensor:
        """What the network sees: normalised by the training split, resized, channels last."""
        values = images.to(torch.float32).sub_(self.mean).div_(self.deviation)
        if values.shape[-1] != self.size or values.shape[-2] != self.size:
            values = functional.interpolate(values, (self.size, self.size), mode="bilinear", antialias=False)
        return values.contiguous(memory_format=torch.channels_last)


def make_split(images: np.ndarray, labels: np.ndarray, like: np.ndarray, size: int, device: torch.device) -> Split:
    """A split on the device, normalised channel by channel as the training images `like` are distributed."""
    counts = np.stack([np.bincount(like[:, channel].reshape(-1), minlength=256) for channel in range(like.shape[1])])
    values = np.arange(256)
    mean = (counts * values).sum(1) / counts.sum(1)
    deviation = np.sqrt((counts * (values - mean[:, None]) ** 2).sum(1) / counts.sum(1))
    shape = (1, -1, 1, 1)
    return Split(
        torch.from_numpy(images).to(device),
        torch.from_numpy(labels).to(device),
        torch.tensor(mean, dtype=torch.float32, device=device).reshape(shape),
        torch.tensor(np.maximum(deviation, 1.0), dtype=torch.float32, device=device).reshape(shape),
        size,
    )


def n_batches(split: Split, spec: RunSpec) -> int:
    """Number of batches, which is steps of training, in one epoch."""
    return -(-len(split) // spec.batch_size)


def batches(split: Split, spec: RunSpec, generator: Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch in random order, cropped and mirrored as the spec says: images and labels."""
    for inputs, rows in _chunks(split, spec, generator):
        yield from zip(
            torch.split(inputs, spec.batch_size), torch.split(split.labels[rows], spec.batch_size), strict=True
        )


def grouped_batches(split: Split, spec: RunSpec, generator: Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The same batches with the group of each example."""
    assert split.groups is not None
    for inputs, rows in _chunks(split, spec, generator):
        parts = (inputs, split.labels[rows], split.groups[rows])
        yield from zip(*(torch.split(part, spec.batch_size) for part in parts), strict=True)


def _chunks(split: Split, spec: RunSpec, generator: Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """What the network sees of one epoch, in pieces of many batches, and the rows that it comes from."""
    height, width = split.stored.shape[-2:]
    order = torch.randperm(len(split), generator=generator)
    chunk_size = max(1, CHUNK // spec.batch_size) * spec.batch_size
    for rows in torch.split(order, chunk_size):
        shift = torch.randint(2 * spec.crop + 1, (2, len(rows)), generator=generator)
        mirrored = torch.rand(len(rows), generator=generator) < (0.5 if spec.flip else 0.0)
        rows, shift = rows.to(split.stored.device), shift.to(split.stored.device)
        images = functional.pad(split.taken(rows), (spec.crop,) * 4)
        windows = images.unfold(2, height, 1).unfold(3, width, 1)
        chunk = windows[torch.arange(len(rows), device=rows.device), :, shift[0], shift[1]]
        if spec.flip:
            chunk = torch.where(mirrored.to(rows.device)[:, None, None, None], chunk.flip(3), chunk)
        yield split.inputs(chunk), rows
