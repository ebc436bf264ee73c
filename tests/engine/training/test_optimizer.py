"""Adam and AdamW step as torch's own optimisers do, keep cut weights at zero, and leave the keys of SGD alone."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional

from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS
from engine.pruning.masks import full_masks, prunable
from engine.run_spec import RunSpec, settings
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.specs.protocol import protocol
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, batches, make_split

SPEC = RunSpec("digits", "lenet", "global_unstructured", batch_size=16, learning_rate=0.003, weight_decay=0.01)
KINDS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def start() -> tuple[nn.Module, Split]:
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (64, 1, 28, 28), dtype=torch.uint8, generator=rng).numpy()
    labels = torch.randint(0, 10, (64,), generator=rng).numpy()
    torch.manual_seed(0)
    return NETWORKS["lenet"].build(1, 28, 10), make_split(images, labels, images, 28, torch.device("cpu"))


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_that_of_torch(kind: str) -> None:
    spec = replace(SPEC, optimizer=kind, rate_schedule="step")
    network, split = start()
    train_network(network, split, full_masks(network), TrainingJob(spec, 2, generator(0, 0, "test")))
    referee, split = start()
    optimizer = KINDS[kind](referee.parameters(), lr=spec.learning_rate, weight_decay=spec.weight_decay)
    order = generator(0, 0, "test")
    rates = iter([1.0] * 4 + [0.1] * 2 + [0.01] * 2)  # two epochs of four batches
    for _ in range(2):
        for images, labels in batches(split, spec, order):
            optimizer.param_groups[0]["lr"] = spec.learning_rate * next(rates)
            optimizer.zero_grad()
            functional.cross_entropy(referee(images), labels).backward()
            optimizer.step()
    for name, weight in network.state_dict().items():
        torch.testing.assert_close(weight, referee.state_dict()[name], rtol=1e-4, atol=1e-6)


def test_cut_weights_stay_at_zero() -> None:
    network, split = start()
    masks = {name: torch.rand_like(weight) > 0.7 for name, weight in prunable(network).items()}
    with torch.no_grad():
        for name, weight in prunable(network).items():
            weight.mul_(masks[name])
    train_network(network, split, masks, TrainingJob(replace(SPEC, optimizer="adam"), 2, generator(0, 0, "test")))
    for name, weight in prunable(network).items():
        assert bool((weight[~masks[name]] == 0).all()) and bool((weight[masks[name]] != 0).any())


def test_other_optimisers_have_keys_and_words_of_their_own_and_sgd_keeps_its() -> None:
    adam = replace(SPEC, optimizer="adam")
    assert "optimizer" not in settings(SPEC)
    assert SPEC.key != adam.key and dense_key(SPEC) != dense_key(adam)
    assert "optimizer adam" in protocol(adam)
    with pytest.raises(PruneScopeError, match="momentum has no meaning for the optimizer 'adam'"):
        validate_spec(replace(adam, momentum=0.9))
    with pytest.raises(PruneScopeError, match="optimizer"):
        validate_spec(replace(SPEC, optimizer="adma"))
