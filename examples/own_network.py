"""A network and data of your own, pruned level by level; `prunescope serve my-study` then shows who pays."""

from dataclasses import replace

import numpy as np
from torch import nn

import prunescope as ps


def network(channels: int, side: int, n_classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * side**2, 64), nn.ReLU(), nn.Linear(64, n_classes))


def stripes() -> ps.Dataset:
    rng = np.random.default_rng(0)
    labels, region = rng.integers(0, 4, 4000), rng.choice(["rural", "urban"], 4000, p=[0.2, 0.8])
    noise = rng.normal(0, np.where(region == "rural", 250, 120)[:, None, None], (4000, 12, 12))
    images = 128 + 90 * np.sin(np.arange(12) * (labels[:, None, None] + 1) / 2) + noise
    return ps.image_dataset(images.clip(0, 255), labels, test=rng.random(4000) < 0.5, groups={"region": region})


if __name__ == "__main__":
    study = ps.Study("my-study")
    spec = ps.RunSpec("own_network:stripes", "own_network:network", "global_unstructured", levels=16, epochs=3)
    study.sweep([replace(spec, seed=seed) for seed in range(4)], workers=2)
    print(study.points(fair_between="region")[["sparsity", "accuracy", "max_min", "worst_class"]])
