"""Networks: every row builds, runs and prunes on every kind of image."""

import pytest
import torch

from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS, NetworkRow, input_size
from engine.pruning.masks import prunable

LIGHT = [row for row in NETWORKS.values() if row.key not in {"vgg11", "vgg19", "alexnet", "resnet50", "resnet110"}]


@pytest.mark.parametrize("row", NETWORKS.values(), ids=lambda row: row.key)
def test_row_says_what_it_is(row: NetworkRow) -> None:
    assert NETWORKS[row.key] is row
    assert row.label and row.help.endswith(".") and "\n" not in row.help


@pytest.mark.parametrize("row", LIGHT, ids=lambda row: row.key)
@pytest.mark.parametrize(("channels", "side", "n_classes"), [(1, 8, 10), (1, 28, 62), (3, 32, 100), (3, 64, 2)])
def test_network_fits_channels_size_and_classes(row: NetworkRow, channels: int, side: int, n_classes: int) -> None:
    """Computed at one size; at the others torch tells the shapes without computing."""
    size = input_size(row, side, side, asked=row.size and 32)
    with torch.no_grad(), torch.device("cpu" if side == 28 else "meta"):
        network = row.build(channels, size, n_classes).eval()
        assert network(torch.zeros(2, channels, size, size)).shape == (2, n_classes)


@pytest.mark.parametrize("key", ["alexnet", "vgg11", "vgg19", "resnet50", "resnet110"])
def test_heavy_network_builds_for_grey_images(key: str) -> None:
    with torch.device("meta"):
        network = NETWORKS[key].build(1, NETWORKS[key].size or 28, 7).eval()
        size = NETWORKS[key].size or 28
        assert network(torch.zeros(2, 1, size, size)).shape == (2, 7)


def test_lenet_has_the_papers_weights() -> None:
    network = NETWORKS["lenet"].build(1, 28, 10)
    assert [tuple(w.shape) for w in prunable(network).values()] == [
        (6, 1, 3, 3),
        (16, 6, 3, 3),
        (120, 400),
        (84, 120),
        (10, 84),
    ]


@pytest.mark.parametrize(("depth", "n_weights"), [(20, 0.27e6), (32, 0.46e6), (44, 0.66e6), (56, 0.85e6), (110, 1.7e6)])
def test_cifar_resnets_have_the_published_size(depth: int, n_weights: float) -> None:
    with torch.device("meta"):
        network = NETWORKS[f"resnet{depth}"].build(3, 32, 10)
    assert sum(p.numel() for p in network.parameters()) == pytest.approx(n_weights, rel=0.03)
    assert len(prunable(network)) == depth


def test_pooling_before_relu_gives_the_same_numbers() -> None:
    network, images = NETWORKS["lenet"].build(1, 28, 10), torch.randn(5, 1, 28, 28)
    functional = torch.nn.functional
    maps = functional.max_pool2d(functional.relu(network.conv1(images)), 2)
    maps = functional.max_pool2d(functional.relu(network.conv2(maps)), 2)
    hidden = functional.relu(network.linear2(functional.relu(network.linear1(maps.flatten(1)))))
    torch.testing.assert_close(network(images), network.linear3(hidden))


def test_an_image_too_small_for_the_network_is_refused() -> None:
    with pytest.raises(PruneScopeError, match="needs 63 pixels"):
        input_size(NETWORKS["alexnet"], 28, 28, asked=32)
