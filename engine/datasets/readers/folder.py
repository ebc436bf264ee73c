"""The user's own images in class folders, with groups from a CSV."""

from pathlib import Path

import numpy as np
import pandas as pd

from engine.datasets.attributes import ATTRIBUTES
from engine.datasets.dataset import Dataset, ImageSet, Request
from engine.datasets.readers.photos import n_channels, read_photos
from engine.errors import PruneScopeError, unknown_name

_SUFFIXES = (".png", ".jpg", ".jpeg")
_TAKEN = ("example", "label", "prediction", "class", *ATTRIBUTES)


def read_folder(root: Path, request: Request) -> Dataset:
    """The images of TARGET/train/CLASS and TARGET/test/CLASS, grouped by TARGET/groups.csv where that exists.

    The CSV's column `file` is the image's path from TARGET on, with forward slashes; every other column is a group.
    An empty cell becomes the group "unknown".
    """
    folder = root / _plain(request.target or "folder")
    classes = _class_names(folder / "train")
    unknown = sorted(set(_class_names(folder / "test")) - set(classes))
    if unknown:
        raise PruneScopeError(f"test has the class folder {unknown[0]!r}; train only has {', '.join(classes)}.")
    train, test = (_files(folder, side, classes) for side in ("train", "test"))
    files = [*train, *test]
    groups = _groups(folder / "groups.csv", files)
    for name in request.groups:
        if name not in groups:
            raise unknown_name(name, groups, "group in groups.csv")
    paths = [folder / file for file in files]
    whole = ImageSet(
        read_photos(paths, request.image_size, n_channels(paths)),
        np.array([classes.index(path.parent.name) for path in paths], np.int64),
        groups,
    )
    n_train = len(train)
    return Dataset("folder", request.split, classes, whole.rows(slice(n_train)), whole.rows(slice(n_train, None)))


def _plain(name: str) -> str:
    if name.startswith(".") or Path(name).name != name:
        raise PruneScopeError(f"{name!r} is not the name of a folder in the data root; allowed is one plain name.")
    return name


def _class_names(side: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in side.iterdir() if path.is_dir() and not path.name.startswith(".")))


def _files(folder: Path, side: str, classes: tuple[str, ...]) -> list[str]:
    """Paths of a side's images from the folder on, class by class; a class folder without images is refused."""
    files: list[str] = []
    for name in classes:
        class_folder = folder / side / name
        if not class_folder.exists():
            continue
        images = sorted(path for path in class_folder.iterdir() if path.suffix.lower() in _SUFFIXES)
        if not images:
            raise PruneScopeError(f"{class_folder} has no images; allowed are files in {', '.join(_SUFFIXES)}.")
        files += [path.relative_to(folder).as_posix() for path in images]
    return files


def _groups(path: Path, files: list[str]) -> pd.DataFrame:
    """The CSV's groups in the order of the files, each of which it must name once, and none besides."""
    if not path.exists():
        return pd.DataFrame(index=range(len(files)))
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:
        raise PruneScopeError(f"{path} is not a CSV: {error}") from error
    if "file" not in table:
        raise PruneScopeError(f"{path} has the columns {', '.join(table)}; it needs one called file.")
    taken = [name for name in table if name in _TAKEN]
    if taken:
        raise PruneScopeError(f"{path} calls a group {taken[0]!r}; not allowed are {', '.join(_TAKEN)}.")
    named, existing = table["file"], pd.Series(files, dtype=str)
    for fault, wrong in (
        ("names more than once", named[named.duplicated()]),
        ("names, though it does not exist,", named[~named.isin(existing)]),
        ("does not name", existing[~existing.isin(named)]),
    ):
        if len(wrong):
            raise PruneScopeError(
                f"{path} {fault} {wrong.iloc[0]!r} (and {len(wrong) - 1} more); it must name every image once."
            )
    return table.set_index("file").loc[files].reset_index(drop=True).replace("", "unknown")
