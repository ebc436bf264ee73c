"""The table of data sets: one contract over all rows, and what load and fetch refuse."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.datasets.dataset import ImageSet, ungrouped
from engine.datasets.dataset_table import DATASETS, Request, data_root, fetch_dataset, load_dataset
from engine.errors import PruneScopeError, unknown_name
from tests.support import datasets as tiny

SPLITS = [(key, split) for key, row in DATASETS.items() for split in row.splits]


def test_table_has_the_data_sets_that_were_promised() -> None:
    promised = "digits mnist fashion-mnist qmnist kmnist emnist-byclass emnist-byclass-as-stored cifar10 cifar100 svhn"
    assert " ".join(DATASETS) == f"{promised} celeba utkface folder"
    assert len({row.label for row in DATASETS.values()}) == len(DATASETS)


@pytest.mark.parametrize("key", DATASETS)
def test_row_keeps_the_contract(key: str) -> None:
    row = DATASETS[key]
    assert row.key == key
    assert row.help.endswith(".") and "\n" not in row.help and len(row.help) <= 120
    assert row.splits and row.licence
    assert bool(row.bring) == (row.fetch is None and key != "digits")
    assert set(row.default_groups) <= set(row.groups)


@pytest.mark.parametrize(("key", "split"), SPLITS)
def test_every_split_loads_from_tiny_files(key: str, split: str, tiny_root: Path) -> None:
    dataset = load_dataset(key, tiny_root, Request(split=split))
    assert (dataset.key, dataset.split) == (key, split)
    assert len(set(dataset.classes)) == len(dataset.classes) >= 2
    for side in (dataset.train, dataset.test):
        assert side.images.dtype == np.uint8 and side.images.ndim == 4
        assert side.images.flags.c_contiguous and side.images.flags.writeable
        assert side.labels.dtype == np.int64
        assert list(side.groups.index) == list(range(len(side.labels)))
    assert dataset.train.images.shape[1:] == dataset.test.images.shape[1:]
    assert set(DATASETS[key].default_groups) <= set(dataset.test.groups)


@pytest.mark.parametrize("key", ["qmnist", "cifar100"])
def test_offered_groups_are_columns(key: str, tiny_root: Path) -> None:
    assert set(DATASETS[key].groups) <= set(load_dataset(key, tiny_root).test.groups)


def test_reading_leaves_torch_alone(tiny_root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from engine.datasets import DATASETS, load_dataset\n"
        "for key in DATASETS: load_dataset(key, Path(sys.argv[1]))\n"
        "print([name for name in ('torch', 'torchvision', 'streamlit') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code, tiny_root], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("key", [key for key in DATASETS if key != "digits"])
def test_missing_files_name_the_remedy(key: str, tmp_path: Path) -> None:
    remedy = f"python -m engine data get {key}" if DATASETS[key].fetch else DATASETS[key].bring
    with pytest.raises(PruneScopeError, match="is missing") as refusal:
        load_dataset(key, tmp_path)
    assert remedy in str(refusal.value)


@pytest.mark.parametrize(
    ("key", "request_", "hint"),
    [
        ("qmnits", Request(), "no data set 'qmnits'; did you mean 'qmnist'"),
        ("MNIST", Request(), "did you mean 'mnist'"),
        ("qmnist", Request(split="writer"), "no split of qmnist 'writer'; did you mean 'writers'"),
        ("celeba", Request(target="Blonde_Hair"), "did you mean 'Blond_Hair'"),
        ("celeba", Request(groups=("male",)), "did you mean 'Male'"),
        ("celeba", Request(target="Male", groups=("Male",)), "no group of celeba 'Male'"),
        ("folder", Request(groups=("cam",)), "did you mean 'camera'"),
        ("mnist", Request(target="digit"), "no target of mnist 'digit'; none exists"),
        ("mnist", Request(groups=("writer",)), "no group of mnist 'writer'; none exists"),
        ("utkface", Request(image_size=-1), "image size -1"),
    ],
)
def test_misspelt_request_names_what_is_allowed(key: str, request_: Request, hint: str, tiny_root: Path) -> None:
    with pytest.raises(PruneScopeError) as refusal:
        load_dataset(key, tiny_root, request_)
    assert hint in str(refusal.value)


def test_nearest_always_names_one_and_lists_all() -> None:
    error = unknown_name("l1_strutured", ["random", "l1_structured"], "technique")
    assert str(error) == (
        "There is no technique 'l1_strutured'; did you mean 'l1_structured'? Allowed: random, l1_structured."
    )
    assert "did you mean" in str(unknown_name("zzz", ["abc"], "technique"))


def test_images_and_labels_must_match_in_number(tmp_path: Path) -> None:
    for prefix, n_labels in (("train", 20), ("t10k", 7)):
        tiny.write_idx_pair(tmp_path / "MNIST" / "raw", prefix, tiny.noise(20, 28, 28), np.zeros(n_labels))
    with pytest.raises(PruneScopeError, match="MNIST, split official: 20 images beside 7 labels"):
        load_dataset("mnist", tmp_path)


def test_groups_must_match_in_number() -> None:
    part = ungrouped(tiny.noise(3, 1, 4, 4), np.zeros(3))
    with pytest.raises(PruneScopeError, match="3 images beside 2 rows of groups"):
        ImageSet(part.images, part.labels, part.groups.iloc[:2])


def test_label_beyond_the_classes_is_refused(tmp_path: Path) -> None:
    for prefix in ("train", "t10k"):
        tiny.write_idx_pair(tmp_path / "MNIST" / "raw", prefix, tiny.noise(2, 28, 28), np.array([3, 10]))
    with pytest.raises(PruneScopeError, match="labels from 3 to 10; 10 classes allow 0 to 9"):
        load_dataset("mnist", tmp_path)


def test_digits_are_split_evenly_and_always_alike(tmp_path: Path) -> None:
    one, two = load_dataset("digits", tmp_path), load_dataset("digits", tmp_path)
    assert np.array_equal(one.test.images, two.test.images)
    assert len(one.train.labels) + len(one.test.labels) == 1797
    assert np.abs(np.bincount(one.train.labels) - np.bincount(one.test.labels)).max() <= 1
    assert one.train.images.max() == 255


def test_data_root_prefers_option_then_environment_then_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_DATA", "from-environment")
    assert data_root("from-option") == Path("from-option")
    assert data_root() == Path("from-environment")
    monkeypatch.delenv("PRUNESCOPE_DATA")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert data_root() == Path("cache/prunescope")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_root() == Path.home() / ".cache" / "prunescope"


def test_fetch_of_what_users_bring_says_what_to_bring(tmp_path: Path) -> None:
    with pytest.raises(PruneScopeError, match="Put the aligned and cropped JPEGs"):
        fetch_dataset("utkface", tmp_path)
    fetch_dataset("digits", tmp_path)


def test_fetch_takes_what_is_there_and_checks_every_split(tmp_path: Path) -> None:
    tiny.write_qmnist(tmp_path)
    fetch_dataset("qmnist", tmp_path)
    (tmp_path / "QMNIST/raw/qmnist-test-images-idx3-ubyte").write_bytes(tiny.idx_bytes(tiny.noise(12, 28, 28)))
    with pytest.raises(PruneScopeError, match="split official: 12 images beside 40 labels"):
        fetch_dataset("qmnist", tmp_path)


def test_failed_fetch_says_why(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(PruneScopeError, match="MNIST could not be fetched"):
        fetch_dataset("mnist", blocked)
