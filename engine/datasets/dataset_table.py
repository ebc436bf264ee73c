"""Which data sets exist, and how one is loaded or fetched; `engine.datasets.readers` knows their formats.

Reading needs no torch; only a download loads torchvision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.access import check_may_write
from engine.datasets.dataset import Dataset, ImageSet, Request
from engine.datasets.location import data_root
from engine.datasets.readers.cifar import CIFAR10, CIFAR100
from engine.datasets.readers.digits import read_digits
from engine.datasets.readers.download import download
from engine.datasets.readers.faces import CELEBA_ATTRIBUTES, UTKFACE_ATTRIBUTES, read_celeba, read_utkface
from engine.datasets.readers.folder import read_folder
from engine.datasets.readers.idx import EMNIST_AS_STORED, EMNIST_BYCLASS, FASHION_MNIST, KMNIST, MNIST
from engine.datasets.readers.qmnist import read_qmnist
from engine.datasets.readers.svhn import read_svhn
from engine.errors import PruneScopeError, unknown_name
from engine.import_path import object_name
from engine.table import Table

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetRow",
    "ImageSet",
    "Request",
    "check_request",
    "data_root",
    "fetch_dataset",
    "load_dataset",
]

_ANYTHING_ASKED = Request()
_LARGEST_IMAGE = 1024


@dataclass(frozen=True)
class DatasetRow:
    """One data set: what menus say of it, what may be asked of it, and how it is read and fetched.

    The first split and the first target are the defaults. `targets` is empty where there is no choice, and None where
    only the files tell which targets and groups exist. All groups come along always; where `default_groups` are named,
    only those or the ones asked for.
    `mirrors`: a mirrored image keeps its class. `image_size`: side that images of many sizes are cut to; 0 leaves them.
    `bring`: what a user must put where, if nothing fetches it. `credit`: whose images they are, as their licence wants
    it said; `may_ship`: whether the licence lets a study carry them. `labels_note`: whose word groups of people are,
    where they are not the people's own.
    """

    key: str
    label: str
    help: str
    read: Callable[[Path, Request], Dataset]
    licence: str
    fetch: Callable[[Path], None] | None = None
    bring: str = ""
    splits: tuple[str, ...] = ("official",)
    targets: tuple[str, ...] | None = ()
    groups: tuple[str, ...] = ()
    default_groups: tuple[str, ...] = ()
    mirrors: bool = False
    image_size: int = 0
    credit: str = ""
    may_ship: bool = False
    labels_note: str = ""


_ROWS = (
    DatasetRow(
        key="digits",
        label="Digits 8x8",
        help="1,797 small digits that come with scikit-learn, half of each class tested; needs no network.",
        read=read_digits,
        licence="CC BY 4.0",
    ),
    DatasetRow(
        key="mnist",
        label="MNIST",
        help="70,000 handwritten digits, 10,000 of them tested.",
        read=MNIST.read,
        licence="CC BY-SA 3.0",
        fetch=download("MNIST"),
        credit="MNIST, Y. LeCun, C. Cortes and C. Burges, 1998, CC BY-SA 3.0",
        may_ship=True,
    ),
    DatasetRow(
        key="fashion-mnist",
        label="Fashion-MNIST",
        help="70,000 small pictures of clothes, 10,000 of them tested.",
        read=FASHION_MNIST.read,
        licence="MIT",
        fetch=download("FashionMNIST"),
        mirrors=True,
        credit="Fashion-MNIST, H. Xiao, K. Rasul and R. Vollgraf, Zalando SE, 2017, MIT",
        may_ship=True,
    ),
    DatasetRow(
        key="qmnist",
        label="QMNIST",
        help="MNIST's digits and 50,000 more with the writer of each; the split says who is tested.",
        read=read_qmnist,
        licence="BSD-style (Meta)",
        fetch=download("QMNIST", {"what": "train"}, {"what": "test"}),
        splits=("writers", "official", "test10k"),
        groups=("series", "writer"),
        credit="MNIST, Y. LeCun, C. Cortes and C. Burges, 1998, CC BY-SA 3.0; who wrote them: QMNIST, C. Yadav and "
        "L. Bottou, 2019",
        may_ship=True,
    ),
    DatasetRow(
        key="kmnist",
        label="Kuzushiji-MNIST",
        help="70,000 cursive Japanese characters in 10 classes, 10,000 of them tested.",
        read=KMNIST.read,
        licence="CC BY-SA 4.0",
        fetch=download("KMNIST"),
    ),
    DatasetRow(
        key="emnist-byclass",
        label="EMNIST ByClass",
        help="814,255 handwritten digits and letters in 62 unequal classes, turned upright here.",
        read=EMNIST_BYCLASS.read,
        licence="NIST, free to use",
        fetch=download("EMNIST", {"split": "byclass"}),
    ),
    DatasetRow(
        key="emnist-byclass-as-stored",
        label="EMNIST ByClass, as stored",
        help="The same digits and letters as torchvision loads them: mirrored and lying on their side.",
        read=EMNIST_AS_STORED.read,
        licence="NIST, free to use",
        fetch=download("EMNIST", {"split": "byclass"}),
    ),
    DatasetRow(
        key="cifar10",
        label="CIFAR-10",
        help="60,000 small photographs of animals and vehicles in 10 classes.",
        read=CIFAR10.read,
        licence="none stated; cite Krizhevsky 2009",
        fetch=download("CIFAR10"),
        mirrors=True,
        credit="CIFAR-10, A. Krizhevsky, 2009",
    ),
    DatasetRow(
        key="cifar100",
        label="CIFAR-100",
        help="60,000 small photographs in 100 classes, grouped by their 20 superclasses.",
        read=CIFAR100.read,
        licence="none stated; cite Krizhevsky 2009",
        fetch=download("CIFAR100"),
        groups=("superclass",),
        mirrors=True,
    ),
    DatasetRow(
        key="svhn",
        label="SVHN",
        help="99,289 digits of house numbers, photographed from the street.",
        read=read_svhn,
        licence="non-commercial research only",
        fetch=download("SVHN", {"split": "train"}, {"split": "test"}),
    ),
    DatasetRow(
        key="celeba",
        label="CelebA",
        help="182,732 faces (the training and test partitions) with 40 yes-no attributes as target and groups.",
        read=read_celeba,
        licence="non-commercial research only",
        fetch=download("CelebA", {"split": "all"}),
        targets=("Blond_Hair", *(name for name in CELEBA_ATTRIBUTES if name != "Blond_Hair")),
        groups=CELEBA_ATTRIBUTES,
        default_groups=("Male", "Young"),
        mirrors=True,
        image_size=64,
        labels_note="Attributes of faces are what annotators saw in the pictures, not what people say of themselves.",
    ),
    DatasetRow(
        key="utkface",
        label="UTKFace",
        help="About 23,700 faces with ethnicity, age and gender: one the target, the others groups; a fifth is tested.",
        read=read_utkface,
        licence="non-commercial research only",
        bring="Put the aligned and cropped JPEGs of UTKFace into the folder UTKFace of the data root.",
        targets=UTKFACE_ATTRIBUTES,
        groups=UTKFACE_ATTRIBUTES,
        mirrors=True,
        image_size=64,
        credit="UTKFace, Z. Zhang, Y. Song and H. Qi, 2017, for non-commercial research only",
        labels_note="Ethnicity, gender and age are estimates of the data set's authors, not what people say of "
        "themselves.",
    ),
    DatasetRow(
        key="folder",
        label="Own images",
        help="Your own images in class folders, groups from groups.csv; the target names the folder.",
        read=read_folder,
        licence="your own",
        bring="Put images into folder/train/CLASS and folder/test/CLASS of the data root; the target may name another "
        "folder.",
        targets=None,
        mirrors=True,
        image_size=64,
    ),
)


def own_dataset(name: str, source: object, label: str = "", help: str = "") -> DatasetRow:
    """The row of a user's own data set: a Dataset, or a function without arguments that returns one."""
    if isinstance(source, DatasetRow):
        return source
    if not isinstance(source, Dataset) and not callable(source):
        raise PruneScopeError(
            f"The data set {name!r} is {type(source).__name__}; it should be a Dataset, as image_dataset makes one, or "
            "a function without arguments that returns it."
        )
    return DatasetRow(
        key=name,
        label=label or object_name(name),
        help=help or "A data set of your own.",
        read=partial(_read_own, name, source),
        licence="your own",
        targets=None,
    )


