"""A pruning loop of your own with torch.nn.utils.prune: every step is recorded, and the pages show who pays."""

from collections.abc import Iterator

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

import prunescope as ps

images, labels = load_digits(return_X_y=True)
ink = np.where(images.mean(1) > np.median(images.mean(1)), "dark ink", "light ink")
rows = TensorDataset(torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels))
train = DataLoader(torch.utils.data.Subset(rows, range(900)), batch_size=64, shuffle=True)
test = DataLoader(torch.utils.data.Subset(rows, range(900, len(labels))), batch_size=256)


def fit(model: nn.Module, epochs: int) -> None:
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(epochs):
        for inputs, truth in train:
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(inputs), truth).backward()
            optimiser.step()


def pruning_loop(seed: int) -> Iterator[nn.Module]:
    """The dense network, then one with fewer weights after each step."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    fit(model, 10)
    yield model
    weights = [(layer, "weight") for layer in model if isinstance(layer, nn.Linear)]
    for _ in range(4):
        prune.global_unstructured(weights, prune.L1Unstructured, amount=0.5)
        fit(model, 2)
        yield model


if __name__ == "__main__":
    study = ps.Study("watched-study")
    about = {"study": study, "groups": {"ink": ink[900:]}, "dataset": "digits-8x8", "network": "mlp-48"}
    for seed in range(3):
        loop = pruning_loop(seed)
        for model in ps.watch(loop, test, technique="global-l1", seed=seed, treatment="finetune", **about):
            print(seed, *(int((layer.weight != 0).sum()) for layer in model if isinstance(layer, nn.Linear)))
    print(study.points(fair_between="ink")[["technique", "sparsity", "accuracy", "max_min"]])
