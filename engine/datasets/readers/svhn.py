"""SVHN: street view house numbers in Matlab files."""

from pathlib import Path

from engine.datasets.dataset import Dataset, ImageSet, Request, ungrouped
from engine.errors import PruneScopeError

CLASSES = tuple("0123456789")


def read_svhn(root: Path, request: Request) -> Dataset:
    """SVHN as its files divide it."""
    train, test = (_side(root / f"{part}_32x32.mat") for part in ("train", "test"))
    return Dataset("svhn", request.split, CLASSES, train, test)


def _side(path: Path) -> ImageSet:
    # Here, because it takes a third of a second that no menu should wait for.
    from scipy.io import loadmat

    with path.open("rb") as file:
        try:
            content = loadmat(file, variable_names=("X", "y"))
            pixels, labels = content["X"], content["y"]
        # Bytes that are no Matlab file may raise nearly anything.
        except Exception as error:
            raise PruneScopeError(f"{path} is not a Matlab file with X and y: {error!r}") from error
    # The files call the digit 0 "10".
    return ungrouped(pixels.transpose(3, 2, 0, 1), labels.ravel() % 10)
