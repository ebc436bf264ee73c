"""Attributes: equal to the plain computation, right in known cases, NaN where unknown."""

from pathlib import Path

import numpy as np
import pytest

import engine.datasets.attributes
from benchmarks.attributes import plain_attributes
from engine.datasets.attributes import ATTRIBUTES, attributes, class_means, class_table, entropy, example_table, tilt
from engine.datasets.dataset import ungrouped
from engine.datasets.dataset_table import Dataset, Request, load_dataset
from tests.support import datasets as tiny


def assert_plain(images: np.ndarray, labels: np.ndarray, n_classes: int) -> None:
    means = class_means(images, labels, n_classes)
    plain = [plain_attributes(image, means[label]) for image, label in zip(images, labels, strict=True)]
    table = attributes(images, means, labels)
    assert tuple(table) == ATTRIBUTES and (table.dtypes == np.float64).all()
    np.testing.assert_allclose(table, plain, rtol=1e-9, atol=1e-9)


def test_attributes_equal_the_plain_computation(real_root: Path) -> None:
    train = load_dataset("mnist", real_root).train
    assert_plain(train.images[:500], train.labels[:500], 10)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 5, 9), (3, 100, 90)])
def test_attributes_equal_the_plain_computation_on_any_shape(shape: tuple[int, ...]) -> None:
    assert_plain(tiny.noise(20, *shape), np.arange(20) % 3, 3)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = tiny.noise(50, 1, 8, 8), np.arange(50) % 3
    whole = attributes(images, class_means(images, labels, 3), labels)
    monkeypatch.setattr(engine.datasets.attributes, "_CHUNK_PIXELS", 7 * 64)
    assert attributes(images, class_means(images, labels, 3), labels).equals(whole)


def stroke(slope: float) -> np.ndarray:
    image = np.zeros((1, 1, 21, 21), np.uint8)
    rows = np.arange(5, 16)
    image[0, 0, rows, np.rint(10 + slope * (rows - 10)).astype(int)] = 255
    return image


@pytest.mark.parametrize("slope", [-1, 0, 1])
def test_tilt_is_the_columns_per_row_and_positive_to_the_left(slope: int) -> None:
    image = stroke(slope)
    assert tilt(image)[0] == slope
    if slope == 1:
        top, bottom = image[0, 0, 5].argmax(), image[0, 0, 15].argmax()
        assert top < bottom


@pytest.mark.parametrize("lit", [[], [(3, 4)], [(3, 1), (3, 7)]], ids=["nothing", "a point", "one row"])
def test_tilt_is_nan_below_two_rows(lit: list[tuple[int, int]]) -> None:
    image = np.zeros((1, 1, 8, 8), np.uint8)
    for row, column in lit:
        image[0, 0, row, column] = 255
    assert np.isnan(tilt(image)[0])


def test_tilt_counts_pixels_above_127_of_the_mean_channel() -> None:
    image = stroke(1).repeat(3, axis=1)
    image[0, 0][stroke(-1)[0, 0] > 0] = 255
    assert tilt(image)[0] == 1
    assert np.isnan(tilt(stroke(1) // 2)[0])


def test_entropy_goes_from_none_to_eight_bits() -> None:
    even = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    assert entropy(np.full_like(even, 7))[0] == 0
    assert entropy(np.where(even < 128, 0, 255).astype(np.uint8))[0] == pytest.approx(1)
    assert entropy(even)[0] == pytest.approx(8)


def small(train_labels: list[int], test_labels: list[int]) -> Dataset:
    sides = (ungrouped(tiny.noise(len(labels), 1, 6, 6), np.array(labels)) for labels in (train_labels, test_labels))
    return Dataset("small", "official", ("a", "b", "c"), *sides)


def test_distance_is_from_the_training_mean() -> None:
    dataset = small([0, 0, 1], [0, 1])
    train, test = dataset.train.images / 255, dataset.test.images / 255
    expected = [np.linalg.norm(test[0] - train[:2].mean(axis=0)), np.linalg.norm(test[1] - train[2])]
    np.testing.assert_allclose(example_table(dataset)["distance"], expected, rtol=1e-12)


def test_unseen_class_has_no_mean_and_no_entropy() -> None:
    dataset = small([0, 0, 1], [0, 2])
    assert list(example_table(dataset)["distance"].isna()) == [False, True]
    table = class_table(dataset)
    assert list(table) == ["class", "name", "n_train", "n_test", "entropy"]
    assert list(table["n_train"]) == [2, 1, 0] and list(table["n_test"]) == [1, 0, 1]
    assert table["entropy"].isna().tolist() == [False, False, True]
    assert table["entropy"][0] == pytest.approx(entropy(dataset.train.images[:2]).mean())


def test_example_table_has_groups_and_attributes(tiny_root: Path) -> None:
    dataset = load_dataset("qmnist", tiny_root, Request(split="test10k"))
    table = example_table(dataset)
    assert list(table) == ["example", "label", "series", "writer", "digit_index", *ATTRIBUTES]
    assert list(table["example"]) == list(range(40)) and np.array_equal(table["label"], dataset.test.labels)
