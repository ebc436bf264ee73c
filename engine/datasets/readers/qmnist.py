"""QMNIST: MNIST's digits with the writer and the series of each."""

from pathlib import Path

import numpy as np
import pandas as pd

from engine.datasets.dataset import Dataset, ImageSet, Request
from engine.datasets.readers.idx import read_idx
from engine.errors import PruneScopeError

CLASSES = tuple("0123456789")
_N_MNIST_TEST = 10_000
"""QMNIST's first test digits are MNIST's test digits, in MNIST's order."""


def read_qmnist(root: Path, request: Request) -> Dataset:
    """QMNIST in one of its splits.

    `official`: 60,000 training and 60,000 test digits. `test10k`: of the latter, MNIST's own. `writers`: the training
    digits alone, half of the writers of each series held out as the test side.
    """
    folder = root / "QMNIST" / "raw"
    train = _side(folder, "train")
    if request.split == "writers":
        held_out = held_out_writers(train.groups)
        train, test = train.rows(~held_out), train.rows(held_out)
    else:
        test = _side(folder, "test", _N_MNIST_TEST if request.split == "test10k" else None)
    return Dataset("qmnist", request.split, CLASSES, train, test)


def held_out_writers(groups: pd.DataFrame) -> np.ndarray:
    """Mask of the digits whose writer is tested: every second writer of each series, by writer number."""
    rank: np.ndarray = groups.groupby("series")["writer"].rank(method="dense").to_numpy()
    is_even: np.ndarray = rank % 2 == 0
    return is_even


def _side(folder: Path, part: str, first: int | None = None) -> ImageSet:
    """The images of one file pair; `first` limits both files to as many digits."""
    images = read_idx(folder / f"qmnist-{part}-images-idx3-ubyte", 3)[:first, None]
    table = read_idx(folder / f"qmnist-{part}-labels-idx2-int", 2)[:first].astype(np.int64)
    if table.shape[1] != 8:
        raise PruneScopeError(f"QMNIST's {part} labels have {table.shape[1]} columns; its format has 8.")
    # The other columns: NIST's code of the class, the digit's number in all of NIST, duplicate, unused.
    label, series, writer, digit_index = table.T[:4]
    groups = pd.DataFrame(
        {"series": [f"hsf{code}" for code in series], "writer": writer.copy(), "digit_index": digit_index.copy()}
    )
    return ImageSet(np.ascontiguousarray(images), label.copy(), groups)
