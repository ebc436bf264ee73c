"""The idx format of MNIST and its relatives: one array per file."""

import gzip
import math
import string
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.datasets.dataset import Dataset, ImageSet, Request, ungrouped
from engine.errors import PruneScopeError

_TYPES: dict[int, np.dtype[Any]] = {0x08: np.dtype("u1"), 0x0C: np.dtype(">i4")}


def read_idx(path: Path, n_dimensions: int) -> np.ndarray:
    """The array in an idx file, or in its .gz where only that exists; writable, in the machine's byte order."""
    content = _content(path)
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES or content[3] != n_dimensions:
        raise PruneScopeError(
            f"{path} begins with {content[:4].hex(' ') or 'nothing'}; an idx file of bytes or whole numbers with "
            f"{n_dimensions} dimensions begins with 00 00 08 {n_dimensions:02x} or 00 00 0c {n_dimensions:02x}."
        )
    dtype, start = _TYPES[content[2]], 4 + 4 * n_dimensions
    shape = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4))
    expected = start + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise PruneScopeError(f"{path} has {len(content):,} bytes; its header {shape} asks for {expected:,}.")
    array: np.ndarray = np.frombuffer(content, dtype, offset=start).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _content(path: Path) -> bytearray:
    packed = path.with_name(path.name + ".gz")
    if path.exists() or not packed.exists():
        return bytearray(path.read_bytes())
    try:
        return bytearray(gzip.decompress(packed.read_bytes()))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise PruneScopeError(f"{packed} is not a whole gzip file: {error}") from error


@dataclass(frozen=True)
class IdxFolder:
    """A data set of four idx files in FOLDER/raw; `transposed` where the files hold columns before rows."""

    key: str
    folder: str
    classes: tuple[str, ...]
    prefixes: tuple[str, str] = ("train", "t10k")
    transposed: bool = False

    def read(self, root: Path, request: Request) -> Dataset:
        """The data set as its files divide it; images upright, or as the files have them."""
        train, test = (self._side(root / self.folder / "raw", prefix) for prefix in self.prefixes)
        return Dataset(self.key, request.split, self.classes, train, test)

    def _side(self, folder: Path, prefix: str) -> ImageSet:
        images = read_idx(folder / f"{prefix}-images-idx3-ubyte", 3)
        labels = read_idx(folder / f"{prefix}-labels-idx1-ubyte", 1)
        return ungrouped((images.swapaxes(1, 2) if self.transposed else images)[:, None], labels)


MNIST = IdxFolder("mnist", "MNIST", tuple(string.digits))
FASHION_MNIST = IdxFolder(
    "fashion-mnist",
    "FashionMNIST",
    ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
KMNIST = IdxFolder("kmnist", "KMNIST", ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"))
EMNIST_BYCLASS = IdxFolder(
    "emnist-byclass",
    "EMNIST",
    tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase),
    ("emnist-byclass-train", "emnist-byclass-test"),
    transposed=True,
)

# torchvision does not turn EMNIST, so networks of others learned letters that lie on their side.
EMNIST_AS_STORED = replace(EMNIST_BYCLASS, key="emnist-byclass-as-stored", transposed=False)