def _read_own(name: str, source: Dataset | Callable[[], object], root: Path, request: Request) -> Dataset:
    dataset = source if isinstance(source, Dataset) else source()
    if not isinstance(dataset, Dataset):
        raise PruneScopeError(f"the function behind {name!r} returned {type(dataset).__name__}, not a Dataset.")
    return dataset


DATASETS: Table[DatasetRow] = Table("data set", _ROWS, own_dataset)


def load_dataset(key: str, root: Path, request: Request = _ANYTHING_ASKED) -> Dataset:
    """The data set from the files under the root, as the request asks for it."""
    row = DATASETS[key]
    request = _completed(row, request)
    try:
        return row.read(root, request)
    except FileNotFoundError as error:
        remedy = f"Get it with: python -m engine data get {key}" if row.fetch else row.bring
        raise PruneScopeError(f"{row.label} is not whole in {root}: {error.filename} is missing. {remedy}") from error
    except OSError as error:
        raise PruneScopeError(f"{row.label} cannot be read from {root}: {error}") from error
    except PruneScopeError as error:
        raise PruneScopeError(f"{row.label}, split {request.split}: {error}") from error


def fetch_dataset(key: str, root: Path) -> None:
    """Fetch a data set into the root where that is possible, then load every split of it as a check."""
    check_may_write("a data set")
    row = DATASETS[key]
    if row.fetch:
        try:
            root.mkdir(parents=True, exist_ok=True)
            row.fetch(root)
        except (ImportError, OSError, RuntimeError) as error:
            raise PruneScopeError(f"{row.label} could not be fetched into {root}: {error}") from error
    for split in row.splits:
        load_dataset(key, root, Request(split=split))


def check_request(key: str, request: Request) -> None:
    """Refuse what the data set does not offer, as far as that is known without its files."""
    _completed(DATASETS[key], request)


def _completed(row: DatasetRow, request: Request) -> Request:
    """The request with the data set's defaults in place of what it leaves open."""
    split = request.split or row.splits[0]
    if split not in row.splits:
        raise unknown_name(split, row.splits, f"split of {row.key}")
    target = request.target or (row.targets[0] if row.targets else "")
    if row.targets is not None and target and target not in row.targets:
        raise unknown_name(target, row.targets, f"target of {row.key}")
    if not 0 <= request.image_size <= _LARGEST_IMAGE:
        raise PruneScopeError(
            f"The image size {request.image_size} is not allowed; it goes from 1 to {_LARGEST_IMAGE}."
        )
    groups = request.groups or tuple(name for name in row.default_groups if name != target)
    offered = [name for name in row.groups if name != target]
    for name in groups if row.targets is not None else ():
        if name not in offered:
            raise unknown_name(name, offered, f"group of {row.key}")
    return Request(split, target, tuple(dict.fromkeys(groups)), request.image_size or row.image_size)
