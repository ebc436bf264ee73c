"""A data set's content as one digest, which changes with any image, label or group."""

import hashlib

import numpy as np

from engine.datasets.dataset import Dataset, ImageSet


def content_digest(dataset: Dataset) -> str:
    """SHA-256 of class names, and of labels, groups and pixels of both sides."""
    sums = hashlib.sha256(repr(dataset.classes).encode())
    for side in (dataset.train, dataset.test):
        _add_side(sums, side)
    return sums.hexdigest()


def _add_side(sums: "hashlib._Hash", side: ImageSet) -> None:
    for values in (side.labels.astype(np.int64), side.images):
        sums.update(repr((values.shape, values.dtype.str)).encode())
        sums.update(np.ascontiguousarray(values).data)
    for name in side.groups:
        sums.update(repr((str(name), side.groups[name].astype(str).tolist())).encode())
