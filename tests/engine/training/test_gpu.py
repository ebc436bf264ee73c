"""What only a GPU does: no step mixes devices or reads from one; a captured step is bit for bit the eager one.

The first is shown here by fake tensors, which have a device and no numbers; the second where there is a GPU.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from engine.networks.network_table import NETWORKS
from engine.pruning.masks import full_masks, prunable
from engine.run_spec import RunSpec
from engine.training import captured_gradients, loop
from engine.training.captured_gradients import CapturedGradients, can_be_captured
from engine.training.loop import TrainingJob, _EagerStep, train_network
from engine.training.seeding import generator
from engine.training.split import Split, batches, make_split
from tests.support.harness.turns import in_turn

CUDA = torch.device("cuda")
SPEC = RunSpec(
    "digits", "lenet", "global_unstructured", batch_size=8, momentum=0.9, weight_decay=5e-4, crop=2, flip=True
)
N, SIDE = 20, 64


def fake_split(device: str, labels_on: str = "") -> Split:
    """A split of fake images; made inside a fake mode."""
    images = torch.zeros(N, 3, SIDE, SIDE, dtype=torch.uint8, device=device)
    scale = torch.ones(1, 3, 1, 1, device=device)
    return Split(images, torch.zeros(N, dtype=torch.long, device=labels_on or device), scale, scale, SIDE)


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A GPU of fake tensors. Torch's own engine of gradients asks for a real one, so that gradients are zeros."""

    def zeros(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
        assert loss.device.type == "cuda" and loss.requires_grad
        return [torch.zeros_like(parameter) for parameter in parameters]

    monkeypatch.setattr(torch.autograd, "grad", zeros)
    monkeypatch.setattr(loop, "can_be_captured", lambda *known: False)
    with FakeTensorMode():
        yield


def one_epoch(network: nn.Module, split: Split, spec: RunSpec) -> None:
    """Every step of an epoch, half of the weights cut."""
    step = _EagerStep(network, TrainingJob(spec, 1, torch.Generator().manual_seed(0)))
    step.factors = [torch.ones_like(weight) for weight in step.weights]
    for batch in batches(split, spec, torch.Generator().manual_seed(0)):
        step.take(batch, 0.1)


@pytest.mark.parametrize("name", in_turn(list(NETWORKS), 3))
def test_no_step_mixes_devices_or_reads_from_one(name: str, fake_gpu: None) -> None:
    with CUDA:
        network = NETWORKS[name].build(3, SIDE, 10)
    network.train()
    one_epoch(network, fake_split("cuda"), replace(SPEC, network=name))


def test_a_mix_of_devices_and_a_read_are_seen(fake_gpu: None) -> None:
    with CUDA:
        network = NETWORKS["lenet"].build(3, SIDE, 10)
    with pytest.raises(RuntimeError, match="same device"):
        one_epoch(network, fake_split("cuda", labels_on="cpu"), SPEC)
    reads = nn.Sequential(network, _Reads())
    with pytest.raises(DataDependentOutputException):
        one_epoch(reads, fake_split("cuda"), SPEC)


class _Reads(nn.Module):
    """A layer that looks at a number, which makes the processor wait for the GPU."""

    def forward(self, values: Tensor) -> Tensor:
        return values if bool(values.sum() > 0) else -values


def test_what_cannot_be_captured_is_not() -> None:
    plain, drops = NETWORKS["lenet"].build(1, 28, 10), nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    assert can_be_captured(plain, SPEC, CUDA, has_objective=False)
    assert not can_be_captured(plain, SPEC, torch.device("cpu"), has_objective=False)
    assert not can_be_captured(plain, SPEC, CUDA, has_objective=True)
    assert not can_be_captured(plain, replace(SPEC, precision="mixed"), CUDA, has_objective=False)
    assert not can_be_captured(drops, SPEC, CUDA, has_objective=False)
    assert not can_be_captured(nn.Sequential(plain, _Reads()), SPEC, CUDA, has_objective=False)


class _Recorded:
    """In place of a CUDA graph: computes the batch when it is played, and counts."""

    def __init__(self, owner: CapturedGradients) -> None:
        self.owner, self.n_played = owner, 0

    def replay(self) -> None:
        self.n_played += 1
        self.owner._gradients = tuple(self.owner._eager(self.owner._images, self.owner._labels))


def test_batches_of_the_first_ones_shape_are_played_and_others_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of things, without a GPU: what is captured is played by a stand-in."""

    def capture(self: CapturedGradients, images: Tensor, labels: Tensor) -> _Recorded:
        self._images, self._labels = images.clone(), labels.clone()
        return _Recorded(self)

    monkeypatch.setattr(CapturedGradients, "_warm_up", lambda self, images, labels: _counted(self, images, labels))
    monkeypatch.setattr(CapturedGradients, "_capture", capture)
    split, made = random_split(torch.device("cpu")), list[CapturedGradients]()

    def captured(eager: captured_gradients.Gradients) -> CapturedGradients:
        made.append(CapturedGradients(eager))
        return made[-1]

    eager = trained(split, "resnet20")
    monkeypatch.setattr(loop, "can_be_captured", lambda *known: True)
    monkeypatch.setattr(loop, "CapturedGradients", captured)
    assert_equal(eager, trained(split, "resnet20"))
    (one,) = made
    assert isinstance(one._graph, _Recorded) and one._graph.n_played == 2 * 3 * 2 - captured_gradients.N_EAGER


def _counted(captured: CapturedGradients, images: Tensor, labels: Tensor) -> Sequence[Tensor]:
    captured._n_left -= 1
    return captured._eager(images, labels)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["lenet", "resnet18"])
def test_a_captured_step_is_the_eager_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    split = random_split(CUDA)
    captured = trained(split, name)
    monkeypatch.setattr(loop, "can_be_captured", lambda *known: False)
    assert_equal(captured, trained(split, name))


def random_split(device: torch.device) -> Split:
    """A few random images: two whole batches and a part of one an epoch."""
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (N, 1, 28, 28), dtype=torch.uint8, generator=rng).numpy()
    return make_split(images, torch.randint(0, 10, (N,), generator=rng).numpy(), images, 28, device)


def trained(split: Split, name: str) -> dict[str, Tensor]:
    """A network after six epochs, a tenth of each layer's weights cut."""
    torch.manual_seed(0)
    network = NETWORKS[name].build(1, 28, 10).to(split.labels.device)
    masks = full_masks(network)
    for name_of, weight in prunable(network).items():
        masks[name_of].view(-1)[: weight.numel() // 10] = False
    train_network(network, split, masks, TrainingJob(replace(SPEC, network=name), 6, generator(0, 0, "test")))
    return network.state_dict()


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    """Refuse weights that differ in a bit."""
    assert all(torch.equal(tensor, other[key]) for key, tensor in one.items())
