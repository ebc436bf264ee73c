"""Images of a data set that the workers of one machine have in memory once, not once each: as a mapped file.

Files are named by their content, so whatever a reader or a function of one's own gives, nobody gets another's images.
"""

import hashlib
import io
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.datasets.dataset import Dataset, ImageSet
from engine.errors import PruneScopeError
from engine.store.files import make_folder, remove_folder, remove_left_beside, temporary_beside, write_file

VARIABLE = "PRUNESCOPE_SHARED_IMAGES"
"""The folder of the mapped files; a pool sets it for its members."""
FOLDER = "prunescope-images"


def new_folder() -> Path:
    """A folder for the members of one pool; those that killed pools left behind are removed."""
    place = Path(tempfile.gettempdir()) / FOLDER
    try:
        make_folder(place)
        remove_left_beside(place)
    except (OSError, PruneScopeError):
        pass  # somebody else's, or no room: images are then not shared
    return temporary_beside(place / "pool")


def remove(folder: Path) -> None:
    """Remove a pool's folder; members that still map a file of it keep that until they end."""
    try:
        remove_folder(folder)
    except PruneScopeError:
        pass


def with_shared_images(dataset: Dataset) -> Dataset:
    """The same data set with its images mapped from a file, where a pool wants that and there is room for it."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return dataset
    try:
        return replace(dataset, train=_mapped(dataset.train, Path(folder)), test=_mapped(dataset.test, Path(folder)))
    except (OSError, PruneScopeError):
        return dataset


def _mapped(side: ImageSet, folder: Path) -> ImageSet:
    images = np.ascontiguousarray(side.images)
    path = folder / f"{hashlib.sha256(images.data).hexdigest()}.npy"
    if not path.exists():
        content = io.BytesIO()
        np.lib.format.write_array(content, images)
        write_file(path, content.getvalue())
    return replace(side, images=np.load(path, mmap_mode="c"))  # never written to; torch wants what could be
