"""CIFAR's pickles: true ones are read, all others refused without being run; SVHN's Matlab files."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from engine.datasets.dataset_table import load_dataset
from engine.datasets.readers.cifar import read_batch
from engine.errors import PruneScopeError
from tests.support import datasets as tiny


def test_cifar10_joins_its_batches(tiny_root: Path) -> None:
    dataset = load_dataset("cifar10", tiny_root)
    assert dataset.train.images.shape == (50, 3, 32, 32) and dataset.test.images.shape == (10, 3, 32, 32)
    assert dataset.classes[3] == "thing 3"
    assert np.array_equal(dataset.train.labels, np.tile(np.arange(10), 5))


def test_cifar100_is_grouped_by_superclass(tiny_root: Path) -> None:
    test = load_dataset("cifar100", tiny_root).test
    assert list(test.groups["superclass"][[0, 4, 5, 99]]) == ["a", "a", "b", "t"]


@pytest.mark.parametrize("protocol", [3, 4])
def test_batches_of_newer_numpy_are_read(protocol: int, tmp_path: Path) -> None:
    data = tiny.noise(2, 3072)
    path = tmp_path / "batch"
    path.write_bytes(pickle.dumps({"data": data, "labels": [0, 1]}, protocol))
    assert np.array_equal(read_batch(path)["data"], data)


class Malicious:
    """Writes a file when it is unpickled freely."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.path, "owned")


def test_malicious_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    path, trace = tmp_path / "batch", tmp_path / "trace"
    path.write_bytes(pickle.dumps({"data": Malicious(trace)}))
    with pytest.raises(PruneScopeError, match="only plain numpy arrays are allowed"):
        read_batch(path)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "refused"),
        (b"<html>", "refused"),
        (pickle.dumps([1]), "holds a list"),
        (b"cos\nsystem\n(S'true'\ntR.", "asks for os.system"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "asks for builtins.eval"),
    ],
)
def test_broken_batch_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(PruneScopeError, match=reason):
        read_batch(tmp_path / "batch")


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        ({"data": tiny.noise(2, 3072)}, "has no entry 'labels'; it has 'data'"),
        ({"data": tiny.noise(2, 7), "labels": [0, 1]}, r"allowed are uint8 of shape \(n, 3072\)"),
        ({"data": tiny.noise(2, 3072), "labels": [0]}, "42 images beside 41 labels"),
    ],
)
def test_incomplete_batch_is_refused(batch: dict[str, Any], reason: str, tmp_path: Path) -> None:
    tiny.write_cifar(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(tiny.python2_pickle(batch))
    with pytest.raises(PruneScopeError, match=reason):
        load_dataset("cifar10", tmp_path)


def test_svhn_calls_ten_zero(tiny_root: Path) -> None:
    test = load_dataset("svhn", tiny_root).test
    assert test.images.shape == (10, 3, 32, 32)
    assert list(test.labels) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]


def test_svhn_keeps_rows_and_columns(tmp_path: Path) -> None:
    images = tiny.noise(5, 3, 32, 32)
    for part in ("train", "test"):
        savemat(tmp_path / f"{part}_32x32.mat", {"X": images.transpose(2, 3, 1, 0), "y": np.ones((5, 1), np.uint8)})
    assert np.array_equal(load_dataset("svhn", tmp_path).train.images, images)


def test_svhn_refuses_what_is_no_matlab_file(tmp_path: Path) -> None:
    (tmp_path / "train_32x32.mat").write_bytes(b"<html>not found</html>" * 20)
    with pytest.raises(PruneScopeError, match="is not a Matlab file with X and y"):
        load_dataset("svhn", tmp_path)
