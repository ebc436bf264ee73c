"""Diagnostics: eigenvalues equal exact ones, gradient norms autograd's, groups that cannot be measured are named."""

import copy
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from pyhessian import hessian
from torch import nn
from torch.nn import functional

from engine.datasets.dataset import Dataset, ImageSet
from engine.datasets.groups import Grouping, grouping
from engine.errors import PruneScopeError
from engine.fairness.curvature import gradient_and_logits, hessian_product, lanczos_start, largest_eigenvalue, trainable
from engine.fairness.diagnostics import (
    NO_MEMBER,
    ONE_CLASS,
    ONE_MEMBER,
    Diagnosis,
    Effort,
    draw_samples,
    loss_bound,
    measure_group,
)
from engine.networks.architectures import LeNet
from engine.networks.network_table import NETWORKS
from engine.pruning.masks import full_masks
from engine.pruning.schedules import PlannedLevel
from engine.run_spec import RunSpec
from engine.runs.level import level_result
from engine.runs.workspace import Workspace, open_workspace
from engine.specs.arithmetic import EAGER, SETTING
from engine.specs.checks import validate_spec
from engine.training.device import reproducible
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, make_split

SPEC = RunSpec("digits", "lenet", "global_unstructured", epochs=1, learning_rate=0.2, batch_size=64)
EXACT = Effort(members=500, hessian_members=500, products=200, tolerance=1e-5)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Several wait for each other longer than these small networks take."""
    with reproducible(torch.device("cpu")):
        yield


def noise_split(n: int, side: int = 6, n_classes: int = 3, seed: int = 0) -> Split:
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 256, (n, 1, side, side)).astype(np.uint8)
    return make_split(images, draw.integers(0, n_classes, n), images, side, torch.device("cpu"))


def small_network(side: int = 6, n_classes: int = 3) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2 * (side - 2) ** 2, 5),
        nn.Tanh(),
        nn.Linear(5, n_classes),
    )


def exact_hessian(network: nn.Module, split: Split) -> torch.Tensor:
    """The dense Hessian of the mean loss by torch, without a line of ours."""
    names = [name for name, _ in network.named_parameters()]
    values = [parameter.detach() for parameter in network.parameters()]
    inputs = split.inputs(split.images)

    def loss(vector: torch.Tensor) -> torch.Tensor:
        parts = vector.split([value.numel() for value in values])
        state = {n: part.view(value.shape) for n, part, value in zip(names, parts, values, strict=True)}
        return functional.cross_entropy(torch.func.functional_call(network, state, (inputs,)), split.labels)

    return torch.autograd.functional.hessian(loss, torch.cat([value.flatten() for value in values]))


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return open_workspace(validate_spec(SPEC), Path("unused"), "cpu")


@pytest.fixture(scope="module")
def trained(workspace: Workspace) -> nn.Module:
    network = workspace.new_network(SPEC)
    train_network(network, workspace.training, full_masks(network), TrainingJob(SPEC, 4, generator(0, 0, "order")))
    return network


@pytest.mark.parametrize("n", [2, 40])
def test_eigenvalue_equals_the_dense_hessians(n: int) -> None:
    network, split = small_network(), noise_split(n)
    exact = float(torch.linalg.eigvalsh(exact_hessian(network, split))[-1])
    assert measure_group(network, split, EXACT, generator(0, 0, "l")).eigenvalue == pytest.approx(exact, rel=1e-3)


def test_product_in_chunks_equals_the_product_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network, split = small_network(), noise_split(40)
    exact = exact_hessian(network, split)
    vector = torch.randn(len(exact), generator=generator(0, 0, "v"))
    torch.testing.assert_close(hessian_product(network, split)(vector), exact @ vector, rtol=1e-3, atol=1e-5)
    monkeypatch.setattr("engine.fairness.curvature.LARGEST_CHUNK", 9)
    torch.testing.assert_close(hessian_product(network, split)(vector), exact @ vector, rtol=1e-3, atol=1e-5)


def test_lanczos_finds_the_largest_not_the_strongest() -> None:
    matrix = torch.diag(torch.tensor([-9.0, 4.0, 3.9, 1.0, 0.0]))
    found = largest_eigenvalue(lambda vector: matrix @ vector, torch.ones(5), 5, 1e-6)
    assert found.value == pytest.approx(4, abs=1e-4)


def test_measures_equal_autograd_and_softmax_by_hand(workspace: Workspace, trained: nn.Module) -> None:
    members = workspace.training.part(torch.from_numpy(np.flatnonzero(workspace.training.labels.numpy() == 8)))
    found = measure_group(trained, members, EXACT, generator(0, 0, "l"))
    network = copy.deepcopy(trained).eval()
    logits = network(members.inputs(members.images))
    loss = functional.cross_entropy(logits, members.labels)
    slopes = torch.autograd.grad(loss, list(network.parameters()))
    squares = sum(float(slope.square().sum()) for slope in slopes)
    chances = logits.detach().softmax(1).numpy()
    ordered = np.sort(chances, 1)
    assert found.gradient_norm == pytest.approx(np.sqrt(squares), rel=1e-4)
    assert found.loss == pytest.approx(loss.item(), rel=1e-5)
    assert found.margin == pytest.approx((ordered[:, -1] - ordered[:, -2]).mean(), rel=1e-4)
    assert found.closeness == pytest.approx((1 - (chances**2).sum(1)).mean(), rel=1e-3)


@pytest.mark.parametrize("label", [0, 8])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_pyhessian_agrees_on_lenet(workspace: Workspace, trained: nn.Module, label: int) -> None:
    members = workspace.training.part(torch.from_numpy(np.flatnonzero(workspace.training.labels.numpy() == label)))
    theirs = hessian(
        copy.deepcopy(trained),
        nn.CrossEntropyLoss(),
        data=(members.inputs(members.images), members.labels),
        cuda=False,
    ).eigenvalues(maxIter=300, tol=1e-5)[0][0]
    assert measure_group(trained, members, EXACT, generator(0, 0, "l")).eigenvalue == pytest.approx(theirs, rel=1e-2)
    usual = measure_group(trained, members, Effort(500, 500), generator(0, 0, "l")).eigenvalue
    assert usual == pytest.approx(theirs, rel=2e-2)


@pytest.mark.parametrize("key", ["lenet", "resnet18", "resnet20"])  # the others have the same layers, and are slow
def test_every_network_can_be_diagnosed(key: str) -> None:
    size = 16 if key == "lenet" else 32
    torch.manual_seed(0)
    network = NETWORKS[key].build(1, size, 3)
    split = noise_split(4, size)
    found = measure_group(network, split, Effort(4, 2, 1), generator(0, 0, "l"))
    assert np.isfinite(list(vars(found).values())).all()


def test_groups_that_cannot_be_measured_are_named_with_the_reason() -> None:
    groups = Grouping("series", ("many", "none", "one", "same"), np.array([0, 0, 0, 2, 3, 3, -1]), np.array([0, 1, 2]))
    labels = np.array([0, 1, 0, 1, 2, 2, 0])
    samples = draw_samples(groups, labels, Effort(members=2), generator(0, 0, "s"))
    assert [(s.group, s.n, s.reason) for s in samples] == [
        ("many", 3, ""),
        ("none", 0, NO_MEMBER),
        ("one", 1, ONE_MEMBER),
        ("same", 2, ONE_CLASS),
    ]
    assert [len(sample.rows) for sample in samples] == [2, 0, 0, 0]


def test_a_class_is_of_one_class_and_measured_all_the_same() -> None:
    groups = Grouping("class", ("a", "b"), np.array([0, 0, 1]), np.array([0]))
    samples = draw_samples(groups, groups.training, Effort(), generator(0, 0, "s"))
    assert [sample.reason for sample in samples] == ["", ONE_MEMBER]


def test_a_group_of_the_test_side_only_is_among_the_names() -> None:
    def side(values: list[str | None]) -> ImageSet:
        n = len(values)
        return ImageSet(np.zeros((n, 1, 2, 2), np.uint8), np.zeros(n, int), pd.DataFrame({"series": values}))

    dataset = Dataset("folder", "official", ("x",), side(["b", "a", None]), side(["c", "a"]))
    found = grouping(dataset, "series", np.array([2, 0]))
    assert found.names == ("a", "b", "c")
    assert found.training.tolist() == [-1, 1] and found.test.tolist() == [2, 0]
    with pytest.raises(PruneScopeError, match="did you mean 'series'"):
        grouping(dataset, "serie", np.array([0]))


def test_bound_by_hand() -> None:
    assert loss_bound(2.0, 10.0, 0.5) == pytest.approx(2 * 0.5 + 10 * 0.25 / 2)


def test_bound_holds_for_a_small_change_and_rows_compare_with_dense(workspace: Workspace, trained: nn.Module) -> None:
    labels = workspace.dataset.test.labels
    result = level_result(trained, workspace, PlannedLevel(0, 0.0, 0.0), full_masks(trained))
    diagnosis = Diagnosis(workspace.training, [workspace.grouping("class")], 0, Effort(500, 500, 20, 1e-2))
    dense = pd.DataFrame(diagnosis.rows(trained, result, labels))
    assert (dense["excessive_loss"] == 0).all() and (dense["bound"] == 0).all() and (dense["weight_change"] == 0).all()
    moved = copy.deepcopy(trained)
    with torch.no_grad():
        for parameter in trainable(moved):
            parameter.add_(1e-4 * torch.randn(parameter.shape, generator=generator(0, 0, "move")))
    after = pd.DataFrame(diagnosis.rows(moved, result, labels))
    distance = torch.cat(
        [(a - b).detach().flatten() for a, b in zip(moved.parameters(), trained.parameters(), strict=True)]
    )
    np.testing.assert_allclose(after["weight_change"], float(distance.norm()), rtol=1e-4)
    np.testing.assert_allclose(after["excessive_loss"], after["loss"] - dense["loss"])
    assert (after["excessive_loss"] <= after["bound"]).all()
    assert dense["test_n"].sum() == len(labels)
    assert dense["test_correct"].sum() == (result.prediction == labels).sum()


def test_the_gradient_of_a_class_starts_lanczos_well(workspace: Workspace, trained: nn.Module) -> None:
    members = workspace.training.part(torch.from_numpy(np.flatnonzero(workspace.training.labels.numpy() == 3)))
    slope, _ = gradient_and_logits(trained, members)
    product = hessian_product(trained, members)
    start = lanczos_start(slope, generator(0, 0, "l"))
    few, many = (largest_eigenvalue(product, start, n, 0.0).value for n in (6, 40))
    assert few == pytest.approx(many, rel=0.05)


@pytest.mark.quiet
def test_ten_groups_of_lenet_take_less_than_a_quarter_of_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """QMNIST's 23,960 training images of 28 x 28, by torch's own step; what is in the pixels hardly matters."""
    monkeypatch.setenv(SETTING, EAGER)
    split = noise_split(23_960, 28, 10)
    torch.manual_seed(0)
    network = LeNet(1, 28, 10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    spec = RunSpec("qmnist", "lenet", "global_unstructured")
    few = split.part(torch.arange(len(split) // 12))
    train_network(network, few, full_masks(network), TrainingJob(spec, 1, generator(0, 0, "order")))
    groups = Grouping("class", tuple("0123456789"), split.labels.numpy(), split.labels.numpy()[:1])
    samples = draw_samples(groups, split.labels.numpy(), Effort(), generator(0, 0, "s"))

    def epoch() -> None:
        train_network(network, few, full_masks(network), TrainingJob(spec, 1, generator(0, 1, "order")))

    def diagnose() -> None:
        for sample in samples:
            measure_group(network, split.part(sample.rows), Effort(), generator(0, 0, sample.group))

    def seconds(act: object) -> float:
        begun = time.process_time()
        act()  # type: ignore[operator]
        return time.process_time() - begun

    diagnosed, trained = zip(*((seconds(diagnose), seconds(epoch)) for _ in range(6)), strict=True)
    assert min(diagnosed) / (12 * min(trained)) < 0.25
