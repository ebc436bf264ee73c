"""Networks in eight bits: near to the plain ones, much smaller on disk, and runs like any other."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn import functional

from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS
from engine.pruning.techniques import CONTROL, TECHNIQUES, untrained_techniques
from engine.run_spec import RunSpec
from engine.runs.checkpoints import load_states
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from engine.training.costs import file_sizes
from engine.training.device import reproducible
from engine.training.evaluation import evaluate_network
from engine.training.quantization import N_CALIBRATION, WAYS, exact_integer_products, quantize_network
from engine.training.split import make_split

TINY = RunSpec("digits", "lenet", "int8_static", "finetune", levels=2, epochs=3)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Runs of every technique that quantizes, and the two that prune alike."""
    study = Study(tmp_path_factory.mktemp("study"))
    names = [key for key, row in TECHNIQUES.items() if row.quantizes]
    for name in (*names, "global_unstructured", "l1_structured"):
        assert run_experiment(replace(TINY, technique=name), study, study.path, "cpu").computed
    return study


def run_of(study: Study, technique: str) -> str:
    return validate_spec(replace(TINY, technique=technique)).key


def test_rows_name_ways_that_exist() -> None:
    assert {row.quantizes for row in TECHNIQUES.values() if row.quantizes} == set(WAYS)
    idle = [row for row in TECHNIQUES.values() if row.cuts == "nothing"]
    assert all(row.is_control == row.trains_after == (row.key == CONTROL) for row in idle)
    assert untrained_techniques() == {row.key for row in idle} - {CONTROL} == {"int8_dynamic", "int8_static"}


@pytest.mark.parametrize(
    ("name", "way"), [("lenet", "int8_dynamic"), ("lenet", "int8_static"), ("resnet20", "int8_static")]
)
def test_a_quantized_network_says_almost_the_same_in_a_quarter_of_the_bytes(name: str, way: str) -> None:
    torch.manual_seed(0)
    network = NETWORKS[name].build(1, 28, 10)
    images = torch.randint(0, 256, (150, 1, 28, 28), dtype=torch.uint8).numpy()
    split = make_split(images, np.zeros(150, np.int64), images, 28, torch.device("cpu"))
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    made = quantize_network(network, way, split)
    with torch.no_grad():
        plain, small = network.eval()(split.inputs(split.images)), made.network(split.inputs(split.images))
    assert (small - plain).norm() < 0.1 * plain.norm() and not torch.equal(small, plain)
    assert all(torch.equal(tensor, before[key]) for key, tensor in network.state_dict().items())
    n_linear = sum(module.weight.numel() for module in network.modules() if isinstance(module, nn.Linear))
    n_all = sum(tensor.numel() for tensor in before.values())
    share = n_linear / n_all if way == "int8_dynamic" else 1
    assert file_sizes(made.tensors)["bytes"] < (1 - 0.7 * share) * file_sizes(before)["bytes"] + 8000


def test_dynamic_weights_are_rounded_rows_as_computed_by_hand() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 5))
    images = torch.randint(0, 256, (8, 1, 8, 8), dtype=torch.uint8).numpy()
    split = make_split(images, np.zeros(8, np.int64), images, 8, torch.device("cpu"))
    made = quantize_network(network, "int8_dynamic", split)
    weight = network[1].weight.detach()
    scale = weight.abs().amax(1, keepdim=True) / 127.5
    kept = {name.rpartition(".")[2]: tensor for name, tensor in made.tensors.items() if name.startswith("1.weight")}
    whole = next(tensor for tensor in kept.values() if tensor.dtype == torch.int8)
    assert (whole - (weight / scale).round().clamp(-128, 127)).abs().max() <= 1
    said = made.network(split.inputs(split.images))
    by_hand = functional.linear(split.inputs(split.images).flatten(1), whole * scale, network[1].bias.detach())
    assert (said - by_hand).abs().max() < 0.05 * by_hand.abs().max()


def test_calibration_sees_a_hundred_training_images_and_no_more() -> None:
    torch.manual_seed(0)
    network = NETWORKS["lenet"].build(1, 28, 10)
    images = torch.randint(0, 256, (N_CALIBRATION + 50, 1, 28, 28), dtype=torch.uint8)
    other = images.clone()
    other[N_CALIBRATION:] = 0
    kept = []
    for seen in (images, other):
        split = make_split(seen.numpy(), np.zeros(len(seen), np.int64), images.numpy(), 28, torch.device("cpu"))
        kept.append(quantize_network(network, "int8_static", split).network(split.inputs(split.images[:5])))
    assert torch.equal(*kept)


