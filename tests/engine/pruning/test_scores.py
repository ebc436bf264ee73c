"""CHIP and FairGRAPE: their scores beside slow ones written from the papers, and cuts that follow them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS
from engine.pruning.masks import Cut, cut_masks, full_masks, prunable
from engine.pruning.scores import Scored, balanced_order, channel_independence, map_independence
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.store.verification.verify import verify_study
from engine.training.evaluation import group_importances
from engine.training.layer_maps import IMAGES, layer_grams
from engine.training.seeding import generator
from tests.engine.runs.test_run import ROOT, TINY, run_in

WORKSPACE = open_workspace(validate_spec(TINY), ROOT, "cpu")
BALANCED = replace(TINY, technique="fairgrape", treatment="finetune", balanced_group="class", levels=2)


def by_svd(maps: torch.Tensor) -> torch.Tensor:
    """CHIP as the paper writes it: the nuclear norm with and without each row, by singular values."""
    scores = []
    for channel in range(maps.shape[1]):
        without = maps.clone()
        without[:, channel] = 0
        scores.append((torch.linalg.svdvals(maps).sum(1) - torch.linalg.svdvals(without).sum(1)).mean())
    return torch.stack(scores)


@pytest.mark.parametrize("shape", [(1, 3, 4), (7, 6, 40), (5, 16, 9), (3, 4, 1)])
def test_independence_equals_the_form_by_singular_values(shape: tuple[int, int, int]) -> None:
    maps = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    grams = maps @ maps.transpose(1, 2)
    torch.testing.assert_close(map_independence(grams), by_svd(maps), rtol=1e-6, atol=1e-6)


def test_independence_of_three_maps_by_hand() -> None:
    """Two equal maps and one at a right angle: norms 2 sqrt(2) + 3 of all, 2 + 3 without a twin, 2 sqrt(2) without."""
    maps = torch.tensor([[[2.0, 0, 0, 0], [2, 0, 0, 0], [0, 0, 3, 0]]], dtype=torch.float64)
    twin = 2 * 2**0.5 - 2
    expected = torch.tensor([twin, twin, 3.0], dtype=torch.float64)
    torch.testing.assert_close(map_independence(maps @ maps.transpose(1, 2)), expected)
    torch.testing.assert_close(by_svd(maps), expected)


def test_inputs_of_one_channel_are_ordered_by_their_weights() -> None:
    maps = torch.diag(torch.tensor([5.0, 1.0], dtype=torch.float64))[None]
    weights = torch.tensor([[1.0, 3.0, 9.0, 2.0]])
    scored = Scored(weights, None, 0.0, generator(0, 1, "p"), grams=maps @ maps, channels=torch.tensor([0, 0, 1, 1]))
    assert channel_independence(scored).tolist() == [2, 3, 1, 0]


def test_grams_are_of_what_layers_see_of_training_images() -> None:
    network = WORKSPACE.new_network(TINY)
    masks = full_masks(network)
    masks["conv2.weight"][:, 2] = False
    grams = layer_grams(network, WORKSPACE.training, masks)
    assert {name: tuple(gram.shape) for name, gram in grams.items()} == {
        "conv2.weight": (IMAGES, 6, 6),
        "linear1.weight": (IMAGES, 16, 16),
    }
    network.eval()
    with torch.no_grad():
        images = WORKSPACE.training.inputs(WORKSPACE.training.images[:3])
        maps = functional.relu(functional.max_pool2d(network.conv1(images), 2)).flatten(2).double()
    maps[:, 2] = 0
    torch.testing.assert_close(grams["conv2.weight"][:3], maps @ maps.transpose(1, 2))
    assert all(not module._forward_pre_hooks for module in network.modules())


@pytest.mark.parametrize(("name", "layers"), [("resnet20", 18), ("vgg11", 8)])
def test_layers_that_see_no_maps_have_no_grams(name: str, layers: int) -> None:
    network = NETWORKS[name].build(1, 32, 10)
    split = replace(WORKSPACE.training, stored=WORKSPACE.training.images[:2], rows=None, size=32)
    grams = layer_grams(network, split, full_masks(network))
    assert len(grams) == layers and next(iter(prunable(network))) not in grams


def test_chip_cuts_the_maps_that_others_replace_and_leaves_the_images() -> None:
    network = WORKSPACE.new_network(TINY)
    masks = full_masks(network)
    grams = layer_grams(network, WORKSPACE.training, masks)
    after = cut_masks(prunable(network), masks, Cut(TECHNIQUES["chip"], 0.5, generator(0, 1, "p"), grams=grams))
    assert after["conv1.weight"].all()
    lost = map_independence(grams["conv2.weight"]).argsort()[:3]
    assert set((~after["conv2.weight"].any(0)).flatten(1).all(1).nonzero().flatten().tolist()) == set(lost.tolist())
    l1 = prunable(network)["linear2.weight"].detach().abs().sum(0).argsort()[:60]
    assert set((~after["linear2.weight"].any(0)).nonzero().flatten().tolist()) == set(l1.tolist())


def by_scanning(importances: np.ndarray) -> list[int]:
    """FairGRAPE with every share and every best weight found anew by looking at all of them."""
    n_groups, n_weights = importances.shape
    before = [importances[group].sum() / importances.sum() for group in range(n_groups)]
    kept: list[int] = []
    while len(kept) < n_weights:
        whole = importances[:, kept].sum()
        shares = [importances[group, kept].sum() / whole if kept else 0.0 for group in range(n_groups)]
        poorest = min(range(n_groups), key=lambda group: (round(shares[group] - before[group], 12), group))
        left = [weight for weight in range(n_weights) if weight not in kept]
        kept.append(max(left, key=lambda weight: (importances[poorest, weight], -weight)))
    return kept


@pytest.mark.parametrize("seed", range(6))
def test_greedy_order_equals_brute_force_on_a_small_layer(seed: int) -> None:
    draw = np.random.default_rng(seed)
    importances = draw.exponential(size=(2 + seed % 3, 12 * 5)) * draw.exponential(size=(1, 60))
    assert balanced_order(importances).tolist() == by_scanning(importances)


def test_greedy_order_by_hand() -> None:
    importances = np.array([[8.0, 4.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    # Group 0 has 14 of 20. First its best; then group 1 is at 0 of 0.3; with 3 of 11 it is at 0.27 and behind again.
    assert balanced_order(importances).tolist() == [0, 3, 2, 1]


def test_importances_are_sums_of_squares_over_batches_of_each_group() -> None:
    groups = torch.arange(300) % 3 - 1  # a third belongs to no group
    split = replace(WORKSPACE.training.part(torch.arange(300)), groups=groups)
    network = WORKSPACE.new_network(TINY)
    found = group_importances(network, split, batch_size=64)
    weight = network.conv2.weight
    for code in (0, 1):
        members = split.part((groups == code).nonzero().flatten())
        expected = torch.zeros_like(weight)
        for rows in torch.split(torch.arange(100), 64):
            part = members.part(rows)
            loss = functional.cross_entropy(network(part.inputs(part.images)), part.labels)
            expected += (weight * torch.autograd.grad(loss, weight)[0]) ** 2
        torch.testing.assert_close(found["conv2.weight"][code], expected.detach().flatten())
    assert {len(rows) for rows in found.values()} == {2}


@pytest.mark.parametrize("spec", [replace(TINY, technique="chip", levels=3), BALANCED], ids=lambda spec: spec.technique)
def test_run_cuts_and_is_recorded_whole(spec: RunSpec, tmp_path: Path) -> None:
    study = run_in(tmp_path, spec)
    levels = study.levels()
    assert levels["sparsity"].is_monotonic_increasing and levels["sparsity"].iloc[-1] > 0.3
    assert verify_study(study) == []


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_every_group_keeps_nearer_its_share_than_by_magnitude(share: float) -> None:
    network, draw = nn.Sequential(nn.Linear(40, 20)), torch.Generator().manual_seed(1)
    importances = torch.rand(3, 800, generator=draw) ** 4
    importances[0] *= network[0].weight.detach().flatten().abs()  # large weights matter to one group above all

    def distance(technique: str) -> float:
        cut = Cut(TECHNIQUES[technique], share, generator(0, 1, "p"), importances={"0.weight": importances})
        masks = cut_masks(prunable(network), full_masks(network), cut)
        kept = importances[:, masks["0.weight"].flatten()].sum(1)
        return float((kept / kept.sum() - importances.sum(1) / importances.sum()).abs().max())

    assert distance("fairgrape") < 0.2 * distance("l1_unstructured")


def test_fairgrape_without_groups_is_refused_with_what_to_name() -> None:
    with pytest.raises(PruneScopeError) as refusal:
        validate_spec(replace(BALANCED, balanced_group=""))
    assert str(refusal.value) == (
        "balanced_group is missing; the technique 'fairgrape' keeps groups in balance, so name one of class."
    )
    with pytest.raises(PruneScopeError, match="name one of class, series, writer"):
        validate_spec(replace(BALANCED, dataset="qmnist", balanced_group=""))
    with pytest.raises(PruneScopeError, match="grouping of digits 'series'"):
        validate_spec(replace(BALANCED, balanced_group="series"))
