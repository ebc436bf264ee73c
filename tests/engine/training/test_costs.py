"""What a network costs is counted by hand and by torch, with and without the channels that do nothing."""

import io
import zlib

import pytest
import torch
from torch import nn

from engine.networks.network_table import NETWORKS
from engine.training import costs

IMAGES = torch.zeros(2, 1, 28, 28)


def lenet() -> nn.Module:
    torch.manual_seed(0)
    return NETWORKS["lenet"].build(1, 28, 10).eval()


def test_a_whole_network_costs_what_its_layers_say() -> None:
    network = lenet()
    found = costs.level_costs(network, IMAGES)
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    n = sum(layer.weight.numel() for layer in layers)
    assert found["weights"] == found["stored"] == n
    by_hand = 0
    for layer in layers:
        places: list[int] = []
        layer.register_forward_hook(lambda module, given, made, places=places: places.append(made[0].numel()))
        network(IMAGES)
        fan_in = layer.weight[0].numel()
        by_hand += places[0] * fan_in
    assert found["macs"] == by_hand
    assert n * 4 < found["bytes"] < n * 4 + 4_000


def test_single_zeros_save_nothing_unless_zipped() -> None:
    network, whole = lenet(), costs.level_costs(lenet(), IMAGES)
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.weight.mul_(torch.rand_like(layer.weight) < 0.6)
    found = costs.level_costs(network, IMAGES)
    assert found["macs"] == whole["macs"] and found["stored"] == whole["stored"]
    assert found["weights"] < 0.65 * whole["weights"]
    assert found["bytes_zipped"] < 0.8 * whole["bytes_zipped"]


def test_dead_channels_save_everything() -> None:
    network, whole = lenet(), costs.level_costs(lenet(), IMAGES)
    with torch.no_grad():
        [first, second] = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d)]
        second.weight[:, ::2] = 0
    found = costs.level_costs(network, IMAGES)
    assert found["macs"] < whole["macs"] and found["stored"] < whole["stored"] and found["bytes"] < whole["bytes"]
    assert first.weight.shape[0] == 6, "the network itself stays as it is"


def test_a_large_file_is_not_zipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MOST_ZIPPED", 100)
    sizes = costs.file_sizes({"a": torch.zeros(1000)})
    assert sizes["bytes"] > 4_000 and sizes["bytes_zipped"] != sizes["bytes_zipped"]


def test_zipped_is_what_zlib_makes() -> None:
    content = io.BytesIO(b"0" * 10_000).getvalue()
    assert costs.zipped(content) == len(zlib.compress(content, 6)) < 100