def test_sizes_are_those_of_the_file() -> None:
    tensors = {"a": torch.zeros(1000), "b": torch.randn(1000)}
    content = save(tensors)
    assert file_sizes(tensors)["bytes"] == len(content) and file_sizes(tensors)["bytes_zipped"] < len(content)
    assert torch.equal(load(content)["b"], tensors["b"])


def test_runs_record_sizes_and_stay_near_the_networks_they_quantize(digits: Study) -> None:
    levels = digits.levels().set_index(["run", "level"])
    for technique in untrained_techniques():
        run = run_of(digits, technique)
        size = digits.run_table(run, "sizes")
        assert size["level"].tolist() == [0, 1] and size["bytes"].iloc[1] < size["bytes"].iloc[0]
        assert levels.loc[(run, 1), "sparsity"] == 0
        assert abs(levels.loc[(run, 1), "accuracy"] - levels.loc[(run, 0), "accuracy"]) < 0.05
    both, pruned = run_of(digits, "global_unstructured_int8_static"), run_of(digits, "global_unstructured")
    assert (levels.loc[both, "n_kept"] == levels.loc[pruned, "n_kept"]).all()
    assert (levels.loc[both, "accuracy"] - levels.loc[pruned, "accuracy"]).abs().max() < 0.05
    zipped = digits.run_table(both, "sizes")["bytes_zipped"]
    assert (zipped.diff().dropna() < 0).all(), "zeros pack well"


def test_a_quantized_run_is_whole_and_the_same_twice(digits: Study, tmp_path: Path) -> None:
    assert verify_study(digits) == []
    again = Study(tmp_path)
    spec = validate_spec(TINY)
    run_experiment(spec, again, tmp_path, "cpu")
    for name in ("levels", "classes", "predictions", "sizes"):
        ours, theirs = (study.path / "runs" / spec.key / f"{name}.parquet" for study in (digits, again))
        assert ours.read_bytes() == theirs.read_bytes()


def test_level_one_is_the_quantized_dense_network(digits: Study, tmp_path: Path) -> None:
    spec = validate_spec(TINY)
    workspace = open_workspace(spec, tmp_path, "cpu")
    states = load_states(digits.dense_file(dense_key(spec)), torch.device("cpu"))
    assert states is not None
    network = workspace.new_network(spec)
    network.load_state_dict(states["trained"])
    with reproducible(workspace.device):
        quantized = quantize_network(network, "int8_static", workspace.training).network
        evaluation = evaluate_network(quantized, workspace.test)
    right = (evaluation.prediction == workspace.test.labels.numpy()).mean()
    levels = digits.levels()
    assert right == levels[(levels["run"] == spec.key) & (levels["level"] == 1)]["accuracy"].item()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"treatment": "rewind"}, "say 'finetune'"),
        ({"mitigation": "after"}, "'none' or 'before'"),
        ({"diagnose": ("class",)}, "no gradients to diagnose"),
        ({"technique": "global_unstructured_int8_static", "diagnose": ("class",)}, "no gradients to diagnose"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(PruneScopeError, match=said):
        validate_spec(replace(TINY, **change))  # type: ignore[arg-type]


def test_products_of_integers_are_exact() -> None:
    """Also where all of them are as large as eight bits allow, which AVX2's own instructions do not survive."""
    shapes = ((20, 300), (300, 24))
    for values in ((127, 127), (-128, -128), (-128, 127)):
        left, right = (torch.full(shape, value, dtype=torch.int8) for shape, value in zip(shapes, values, strict=True))
        with exact_integer_products():
            products = torch._int_mm(left, right)
        assert products.dtype == torch.int32 and (products == 300 * values[0] * values[1]).all()
    draw = torch.Generator().manual_seed(0)
    left, right = (torch.randint(-128, 128, shape, dtype=torch.int8, generator=draw) for shape in shapes)
    with exact_integer_products():
        assert torch.equal(torch._int_mm(left, right).long(), left.long() @ right.long())
