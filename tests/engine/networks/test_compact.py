"""Compaction: the answers of the masked network, and no channel left that could go."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from engine.networks.architectures import LeNet
from engine.networks.compact import compacted
from engine.networks.network_table import NETWORKS
from engine.pruning.masks import apply_masks
from engine.pruning.techniques import TECHNIQUES
from tests.support.harness.turns import FULL, cross_in_turn, in_turn
from tests.support.networks.small_networks import image_side, pruned_masks, small_network

CUTTING = [key for key, row in TECHNIQUES.items() if row.cuts != "nothing" and not row.quantizes]
SHARES = {"channels": (0.2, 0.5, 0.8), "weights": (0.5, 0.9, 0.98)}
N_INPUTS = 1000 if FULL else 200
DEEP = ("vgg19", "resnet50", "resnet32", "resnet44", "resnet56", "resnet110")
"""Networks that are like a shallower one."""
CASES = [
    *cross_in_turn([name for name in NETWORKS if name not in DEEP], CUTTING, 3),
    *cross_in_turn(DEEP, CUTTING, 7),
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small steps on two threads wait for each other, and for whoever else computes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def narrower_by(technique: str) -> int:
    """How much narrower a network is: FairGRAPE takes its weights one by one, and its masks cut single weights."""
    return 8 if FULL else 32 if TECHNIQUES[technique].needs_groups else 16


def inputs(name: str, n: int = N_INPUTS) -> Tensor:
    return torch.randn(n, 3, image_side(name), image_side(name), generator=torch.Generator().manual_seed(5))


def n_parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(("name", "technique"), CASES)
@torch.no_grad()
def test_answers_are_those_of_the_masked_network(name: str, technique: str) -> None:
    """A third of networks x techniques each day, a seventh of the deep ones; all with PRUNESCOPE_FULL, then wider and
    on 1000 images: what compaction goes by does not depend on width."""
    images = inputs(name)
    for share in SHARES[TECHNIQUES[technique].cuts]:
        network = small_network(name, narrower=narrower_by(technique))
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


# -- nothing is left that could go ------------------------------------------------------------------------------------


class Residual(nn.Module):
    """A residual stream that a second block reads in part, a padded shortcut, pooling, a norm, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.inner1, self.inner2 = nn.Conv2d(6, 5, 3), nn.Conv2d(5, 8, 1)
        self.inner3, self.inner4 = nn.Conv2d(8, 5, 1), nn.Conv2d(5, 8, 1)
        self.linear1, self.linear2 = nn.Linear(8 * 4, 7), nn.Linear(7, 4)

    def forward(self, images: Tensor) -> Tensor:
        maps = functional.relu(self.stem_norm(self.stem(images)))
        shortcut = functional.pad(maps[:, :, 1:-1, 1:-1], (0, 0, 0, 0, 0, 2))
        maps = functional.relu(self.inner2(functional.relu(self.inner1(maps))) + shortcut)
        maps = maps + self.inner4(functional.relu(self.inner3(maps)))
        flat = functional.max_pool2d(maps, 3).flatten(1)
        return self.linear2(functional.relu(self.linear1(flat)))


class Chain(nn.Sequential):
    """Convolutions with and without padding, average pooling, and linear layers."""

    def __init__(self) -> None:
        super().__init__(
            *(nn.Conv2d(3, 5, 3), nn.ReLU(inplace=True), nn.Conv2d(5, 6, 3, padding=1), nn.ReLU()),
            *(nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(6 * 9, 8), nn.Tanh(), nn.Linear(8, 4)),
        )


def random_cut(build: type[nn.Module], seed: int) -> nn.Module:
    """A small network of which channels and, in odd seeds, most single weights are cut."""
    torch.manual_seed(seed)
    network = build().eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)
            nn.init.normal_(module.bias)
        if isinstance(module, nn.Conv2d | nn.Linear):
            weight = module.weight.data
            kept = torch.rand(weight.shape[1]) < 0.6 if seed % 2 == 0 else torch.rand(weight.shape[1]) < 0.9
            weight[:, ~kept] = 0
            if seed % 2:
                weight[torch.rand(weight.shape[0]) < 0.4] = 0
                weight.mul_(torch.rand(weight.shape) < 0.6)
    return network


class Disturbed(fx.Interpreter):
    """Runs a network with the output of one step replaced by what a function makes of it; keeps all values."""

    def __init__(self, module: fx.GraphModule, name: str = "", change: object = None) -> None:
        super().__init__(module)
        self.name, self.change = name, change
        self.values: dict[str, Tensor] = {}

    def run_node(self, n: fx.Node) -> object:
        value = super().run_node(n)
        if n.op == "call_module" and n.name == self.name:
            value = self.change(value)
        if isinstance(value, Tensor):
            self.values[n.name] = value.clone()
        return value


def is_in_a_stream(network: fx.GraphModule, name: str) -> bool:
    """Whether the step's channels are added to others before anything weighs them."""
    todo = [node for node in network.graph.nodes if node.name == name]
    while todo:
        node = todo.pop()
        if "add" in node.name:
            return True
        weighs = node.op == "call_module" and isinstance(network.get_submodule(node.target), nn.Conv2d | nn.Linear)
        todo += [user for user in node.users if not weighs or node.name == name]
    return False


