"""Data sets in the idx format, QMNIST's splits, and the real files of MNIST, Fashion-MNIST and QMNIST."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from torchvision.datasets import EMNIST

from engine.datasets.dataset_table import Dataset, Request, load_dataset
from engine.datasets.readers.idx import read_idx
from engine.errors import PruneScopeError
from tests.support import datasets as tiny


@pytest.mark.parametrize("array", [tiny.noise(3, 4, 5), np.array([[1, -2], [70_000, 4]])], ids=["bytes", "numbers"])
def test_idx_gives_back_what_was_written(array: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "array"
    path.write_bytes(tiny.idx_bytes(array))
    read = read_idx(path, array.ndim)
    assert np.array_equal(read, array) and read.dtype.isnative and read.flags.writeable


def test_idx_reads_gz_where_only_that_exists(tmp_path: Path) -> None:
    array = tiny.noise(3, 4, 5)
    (tmp_path / "array.gz").write_bytes(gzip.compress(tiny.idx_bytes(array)))
    assert np.array_equal(read_idx(tmp_path / "array", 3), array)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("array", b"", "begins with nothing"),
        ("array", b"<html>not found</html>", "begins with 3c 68 74 6d"),
        ("array", tiny.idx_bytes(tiny.noise(4, 5)), "begins with 00 00 08 02"),
        ("array", tiny.idx_bytes(tiny.noise(3, 4, 5))[:-1], "has 75 bytes; its header (3, 4, 5) asks for 76"),
        ("array", b"\0\0\x08\x03\0\0", "has 6 bytes"),
        ("array.gz", gzip.compress(tiny.idx_bytes(tiny.noise(3, 4, 5)))[:-9], "not a whole gzip file"),
    ],
    ids=["empty", "page", "two axes", "cut", "header only", "half a gzip"],
)
def test_idx_refuses_what_is_broken(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PruneScopeError) as refusal:
        read_idx(tmp_path / "array", 3)
    assert reason in str(refusal.value)


def test_emnist_stands_upright(tiny_root: Path) -> None:
    bar = load_dataset("emnist-byclass", tiny_root).test.images[0, 0]
    assert bar[4:24, 14].min() == 255 and bar.sum() == 20 * 255


def test_emnist_as_stored_is_what_torchvision_loads(tiny_root: Path) -> None:
    stored = load_dataset("emnist-byclass-as-stored", tiny_root).test
    upright = load_dataset("emnist-byclass", tiny_root).test
    assert np.array_equal(stored.images, upright.images.swapaxes(2, 3))
    assert np.array_equal(stored.labels, upright.labels)
    theirs = EMNIST(tiny_root, "byclass", train=False)
    assert np.array_equal(stored.images[:, 0], theirs.data) and np.array_equal(stored.labels, theirs.targets)


def writers(dataset: Dataset) -> tuple[set[int], set[int]]:
    return set(dataset.train.groups["writer"]), set(dataset.test.groups["writer"])


def test_qmnist_columns_follow_the_labels(tiny_root: Path) -> None:
    test = load_dataset("qmnist", tiny_root, Request(split="official")).test
    assert list(test.groups) == ["series", "writer", "digit_index"]
    assert np.array_equal(test.groups["digit_index"], test.labels)
    assert set(test.groups["series"]) == {"hsf0"} and set(test.groups["writer"]) == {100, 101, 102, 103}


def test_writers_split_holds_out_half_of_each_series(tiny_root: Path) -> None:
    dataset = load_dataset("qmnist", tiny_root)
    assert writers(dataset) == ({0, 2, 4, 5, 7}, {1, 3, 6})
    assert len(dataset.train.labels) == 50 and len(dataset.test.labels) == 30


def test_test10k_takes_as_many_labels_as_it_takes_images(tmp_path: Path) -> None:
    tiny.write_qmnist(tmp_path)
    raw = tmp_path / "QMNIST" / "raw"
    for n_images in (10_000, 12_000):
        (raw / "qmnist-test-images-idx3-ubyte").write_bytes(tiny.idx_bytes(np.zeros((n_images, 2, 2), np.uint8)))
        (raw / "qmnist-test-labels-idx2-int").write_bytes(tiny.idx_bytes(np.zeros((12_000, 8), int)))
        assert len(load_dataset("qmnist", tmp_path, Request(split="test10k")).test.labels) == 10_000


def test_qmnist_labels_without_writers_are_refused(tmp_path: Path) -> None:
    tiny.write_qmnist(tmp_path)
    labels = tiny.idx_bytes(np.zeros((80, 1), int))
    (tmp_path / "QMNIST/raw/qmnist-train-labels-idx2-int").write_bytes(labels)
    with pytest.raises(PruneScopeError, match="train labels have 1 columns; its format has 8"):
        load_dataset("qmnist", tmp_path)


@pytest.mark.parametrize("key", ["mnist", "fashion-mnist"])
def test_real_files_have_their_counts(key: str, real_root: Path) -> None:
    dataset = load_dataset(key, real_root)
    assert dataset.train.images.shape == (60_000, 1, 28, 28)
    assert dataset.test.images.shape == (10_000, 1, 28, 28)
    assert len(dataset.classes) == 10


def test_real_qmnist_test10k_is_mnist(real_root: Path) -> None:
    qmnist = load_dataset("qmnist", real_root, Request(split="test10k"))
    mnist = load_dataset("mnist", real_root)
    assert np.array_equal(qmnist.train.labels, mnist.train.labels)
    assert np.array_equal(qmnist.test.labels, mnist.test.labels)
    counts = qmnist.test.groups.groupby("series")["writer"].nunique()
    assert counts.to_dict() == {"hsf0": 48, "hsf4": 249}


def test_real_writers_are_on_one_side_only(real_root: Path) -> None:
    dataset = load_dataset("qmnist", real_root, Request(split="writers"))
    train, test = writers(dataset)
    assert not train & test
    assert len(train) == 270 and len(test) == 269
    assert len(dataset.train.labels) + len(dataset.test.labels) == 60_000
    assert 29_500 < len(dataset.test.labels) < 30_500
    assert set(dataset.test.groups["series"]) == {"hsf0", "hsf4"}


def test_real_qmnist_with_images_missing_is_refused(real_root: Path) -> None:
    images = real_root / "QMNIST" / "raw" / "qmnist-test-images-idx3-ubyte"
    if images.stat().st_size > 10_000_000:
        pytest.skip("this machine has all of QMNIST's test images")
    with pytest.raises(PruneScopeError, match="10,000 images beside 60,000 labels"):
        load_dataset("qmnist", real_root, Request(split="official"))
