"""Compaction: the answers of the masked network, and no channel left that could go."""

import os

import pytest
import torch
from torch import Tensor, nn

from engine.networks.network_table import NETWORKS
from engine.pruning.masks import apply_masks
from engine.pruning.techniques import TECHNIQUES
from engine.shipping.compact import compacted
from tests.support.networks.small_networks import image_side, pruned_masks, small_network

FULL = bool(os.environ.get("PRUNESCOPE_FULL"))
CUTTING = [key for key, row in TECHNIQUES.items() if row.cuts != "nothing" and not row.quantizes]
SHARES = {"channels": (0.2, 0.5, 0.8), "weights": (0.5, 0.9, 0.98)}
N_INPUTS = 1000
DEEP = ("resnet32", "resnet44", "resnet56", "resnet110")
"""Networks that differ from ResNet-20 in depth alone: two techniques each, all with PRUNESCOPE_FULL."""
CASES = [
    (name, technique)
    for name in NETWORKS
    for technique in CUTTING
    if FULL or name not in DEEP or technique in ("l1_structured", "random_unstructured")
]


def inputs(name: str, n: int = N_INPUTS) -> Tensor:
    return torch.randn(n, 3, image_side(name), image_side(name), generator=torch.Generator().manual_seed(5))


def n_parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(("name", "technique"), CASES)
@torch.no_grad()
def test_answers_are_those_of_the_masked_network(name: str, technique: str) -> None:
    images = inputs(name)
    for share in SHARES[TECHNIQUES[technique].cuts]:
        network = small_network(name)
        with torch.enable_grad():
            masks = pruned_masks(network, technique, share, images[:20])
        apply_masks(network, masks)
        small = compacted(network, images[:2]).network
        expected, answers = network(images), small(images)
        torch.testing.assert_close(answers, expected, rtol=1e-5, atol=1e-5 * max(1.0, float(expected.abs().max())))
        assert torch.equal(answers.argmax(1), expected.argmax(1))
        if technique.endswith("_structured"):
            assert n_parameters(small) < n_parameters(network)
        again = compacted(small, images[:2]).network
        assert n_parameters(again) == n_parameters(small)
