"""Torch-Pruning removes whole channels; each smaller network is recorded as it comes."""

from collections.abc import Iterator

import torch
import torch_pruning as tp
from torch import nn
from watch_pruning import fit, ink, test

import prunescope as ps


def pruning_loop(seed: int) -> Iterator[nn.Module]:
    """The dense network, then one with fewer units after each step."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    fit(model, 10)
    yield model
    pruner = tp.pruner.MagnitudePruner(
        model,
        torch.zeros(1, 64),
        importance=tp.importance.MagnitudeImportance(p=2),
        iterative_steps=3,
        pruning_ratio=0.75,
        ignored_layers=[model[-1]],
    )
    for _ in range(3):
        pruner.step()
        fit(model, 2)
        yield model


if __name__ == "__main__":
    study = ps.Study("watched-study")
    about = {"study": study, "groups": {"ink": ink[900:]}, "dataset": "digits-8x8", "network": "mlp-64-32"}
    for seed in range(3):
        for model in ps.watch(pruning_loop(seed), test, technique="units", seed=seed, treatment="finetune", **about):
            print(seed, [layer.out_features for layer in model if isinstance(layer, nn.Linear)])
    print(study.points(fair_between="ink")[["technique", "sparsity", "accuracy", "max_min"]])
