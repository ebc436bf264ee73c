"""Mixed precision: another key, another result, weights in 32 bits; full precision is what it was."""

from dataclasses import replace

import pytest
import torch

from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS
from engine.pruning.masks import full_masks
from engine.run_spec import RunSpec, settings
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import make_split

SPEC = RunSpec("digits", "lenet", "global_unstructured", batch_size=16, learning_rate=0.05)
MIXED = replace(SPEC, precision="mixed")


def trained(spec: RunSpec) -> dict[str, torch.Tensor]:
    """Weights after two epochs on random images."""
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (64, 1, 28, 28), dtype=torch.uint8, generator=rng).numpy()
    labels = torch.randint(0, 10, (64,), generator=rng).numpy()
    split = make_split(images, labels, images, 28, torch.device("cpu"))
    torch.manual_seed(0)
    network = NETWORKS[spec.network].build(1, 28, 10)
    train_network(network, split, full_masks(network), TrainingJob(spec, 2, generator(0, 0, "test")))
    return network.state_dict()


def test_a_mixed_run_has_keys_of_its_own_and_others_keep_theirs() -> None:
    assert "precision" not in settings(SPEC)
    assert SPEC.key != MIXED.key and dense_key(SPEC) != dense_key(MIXED)
    with pytest.raises(PruneScopeError, match="precision"):
        validate_spec(replace(SPEC, precision="half"))


def test_mixed_training_is_close_to_full_and_not_the_same() -> None:
    full, mixed, again = trained(SPEC), trained(MIXED), trained(MIXED)
    assert all(tensor.dtype == full[key].dtype for key, tensor in mixed.items())
    assert all(torch.equal(tensor, again[key]) for key, tensor in mixed.items()), "the same twice"
    weights = [key for key, tensor in full.items() if tensor.dtype == torch.float32 and key.endswith("weight")]
    moved = [float((mixed[key] - full[key]).abs().max()) for key in weights]
    assert max(moved) > 0 and all(torch.isfinite(mixed[key]).all() for key in weights)
    assert max(moved) < 0.2
