"""What a data set is once it is read: images, labels and groups of a training and a test side.

Numpy and pandas only, so that pages can show images without torch.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from engine.errors import PruneScopeError


@dataclass(frozen=True)
class Request:
    """What is asked of a data set; an empty field leaves the choice to the data set.

    `image_size` is the side that photographs of many sizes are cut to; data sets of one size keep theirs.
    """

    split: str = ""
    target: str = ""
    groups: tuple[str, ...] = ()
    image_size: int = 0


@dataclass(frozen=True)
class ImageSet:
    """One side of a data set.

    `images` is uint8 of shape (n, channels, height, width) and contiguous, `labels` int64 of shape (n,), `groups` a
    table of n rows whose columns (none or more) say to which writer, series, gender, ... each example belongs.
    """

    images: np.ndarray
    labels: np.ndarray
    groups: pd.DataFrame

    def __post_init__(self) -> None:
        n_images, n_labels, n_groups = len(self.images), len(self.labels), len(self.groups)
        if n_images != n_labels:
            raise PruneScopeError(f"{n_images:,} images beside {n_labels:,} labels; they must match in number.")
        if n_images != n_groups:
            raise PruneScopeError(f"{n_images:,} images beside {n_groups:,} rows of groups; they must match in number.")

    def rows(self, which: np.ndarray | slice) -> "ImageSet":
        """The examples that a mask, a slice or positions select."""
        return ImageSet(
            np.ascontiguousarray(self.images[which]),
            self.labels[which],
            self.groups[which].reset_index(drop=True),
        )


@dataclass(frozen=True)
class Dataset:
    """A data set as one split divides it; labels count through `classes`.

    `note` says what its reader left out or put together, with counts; empty where it took everything as it is.
    """

    key: str
    split: str
    classes: tuple[str, ...]
    train: ImageSet
    test: ImageSet
    note: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        for side, part in (("train", self.train), ("test", self.test)):
            if not len(part.labels):
                raise PruneScopeError(f"The {side} side has no images; it needs at least one.")
            low, high = part.labels.min(), part.labels.max()
            if low < 0 or high >= len(self.classes):
                raise PruneScopeError(
                    f"The {side} side has labels from {low} to {high}; {len(self.classes)} classes allow 0 to "
                    f"{len(self.classes) - 1}."
                )


def ungrouped(images: np.ndarray, labels: np.ndarray) -> ImageSet:
    """Images that belong to no groups."""
    return ImageSet(np.ascontiguousarray(images), labels.astype(np.int64), pd.DataFrame(index=range(len(labels))))
