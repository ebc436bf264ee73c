"""Long tails: the sizes that were asked for, in training only, whatever the data set's own classes are."""

import numpy as np
import pytest

from engine.datasets.long_tail import held_out_sizes, long_tail_sizes, long_tailed


def test_sizes_fall_geometrically_by_the_factor() -> None:
    sizes = long_tail_sizes(np.full(10, 4800), 20)
    assert sizes[0] == 4800 and sizes[-1] == 240
    np.testing.assert_allclose(sizes[1:] / sizes[:-1], 20 ** (-1 / 9), atol=0.004)


def test_sizes_by_hand() -> None:
    assert long_tail_sizes(np.array([100, 100, 100]), 4).tolist() == [100, 50, 25]
    assert long_tail_sizes(np.array([100, 30, 100]), 4).tolist() == [100, 25, 50]  # the rarest stays the rarest
    assert long_tail_sizes(np.array([100, 10, 100]), 4).tolist() == [40, 10, 20]  # it has too few for 25
    assert long_tail_sizes(np.array([8, 8, 0]), 20).tolist() == [8, 1, 0]
    assert long_tail_sizes(np.array([7, 9]), 1).tolist() == [7, 7]
    assert long_tail_sizes(np.array([7]), 20).tolist() == [7]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.37])
def test_as_many_are_held_out_as_without_classes(share: float) -> None:
    counts = np.random.default_rng(0).integers(5, 900, 13)
    sizes = held_out_sizes(counts, share)
    assert sizes.sum() == round(share * counts.sum())
    assert (np.abs(sizes - share * counts) < 1).all()


def test_validation_is_balanced_and_training_has_the_tail() -> None:
    labels = np.repeat(np.arange(4), 50)
    held_out, trained = long_tailed(labels, np.random.default_rng(1).permutation(200), 0.2, 8)
    assert np.bincount(labels[held_out]).tolist() == [10, 10, 10, 10]
    assert np.bincount(labels[trained]).tolist() == [40, 20, 10, 5]
    assert not set(held_out) & set(trained) and len(set(trained)) == len(trained)


def test_another_order_draws_other_examples_of_the_same_number() -> None:
    labels = np.random.default_rng(2).integers(0, 3, 300)
    parts = [long_tailed(labels, np.random.default_rng(seed).permutation(300), 0.2, 5)[1] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(parts[0], parts[1])
    assert set(parts[0]) != set(parts[2])
    np.testing.assert_array_equal(np.bincount(labels[parts[0]]), np.bincount(labels[parts[2]]))
