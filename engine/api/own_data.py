"""A data set of the user's own, from arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from engine.api.answers import class_names, class_numbers, example_columns, flat_values
from engine.datasets.dataset import Dataset, ImageSet
from engine.errors import PruneScopeError


def image_dataset(
    images: ArrayLike,
    labels: ArrayLike,
    *,
    test: ArrayLike,
    groups: Mapping[str, ArrayLike] | None = None,
    classes: Sequence[object] | None = None,
) -> Dataset:
    """A data set of images, 0 (black) to 255, of shape (n, height, width) or (n, channels, height, width).

    `test` is True for the examples to test on; the others are trained on. `groups` says of each example to whom it
    belongs. Classes are those of the labels, unless all are listed.
    """
    pixels, truth, tested = np.asarray(images), flat_values("labels", labels), np.asarray(test)
    if pixels.ndim == 3:
        pixels = pixels[:, None]
    if pixels.ndim != 4 or len(pixels) != len(truth):
        raise PruneScopeError(
            f"images has the shape {np.shape(images)} beside {len(truth):,} labels; it should be (n, height, width) or "
            "(n, channels, height, width)."
        )
    if not np.isfinite(pixels).all() or pixels.min() < 0 or pixels.max() > 255:
        raise PruneScopeError(f"images go from {pixels.min():g} to {pixels.max():g}; allowed is 0 (black) to 255.")
    if tested.dtype != bool or tested.shape != truth.shape:
        raise PruneScopeError(
            f"test has the shape {tested.shape} and the type {tested.dtype}; it should be True or False for each label."
        )
    names = class_names(truth, classes)
    numbers = class_numbers("labels", truth, names)
    columns = example_columns(groups or {}, len(truth))
    whole = ImageSet(
        np.ascontiguousarray(pixels.astype(np.uint8)), numbers, pd.DataFrame(columns, index=range(len(truth)))
    )
    return Dataset("own", "official", tuple(names), whole.rows(~tested), whole.rows(tested))