def feeds_padding(network: fx.GraphModule) -> set[str]:
    """Steps whose channels reach a convolution that pads: what is constant there cannot go into its bias."""
    found: set[str] = set()
    for node in network.graph.nodes:
        module = network.get_submodule(node.target) if node.op == "call_module" else None
        if isinstance(module, nn.Conv2d) and any(module.padding):
            todo = list(node.all_input_nodes)
            while todo:
                before = todo.pop()
                found.add(before.name)
                if not (before.op == "call_module" and isinstance(network.get_submodule(before.target), nn.Conv2d)):
                    todo += before.all_input_nodes
    return found


@pytest.mark.parametrize("build", [Residual, Chain, lambda: LeNet(3, 16, 4)], ids=["residual", "chain", "lenet"])
@pytest.mark.parametrize("seed", in_turn(range(12), 3))
@torch.no_grad()
def test_no_channel_is_left_that_could_go(build: type[nn.Module], seed: int) -> None:
    """Every channel of a layer that stayed has a say when it is disturbed, and differs between images; a third of the
    draws each day, all with PRUNESCOPE_FULL."""
    network = random_cut(build, seed)
    side = {"Chain": 8, "Residual": 8, "LeNet": 16}[type(network).__name__]
    images = 3 * torch.randn(200, 3, side, side)
    small = compacted(network, images[:2]).network
    assert isinstance(small, fx.GraphModule)
    expected = small(images)
    torch.testing.assert_close(expected, network(images), rtol=1e-5, atol=1e-5)
    plain = Disturbed(small)
    plain.run(images)
    for node in small.graph.nodes:
        layer = small.get_submodule(node.target) if node.op == "call_module" else None
        if not isinstance(layer, nn.Conv2d | nn.Linear) or plain.values[node.name].shape[1] == 1:
            continue  # torch takes no layer without an output
        is_free = node.name not in feeds_padding(small) and not is_in_a_stream(small, node.name)
        for channel in range(layer.weight.shape[0]):
            assert is_heard(small, node.name, channel, images, expected), f"nobody reads {node.name}, {channel}"
            if is_free and node.users and node is not list(small.graph.nodes)[-2]:
                values = plain.values[node.name][:, channel]
                assert bool((values != values[:1]).any()), f"{node.name}, {channel} never changes"


def is_heard(network: fx.GraphModule, step: str, channel: int, images: Tensor, expected: Tensor) -> bool:
    """Whether the network answers differently when this channel is far from what it is, upwards or downwards."""

    def change(value: Tensor, by: float) -> Tensor:
        other = value.clone()
        other[:, channel] += by
        return other

    answers = [Disturbed(network, step, lambda v, by=by: change(v, by)).run(images) for by in (50.0, -50.0)]
    return any(bool((answer != expected).any()) for answer in answers)


# -- what users are told ----------------------------------------------------------------------------------------------


def test_an_ignored_colour_is_told() -> None:
    network = LeNet(3, 28, 10)
    with torch.no_grad():
        network.conv1.weight[:, 1] = 0
    result = compacted(network, torch.randn(2, 3, 28, 28))
    assert result.notes[0] == "The model ignores colour channel 2 of 3 of its input."
    assert result.network(torch.randn(5, 3, 28, 28)).shape == (5, 10)
    assert result.network.conv1.in_channels == 2


def test_a_whole_network_stays_whole() -> None:
    result = compacted(LeNet(1, 28, 10), torch.randn(2, 1, 28, 28))
    assert result.notes == ("No channel could be removed without changing an answer.",)


class Choosy(LeNet):
    """A network whose code looks at its images."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images if images.sum() > 0 else -images)


def test_a_network_that_cannot_be_traced_comes_back_whole() -> None:
    network = Choosy(1, 28, 10)
    network.conv2.weight.data[:, 1] = 0
    result = compacted(network, torch.randn(2, 1, 28, 28))
    assert isinstance(result.network, Choosy)
    assert result.notes[0].startswith("Nothing was removed: the network's code could not be traced")


class Odd(nn.Module):
    """Steps that compaction does not know, between layers that it does."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3), nn.Conv2d(8, 8, 3, groups=2)
        self.linear = nn.Linear(8, 4)

    def forward(self, images: Tensor) -> Tensor:
        maps = functional.relu(self.conv2(functional.relu(self.conv1(images))))
        maps = self.conv3(functional.channel_shuffle(maps, 2))
        return self.linear(maps.amax((2, 3)).view(maps.size(0), -1))


@torch.no_grad()
def test_steps_that_are_not_known_read_everything() -> None:
    torch.manual_seed(0)
    network, images = Odd(), torch.randn(50, 3, 12, 12)
    network.conv2.weight[:, ::2] = 0
    network.linear.weight[:, ::2] = 0
    small = compacted(network, images[:2]).network
    torch.testing.assert_close(small(images), network(images), rtol=1e-5, atol=1e-6)
    assert small.conv1.out_channels == 4
    assert small.conv2.out_channels == small.conv3.out_channels == 8


@pytest.mark.parametrize("name", ["lenet", "alexnet", "resnet18", "resnet20"])
@torch.no_grad()
def test_compacted_networks_export_with_any_batch(name: str) -> None:
    network, images = small_network(name), inputs(name, 7)
    apply_masks(network, pruned_masks(network, "l1_structured", 0.5, images))
    small = compacted(network, images[:2]).network
    exported = torch.export.export(small, (images[:2],), dynamic_shapes=({0: torch.export.Dim("batch")},)).module()
    torch.testing.assert_close(exported(images), network(images), rtol=1e-4, atol=1e-5)
