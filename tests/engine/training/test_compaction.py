"""Training on what pruning leaves: step by step the masked network's outputs, gradients, weights and masks."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import prune

from engine.networks.architectures import LeNet
from engine.pruning.masks import Cut, Masks, apply_masks, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.specs.checks import validate_spec
from engine.store.study import Study
from engine.training import compaction
from engine.training.compaction import TrainingNetwork, compacted_training, compacts, training_network
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, make_split
from tests.support.harness.turns import FULL, in_turn
from tests.support.networks.small_networks import image_side, small_network

NETWORKS = {
    "alexnet": torch.float32,
    "vgg11": torch.float32,
    "lenet": torch.float32,
    "resnet18": torch.float64,
    "resnet20": torch.float64,
}
"""What each is compared in: norms over eight images magnify how single precision rounds."""
N_LEVELS, N_STEPS = 20, 50
N_AT_ENDS, N_BETWEEN = (N_STEPS, N_STEPS) if FULL else (20, 2)
"""Steps at the first and the last level, and at those between."""
SPEC = RunSpec("cifar10", "alexnet", "l1_structured", batch_size=8, learning_rate=0.01)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def images_like(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    side = image_side(name)
    return draw.integers(0, 256, (n, 3, side, side)).astype(np.uint8), draw.integers(0, 10, n)


def split_of(name: str, n: int) -> Split:
    images, labels = images_like(name, n)
    return make_split(images, labels, images, image_side(name), torch.device("cpu"))


def trainable(name: str) -> nn.Module:
    """A small network with first weights as torch gives them, which learns without growing."""
    network = small_network(name)
    torch.manual_seed(1)
    for module in network.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    return network.to(memory_format=torch.channels_last).train()


def next_masks(network: nn.Module, masks: Masks, level: int, technique: str = "l1_structured") -> Masks:
    return cut_masks(prunable(network), masks, Cut(TECHNIQUES[technique], 0.2, generator(0, level, "prune")))


def assert_near(mine: Tensor, theirs: Tensor, what: str, share: float = 1e-6) -> None:
    """Equal to this share of the largest number, or of 1."""
    gap, size = float((mine - theirs).abs().max()), max(1.0, float(theirs.abs().max()))
    assert gap <= share * size, f"{what}: {gap:.2e} apart at a size of {size:.2e}"


def take_step(network: nn.Module, batch: tuple[Tensor, Tensor], seed: int) -> tuple[Tensor, dict[str, Tensor]]:
    """Outputs and gradients of one batch; what dropout draws follows from the seed."""
    torch.manual_seed(seed)
    outputs = network(batch[0])
    names = dict(network.named_parameters())
    gradients = torch.autograd.grad(functional.cross_entropy(outputs, batch[1]), list(names.values()))
    return outputs.detach(), dict(zip(names, gradients, strict=True))


def gradients_left(compact: TrainingNetwork, gradients: dict[str, Tensor]) -> dict[str, Tensor]:
    """Of the whole network's gradients, those of what the smaller one has and masks leave."""
    left: dict[str, Tensor] = {}
    for step in compact.plan.keeps:
        for kind in ("weight", "bias"):
            name = f"{step.target}.{kind}"
            if step.op != "call_module" or name not in gradients:
                continue
            part = gradients[name][compact.plan.keeps[step]]
            if part.dim() > 1:
                part = part[:, compact.plan.reads[step, step.all_input_nodes[0]]]
                part = part * compact.masks[f"inner.{name}"]
            left[f"inner.{name}"] = part
    return left


@pytest.mark.parametrize("name", in_turn(list(NETWORKS), 2))
def test_outputs_and_gradients_are_those_of_masked_training(name: str) -> None:
    """Half of the networks each day, twenty steps at the first and last level, two between; all, and fifty steps at
    each level, with PRUNESCOPE_FULL.

    Each level begins where masked training left it.
    """
    split, dtype = split_of(name, 64), NETWORKS[name]
    images = split.inputs(split.images).to(dtype)
    masked = trainable(name).to(dtype)
    masks = full_masks(masked)
    for level in range(1, N_LEVELS + 1):
        masks = next_masks(masked, masks, level)
        apply_masks(masked, masks)
        compact = training_network(copy.deepcopy(masked), images[:1], masks, decays=True)
        assert compact is not None
        small = compact.network
        for step in range(N_AT_ENDS if level in (1, N_LEVELS) else N_BETWEEN):
            rows = torch.arange(8) + 8 * (step % 8)
            batch = images[rows], split.labels[rows]
            expected, gradients = take_step(masked, batch, step)
            outputs, found = take_step(small, batch, step)
            assert_near(outputs, expected, f"{name}, level {level}, step {step}")
            left = gradients_left(compact, gradients)
            assert left.keys() == found.keys() - {"inner.idle", "idle"}
            for key, gradient in left.items():
                mine = found[key] * compact.masks[key] if key in compact.masks else found[key]
                assert_near(mine, gradient, f"{name}, level {level}, step {step}, {key}")
            with torch.no_grad():
                for network, grads in ((masked, gradients), (small, found)):
                    for key, parameter in network.named_parameters():
                        parameter.sub_(0.01 * grads[key])
            apply_masks(masked, masks)
            apply_masks(small, compact.masks)


def masks_by_torch(network: nn.Module, masks: Masks, level: int) -> Masks:
    """What `torch.nn.utils.prune` cuts next."""
    network = copy.deepcopy(network)
    found: Masks = {}
    for name, module in network.named_modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            prune.custom_from_mask(module, "weight", masks[f"{name}.weight"])
            prune.ln_structured(module, "weight", 0.2, n=1, dim=1)
            found[f"{name}.weight"] = module.weight_mask.bool()
    return found


