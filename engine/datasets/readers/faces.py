"""Faces with attributes: CelebA's forty, and UTKFace's three that its file names tell."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.datasets.dataset import Dataset, ImageSet, Request
from engine.datasets.readers.photos import read_photos
from engine.errors import PruneScopeError

_CELEBA_NAMES = (
    "5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair "
    "Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male "
    "Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks "
    "Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace "
    "Wearing_Necktie Young"
)
CELEBA_ATTRIBUTES = tuple(_CELEBA_NAMES.split())
UTKFACE_ATTRIBUTES = ("ethnicity", "age", "gender")

_AGES = tuple(f"{first}-{first + 9}" for first in range(0, 80, 10)) + ("80 and over",)
_GENDERS = ("male", "female")
_ETHNICITIES = ("White", "Black", "Asian", "Indian", "Others")
_UTKFACE_NAME = re.compile(r"(\d{1,3})_([01])_([0-4])_")


def read_celeba(root: Path, request: Request) -> Dataset:
    """CelebA's training and test partitions; label 1 where the target attribute is present."""
    folder = root / "celeba"
    faces = _celeba_attributes(folder / "list_attr_celeba.txt")
    partition = _table(folder / "list_eval_partition.txt", header=None)[1]
    if not faces.index.equals(partition.index):
        raise PruneScopeError(
            f"list_attr_celeba.txt has {len(faces):,} images and list_eval_partition.txt {len(partition):,}; both must "
            "name the same images in the same order."
        )
    faces = faces[[request.target, *request.groups]]
    train, test = (_side(folder / "img_align_celeba", faces[partition == part], request) for part in (0, 2))
    return Dataset("celeba", request.split, (f"not {request.target}", request.target), train, test)


def _celeba_attributes(path: Path) -> pd.DataFrame:
    """One row per image file, one column per attribute, "no" or "yes"."""
    n_said = path.read_text().split("\n", 1)[0].strip()
    table = _table(path, skiprows=1)
    if n_said != str(len(table)) or tuple(table) != CELEBA_ATTRIBUTES or not table.isin((-1, 1)).all(axis=None):
        raise PruneScopeError(
            f"{path} says {n_said!r} images and has {len(table):,} rows of {table.shape[1]} attributes; it must have "
            f"as many rows as it says, CelebA's {len(CELEBA_ATTRIBUTES)} attributes, and no values but -1 and 1."
        )
    present = {name: pd.Categorical.from_codes((table[name] + 1) // 2, ["no", "yes"]) for name in table}
    return pd.DataFrame(present, index=table.index)


def _table(path: Path, **options: Any) -> pd.DataFrame:
    """A text file of columns between blanks, the first of which names the image."""
    try:
        return pd.read_csv(path, sep=r"\s+", index_col=0, **options)
    except ValueError as error:
        raise PruneScopeError(f"{path} is not a table of columns between blanks: {error}") from error


def read_utkface(root: Path, request: Request) -> Dataset:
    """UTKFace, a fifth of the faces held out by a hash of their names.

    Left out: files whose names lack a field, and identical files whose names disagree. Identical files that agree are
    on one side. The data set's note counts all three.
    """
    folder = root / "UTKFace"
    names = sorted(path.name for path in folder.iterdir() if path.suffix.lower() == ".jpg")
    named = {name: match.groups() for name in names if (match := _UTKFACE_NAME.match(name))}
    sets = _identical_files(folder, list(named))
    agreeing = [files for files in sets if len({named[name] for name in files}) == 1]
    first = {name: files[0] for files in agreeing for name in files}
    kept = [name for name in named if name in first]
    faces = _utkface_attributes({name: named[name] for name in kept})
    tested = np.array([_hash(first[name]) % 5 == 0 for name in kept], bool)
    classes = tuple(faces[request.target].cat.categories)
    train, test = (_side(folder, faces[mask], request) for mask in (~tested, tested))
    note = _utkface_note(len(names) - len(named), sets, agreeing)
    return Dataset("utkface", request.split, classes, train, test, note=note)


def _utkface_attributes(named: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """One row per file: what its name says of the face; ages in bands of ten years."""
    age, gender, ethnicity = np.array(list(named.values()), int).reshape(-1, 3).T
    return pd.DataFrame(
        {
            "ethnicity": pd.Categorical.from_codes(ethnicity, _ETHNICITIES),
            "age": pd.Categorical.from_codes(np.minimum(age // 10, len(_AGES) - 1), _AGES, ordered=True),
            "gender": pd.Categorical.from_codes(gender, _GENDERS),
        },
        index=list(named),
    )


def _identical_files(folder: Path, names: Sequence[str]) -> list[list[str]]:
    """The files in sets of equal content, each in the order of the names."""
    sets: dict[bytes, list[str]] = {}
    for name in names:
        sets.setdefault(hashlib.sha256((folder / name).read_bytes()).digest(), []).append(name)
    return list(sets.values())


def _utkface_note(n_unnamed: int, sets: Sequence[Sequence[str]], agreeing: Sequence[Sequence[str]]) -> str:
    several, alike = ([len(files) for files in some if len(files) > 1] for some in (sets, agreeing))
    return (
        f"Of {sum(map(len, sets)) + n_unnamed:,} files, {n_unnamed:,} are left out because their names lack a field. "
        f"{len(several):,} sets of files are identical: {len(several) - len(alike):,} sets "
        f"({sum(several) - sum(alike):,} files) are left out because their names disagree, and {len(alike):,} sets "
        f"({sum(alike):,} files) stay together on one side. Ethnicity and gender are what the authors of the data set "
        "estimated, not what people say of themselves."
    )


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def _side(folder: Path, faces: pd.DataFrame, request: Request) -> ImageSet:
    """The faces whose file names are the table's index: the target's codes are labels, the other columns groups."""
    images = read_photos([folder / name for name in faces.index], request.image_size)
    labels = faces[request.target].cat.codes.to_numpy(np.int64)
    return ImageSet(images, labels, faces.drop(columns=request.target).reset_index(drop=True))
