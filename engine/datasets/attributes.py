"""How an image looks, in numbers: tilt, activation, distance to its class's mean image, entropy.

Pure numpy over bounded chunks of images; float64 comes back.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from engine.datasets.dataset import Dataset

ATTRIBUTES = ("tilt", "abs_tilt", "activation", "distance", "entropy")

_CHUNK_PIXELS = 2**18


def attributes(images: np.ndarray, class_means: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    """One row per image, one column per attribute; `images` is uint8 of shape (n, channels, height, width)."""
    tilts = _in_chunks(tilt, images)
    columns = (
        tilts,
        np.abs(tilts),
        _in_chunks(activation, images),
        _in_chunks(partial(distance, class_means), images, labels),
        _in_chunks(entropy, images),
    )
    return pd.DataFrame(dict(zip(ATTRIBUTES, columns, strict=True)))


def tilt(images: np.ndarray) -> np.ndarray:
    """Slope of the least-squares line of column on row through the pixels whose channels' mean exceeds 127.

    0 is upright; rows count downwards, so positive leans left (Paganini 2020, Appendix C). NaN where fewer than two
    rows are lit.
    """
    n_images, n_channels, height, width = images.shape
    lit = images[:, 0] > 127 if n_channels == 1 else images.sum(axis=1, dtype=np.uint32) > 127 * n_channels
    row, column = np.indices((height, width)).reshape(2, -1)
    moments = np.stack([np.ones_like(row), row, column, row * row, row * column])
    # Sums of whole numbers are exact in float32 up to 2**24, and twice as fast as in float64. A matrix product would
    # start threads, which on a busy machine wait for each other longer than the sums take.
    exact = np.float32 if moments.sum(axis=1).max() <= 2**24 else np.float64
    sums = np.vecdot(lit.reshape(n_images, 1, -1).astype(exact), moments.astype(exact))
    n, r, c, rr, rc = sums.astype(np.float64).T
    spread = n * rr - r * r
    slopes: np.ndarray = np.divide(n * rc - r * c, spread, out=np.full(n_images, np.nan), where=spread > 0)
    return slopes


def activation(images: np.ndarray) -> np.ndarray:
    """Mean pixel value, 0 (all black) to 1."""
    pixels = images.reshape(len(images), -1)
    means: np.ndarray = pixels.sum(axis=1, dtype=np.uint64) / (255 * pixels.shape[1])
    return means


def distance(class_means: np.ndarray, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Euclidean distance, pixels 0 to 1, from the mean image of the image's class; NaN where that mean is unknown."""
    pixels = images.reshape(len(images), -1) / 255
    pixels -= class_means.reshape(len(class_means), -1)[labels]
    distances: np.ndarray = np.sqrt(np.vecdot(pixels, pixels))
    return distances


def entropy(images: np.ndarray) -> np.ndarray:
    """Shannon entropy of the pixel values in bits, 0 (one value only) to 8."""
    pixels = images.reshape(len(images), -1)
    n_images, n_pixels = pixels.shape
    bins = pixels + 256 * np.arange(n_images)[:, None]
    counts = np.bincount(bins.ravel(), minlength=256 * n_images).reshape(n_images, 256)
    # Counts are few whole numbers: a table of n log n replaces the logarithms.
    n = np.arange(n_pixels + 1)
    n_log_n = n * np.log2(np.maximum(n, 1))
    bits: np.ndarray = np.maximum(np.log2(n_pixels) - n_log_n[counts].sum(axis=1) / n_pixels, 0)
    return bits


def class_means(images: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Mean image of each class, pixels 0 to 1, shape (classes, channels, height, width); NaN for an empty class."""
    sums = np.zeros((n_classes, *images.shape[1:]))
    for label in range(n_classes):
        members = np.flatnonzero(labels == label)
        for chunk in _chunks(len(members), sums[label].size):
            sums[label] += images[members[chunk]].sum(axis=0, dtype=np.float64)
    return _ratio(sums, 255 * np.bincount(labels, minlength=n_classes)[:, None, None, None])


def example_table(dataset: Dataset) -> pd.DataFrame:
    """One row per test example: example, label, its groups, its attributes; class means are the training side's."""
    train, test = dataset.train, dataset.test
    means = class_means(train.images, train.labels, len(dataset.classes))
    examples = pd.DataFrame({"example": np.arange(len(test.labels)), "label": test.labels})
    return pd.concat([examples, test.groups, attributes(test.images, means, test.labels)], axis=1)


def class_table(dataset: Dataset) -> pd.DataFrame:
    """One row per class: class, name, n_train, n_test, mean entropy of its training images (NaN without any)."""
    train, n_classes = dataset.train, len(dataset.classes)
    n_train = np.bincount(train.labels, minlength=n_classes)
    total = np.bincount(train.labels, weights=_in_chunks(entropy, train.images), minlength=n_classes)
    return pd.DataFrame(
        {
            "class": np.arange(n_classes),
            "name": dataset.classes,
            "n_train": n_train,
            "n_test": np.bincount(dataset.test.labels, minlength=n_classes),
            "entropy": _ratio(total, n_train),
        }
    )


def _in_chunks(attribute: Callable[..., np.ndarray], images: np.ndarray, *others: np.ndarray) -> np.ndarray:
    chunks = _chunks(len(images), images[0].size)
    return np.concatenate([attribute(images[chunk], *(other[chunk] for other in others)) for chunk in chunks])


def _chunks(n_images: int, n_pixels: int) -> Iterator[slice]:
    step = max(1, _CHUNK_PIXELS // n_pixels)
    return (slice(start, start + step) for start in range(0, n_images, step))


def _ratio(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Total / n, and NaN where n is 0."""
    ratios: np.ndarray = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    return ratios
