"""CIFAR's Python batches: pickles, so they are opened with nothing allowed but what a numpy array needs."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.datasets.dataset import Dataset, ImageSet, Request
from engine.errors import PruneScopeError

_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, and only plain numpy arrays are allowed")
        return _ALLOWED[module, name]


def read_batch(path: Path) -> dict[str, Any]:
    """The dictionary in a CIFAR batch; a pickle that asks for anything but plain arrays is refused unexecuted."""
    with path.open("rb") as file:
        try:
            batch = _ArrayUnpickler(file, encoding="latin1").load()
        # Bytes that are no pickle may raise nearly anything.
        except Exception as error:
            raise PruneScopeError(f"{path} is refused as a CIFAR batch: {error}") from error
    if not isinstance(batch, dict):
        raise PruneScopeError(f"{path} holds a {type(batch).__name__}; a CIFAR batch is a dictionary.")
    return batch


@dataclass(frozen=True)
class CifarFolder:
    """A CIFAR data set: its folder and the names of files, label entries and name lists; `coarse` for superclasses."""

    key: str
    folder: str
    train: tuple[str, ...]
    test: str
    meta: str
    labels: str
    names: str
    coarse: tuple[str, str] | None = None

    def read(self, root: Path, request: Request) -> Dataset:
        """The data set as its files divide it."""
        folder = root / self.folder
        meta = read_batch(folder / self.meta)
        train, test = (self._side(folder, files, meta) for files in (self.train, (self.test,)))
        return Dataset(self.key, request.split, tuple(_entry(meta, self.names, folder / self.meta)), train, test)

    def _side(self, folder: Path, files: tuple[str, ...], meta: dict[str, Any]) -> ImageSet:
        batches = {folder / name: read_batch(folder / name) for name in files}

        def joined(entry: str) -> np.ndarray:
            return np.concatenate([_entry(batch, entry, path) for path, batch in batches.items()])

        pixels = np.concatenate([_pixels(batch, path) for path, batch in batches.items()])
        labels = joined(self.labels).astype(np.int64)
        groups = pd.DataFrame(index=range(len(labels)))
        if self.coarse:
            entry, names = self.coarse
            groups = pd.DataFrame({"superclass": np.asarray(_entry(meta, names, folder / self.meta))[joined(entry)]})
        return ImageSet(pixels, labels, groups)


def _pixels(batch: dict[str, Any], path: Path) -> np.ndarray:
    pixels = np.asarray(_entry(batch, "data", path))
    if pixels.dtype != np.uint8 or pixels.shape[1:] != (3072,):
        raise PruneScopeError(
            f"{path} has pixels {pixels.dtype} of shape {pixels.shape}; allowed are uint8 of shape (n, 3072)."
        )
    return pixels.reshape(-1, 3, 32, 32)


def _entry(batch: dict[str, Any], name: str, path: Path) -> Any:
    if name not in batch:
        raise PruneScopeError(f"{path} has no entry {name!r}; it has {', '.join(map(repr, batch))}.")
    return batch[name]


CIFAR10 = CifarFolder(
    key="cifar10",
    folder="cifar-10-batches-py",
    train=tuple(f"data_batch_{number}" for number in range(1, 6)),
    test="test_batch",
    meta="batches.meta",
    labels="labels",
    names="label_names",
)
CIFAR100 = CifarFolder(
    key="cifar100",
    folder="cifar-100-python",
    train=("train",),
    test="test",
    meta="meta",
    labels="fine_labels",
    names="fine_label_names",
    coarse=("coarse_labels", "coarse_label_names"),
)
