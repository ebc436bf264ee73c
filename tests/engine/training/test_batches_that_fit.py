"""Gradients and tests of networks too large for 1,000 images at once are computed in batches that fit."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from engine.training.evaluation import evaluate_network, mean_gradients
from engine.training.split import Split, make_split


class Hungry(nn.Module):
    """A network for which a device has memory for so many images."""

    def __init__(self, most: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
        self.most, self.seen = most, list[int]()

    def forward(self, images: Tensor) -> Tensor:
        self.seen.append(len(images))
        if len(images) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        out: Tensor = self.layers(images)
        return out


def split() -> Split:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (300, 1, 8, 8), dtype=np.uint8)
    return make_split(images, rng.integers(0, 10, 300), images, 8, torch.device("cpu"))


@pytest.mark.parametrize("most", [299, 40, 1])
def test_what_does_not_fit_is_halved_and_gives_the_same(most: int) -> None:
    small, large = Hungry(most), Hungry(1000)
    for name, gradient in mean_gradients(small, split()).items():
        torch.testing.assert_close(gradient, mean_gradients(large, split())[name])
    assert max(size for size in small.seen if size <= most) > most // 3
    expected, found = evaluate_network(large, split()), evaluate_network(small, split())
    assert found.prediction.tolist() == expected.prediction.tolist()
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-5)


def test_what_fits_is_one_batch_as_ever() -> None:
    network = Hungry(1000)
    mean_gradients(network, split())
    assert network.seen == [300]


def test_one_image_that_does_not_fit_is_said() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        mean_gradients(Hungry(0), split())
