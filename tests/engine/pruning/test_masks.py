"""Masks: the same as torch.nn.utils.prune's, exact in number, and never an empty layer."""

import pytest
import torch
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import prune

from engine.networks.network_table import NETWORKS
from engine.pruning.masks import Cut, EmptyLayer, count_all, count_kept, cut_masks, full_masks, prunable, sparsity
from engine.pruning.techniques import TECHNIQUES, TechniqueRow
from engine.training.seeding import generator
from tests.support.harness.turns import FULL, cross_in_turn
from tests.support.networks.small_networks import small_network

PAGANINI = (
    "l1_unstructured",
    "random_unstructured",
    "global_unstructured",
    "l1_structured",
    "l2_structured",
    "linf_structured",
    "random_structured",
)
BY_TORCH = {
    "l1_unstructured": lambda module, share: prune.l1_unstructured(module, "weight", share),
    "random_unstructured": lambda module, share: prune.random_unstructured(module, "weight", share),
    "l1_structured": lambda module, share: prune.ln_structured(module, "weight", share, n=1, dim=1),
    "l2_structured": lambda module, share: prune.ln_structured(module, "weight", share, n=2, dim=1),
    "linf_structured": lambda module, share: prune.ln_structured(module, "weight", share, n=float("inf"), dim=1),
    "random_structured": lambda module, share: prune.random_structured(module, "weight", share, dim=1),
}


def prune_by_torch(network: nn.Module, technique: str, share: float) -> None:
    modules = [m for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    if technique == "global_unstructured":
        prune.global_unstructured([(m, "weight") for m in modules], prune.L1Unstructured, amount=share)
    else:
        for module in modules:
            BY_TORCH[technique](module, share)


def small(name: str) -> nn.Module:
    """The network of the table; AlexNet has small linear layers and ResNet few channels unless PRUNESCOPE_FULL is set,
    which takes minutes."""
    torch.manual_seed(3)
    narrow = name == "resnet18" and not FULL
    network = small_network(name, 1) if narrow else NETWORKS[name].build(1, NETWORKS[name].size or 28, 10)
    if name == "alexnet" and not FULL:
        network.classifier = nn.Sequential(nn.Linear(256 * 36, 64), nn.ReLU(), nn.Linear(64, 64), nn.Linear(64, 10))
    for weight in prunable(network).values():
        nn.init.normal_(weight, std=weight.numel() ** -0.1)  # small layers have larger weights, so none is emptied
    return network


def assert_same_masks(network: nn.Module, technique: str, n_levels: int) -> None:
    weights = {name: weight.detach().clone() for name, weight in prunable(network).items()}
    masks = full_masks(network)
    for level in range(1, n_levels + 1):
        torch.manual_seed(level)
        prune_by_torch(network, technique, 0.2)
        draw = torch.Generator().manual_seed(level)
        masks = cut_masks(weights, masks, Cut(TECHNIQUES[technique], 0.2, draw))
        for name, mask in masks.items():
            reference = network.get_submodule(name.removesuffix(".weight")).weight_mask
            assert torch.equal(mask, reference.bool()), f"{technique}, level {level}, {name}"
    if technique.endswith("unstructured") and n_levels == 20:
        assert abs(sparsity(masks) - 0.9885) < 0.001


@pytest.mark.parametrize(
    ("name", "technique"),
    [*cross_in_turn(["lenet"], PAGANINI, 1), *cross_in_turn(["alexnet", "resnet18"], PAGANINI, 3)],
)
def test_masks_equal_torch_level_by_level(name: str, technique: str) -> None:
    """Twenty levels of LeNet; of the large ones fewer, and a third of the techniques each day. Twenty of all where
    PRUNESCOPE_FULL is set, in many minutes."""
    n_levels = 20 if FULL or name == "lenet" else 6 if technique.endswith("_structured") else 2
    assert_same_masks(small(name), technique, n_levels)


@pytest.mark.parametrize(
    "technique", [row for row in TECHNIQUES.values() if row.cuts == "weights"], ids=lambda r: r.key
)
@given(share=st.floats(0.01, 0.9), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_mask_cuts_exactly_k_and_never_restores(technique: TechniqueRow, share: float, seed: int) -> None:
    network = small("lenet")
    weights = {name: weight.detach() for name, weight in prunable(network).items()}
    gradients = {name: torch.full_like(weight, 0.5) for name, weight in weights.items()}
    importances = {name: weight.abs().flatten().repeat(2, 1) for name, weight in weights.items()}

    def cut(share: float, level: int) -> Cut:
        return Cut(technique, share, generator(seed, level, "prune"), importances=importances)

    before = cut_masks(weights, full_masks(network), cut(0.3, 1), gradients)
    try:
        after = cut_masks(weights, before, cut(share, 2), gradients)
    except EmptyLayer:
        reject()  # Not a pass: if every share emptied a layer, there would be nothing to check.
    assert after.keys() == weights.keys()
    assert all(not (after[name] & ~before[name]).any() for name in after)
    parts = [after] if technique.compares == "network" else [{name: after[name]} for name in after]
    for part in parts:
        remained = count_kept({name: before[name] for name in part})
        assert count_kept(part) == remained - round(share * remained)


def test_ties_cut_exactly_k() -> None:
    weights = {"a.weight": torch.ones(10, 10)}
    masks = {"a.weight": torch.ones(10, 10, dtype=torch.bool)}
    after = cut_masks(weights, masks, Cut(TECHNIQUES["global_unstructured"], 0.37, generator(0, 1, "prune")))
    assert count_all(after) - count_kept(after) == 37


def test_empty_layer_is_refused_by_name() -> None:
    weights = {"small.weight": torch.full((2, 2), 0.01), "large.weight": torch.ones(4, 4)}
    masks = {name: torch.ones_like(weight, dtype=torch.bool) for name, weight in weights.items()}
    with pytest.raises(EmptyLayer, match="small"):
        cut_masks(weights, masks, Cut(TECHNIQUES["global_unstructured"], 0.5, generator(0, 1, "prune")))


def test_gradient_scores_equal_hand_written_ones() -> None:
    torch.manual_seed(0)
    w, g, decay = torch.randn(200), torch.randn(200), 0.0005
    expected = {"gradient": (w * (g + decay * w)).abs(), "undecayed": (w * g).abs()}
    for key, scores in expected.items():
        lowest = {int(i) for i in scores.argsort()[:60]}
        after = cut_masks(
            {"a": w},
            {"a": torch.ones(200, dtype=torch.bool)},
            Cut(TECHNIQUES[key], 0.3, generator(0, 1, "p"), decay),
            {"a": g},
        )
        assert {int(i) for i in (~after["a"]).nonzero()} == lowest


def test_undecayed_orders_as_magnitude_where_the_decayed_gradient_vanishes() -> None:
    torch.manual_seed(1)
    w, decay = torch.randn(500, dtype=torch.float64), 0.0005
    everything = {"a": torch.ones(500, dtype=torch.bool)}
    magnitude, undecayed = (
        cut_masks({"a": w}, everything, Cut(TECHNIQUES[key], 0.4, generator(0, 1, "p"), decay), {"a": -decay * w})["a"]
        for key in ("global_unstructured", "undecayed")
    )
    assert torch.equal(magnitude, undecayed)