@pytest.mark.parametrize(
    ("name", "momentum", "decay", "epoch"),
    in_turn(
        [
            ("alexnet", 0.0, 0.0, "last"),
            ("alexnet", 0.9, 0.01, "last"),
            ("alexnet", 0.9, 0.01, "best"),
            ("resnet20", 0.9, 0.01, "best"),
            ("vgg11", 0.9, 0.01, "last"),
        ],
        2,
    ),
)
def test_levels_come_out_as_masked_ones(
    name: str, momentum: float, decay: float, epoch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, masks and answers of every level, each trained from the one before; half of the cases each day, twenty
    levels of AlexNet's last, six of the others; all cases, and twenty levels of each, with PRUNESCOPE_FULL.

    A network with norms over few images magnifies rounding: there each level begins where masked training ended.
    """
    share = 1e-4 if name == "resnet20" else 1e-5
    spec = replace(SPEC, momentum=momentum, weight_decay=decay, learning_rate=0.002)
    split = split_of(name, 40)
    job = {"epochs": 2, "validation": split_of(name, 16) if epoch == "best" else None}
    ours, theirs = trainable(name), trainable(name)
    masks = full_masks(ours)
    for level in range(1, 1 + (N_LEVELS if FULL or (name, epoch) == ("alexnet", "best") else 6)):
        after = next_masks(ours, masks, level)
        assert all(torch.equal(after[key], mask) for key, mask in next_masks(theirs, masks, level).items())
        assert all(torch.equal(after[key], mask) for key, mask in masks_by_torch(theirs, masks, level).items())
        masks = after
        for network, smallest in ((ours, 0), (theirs, 10**12)):
            apply_masks(network, masks)
            monkeypatch.setattr(compaction, "SMALLEST", smallest)
            assert (compacted_training(network, split, masks, spec) is None) == bool(smallest)
            train_network(network, split, masks, TrainingJob(spec, generator=generator(0, level, "order"), **job))
        parameters = dict(theirs.named_parameters())
        for key, tensor in ours.named_parameters():
            assert_near(tensor.detach(), parameters[key].detach(), f"{name}, level {level}, {key}", share)
        with torch.no_grad():
            answers, expected = (network.eval()(split.inputs(split.images)) for network in (ours, theirs))
        assert_near(answers, expected, f"{name}, level {level}", share)
        if name == "resnet20":
            ours.load_state_dict(theirs.state_dict())


def test_small_networks_and_other_cuts_train_with_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    split, network = split_of("lenet", 20), LeNet(3, 28, 10)
    masks = next_masks(network, full_masks(network), 1)
    assert not compacts(SPEC, network, split)
    monkeypatch.setattr(compaction, "SMALLEST", 0)
    assert compacts(SPEC, network, split)
    assert compacted_training(network, split, masks, SPEC) is not None
    assert compacted_training(network, split, full_masks(network), SPEC) is None
    full = {"mitigation": "after", "constraint": "full"}
    for change in ({"technique": "l1_unstructured"}, {"schedule": "gradual"}, full):
        assert not compacts(replace(SPEC, **change), network, split)


class Drawing(LeNet):
    """A LeNet that drops whole maps."""

    def __init__(self) -> None:
        super().__init__(3, 28, 10)
        self.drop = nn.Dropout2d()

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(self.drop(images))


def test_dropout_that_cannot_draw_alike_trains_with_masks() -> None:
    network = Drawing()
    masks = next_masks(network, full_masks(network), 1)
    assert training_network(network, torch.randn(1, 3, 28, 28), masks) is None


def test_idle_weights_stay_and_decay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALLEST", 0)
    split, network = split_of("lenet", 40), LeNet(3, 28, 10)
    masks = next_masks(network, full_masks(network), 1)
    apply_masks(network, masks)
    idle = ~masks["conv2.weight"].any(3).any(2).any(0)
    before = network.conv1.weight[idle].clone()
    assert before.any()
    train_network(network, split, masks, TrainingJob(replace(SPEC, momentum=0.9), 1, generator(0, 1, "order")))
    assert torch.equal(network.conv1.weight[idle], before)
    spec = replace(SPEC, weight_decay=0.1)
    train_network(network, split, masks, TrainingJob(spec, 1, generator(0, 1, "order")))
    torch.testing.assert_close(network.conv1.weight[idle], before * (1 - 0.1 * spec.learning_rate) ** 5)


def test_provenance_says_how_levels_were_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = validate_spec(RunSpec("digits", "lenet", "l1_structured", levels=2, epochs=1))
    records = {}
    for smallest in (0, 10**12):
        monkeypatch.setattr(compaction, "SMALLEST", smallest)
        study = Study(tmp_path / str(smallest))
        run_experiment(spec, study, tmp_path, "cpu")
        records[smallest] = study.run_record(spec.key), study.prediction_matrix(spec.key)[1]
    compacted, masked = records.values()
    assert compacted[0].provenance["training"] == "compacted"
    assert "training" not in masked[0].provenance
    assert (compacted[1] == masked[1]).mean() > 0.99


def test_no_pointwise_convolution_strides() -> None:
    """Torch's gradients of such convolutions of fewer than eight channels write where they should not."""
    network = trainable("resnet18")
    masks = next_masks(network, full_masks(network), 1)
    compact = training_network(network, torch.randn(1, 3, 32, 32), masks)
    assert compact is not None
    for of_whole, side in ((True, network), (False, compact.network)):
        layers = [module for module in side.modules() if isinstance(module, nn.Conv2d)]
        assert of_whole == any(layer.kernel_size == (1, 1) and layer.stride == (2, 2) for layer in layers)
