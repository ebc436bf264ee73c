"""Prune my model: a trained network that a user brings is the dense level, answer for answer."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import prunescope as ps
from engine.commands import main
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.runs.given_weights import keep_weights
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.store.study import Study

SPEC = RunSpec(
    *("digits", "lenet", "global_unstructured"),
    treatment="finetune",
    schedule="oneshot",
    sparsities=(0.5,),
    epochs=1,
    batch_size=64,
    learning_rate=0.1,
)
WORKSPACE = open_workspace(validate_spec(SPEC), Path("unused"), "cpu")


def own_network() -> torch.nn.Module:
    """A network that was trained elsewhere: a few steps of Adam."""
    torch.manual_seed(3)
    network = WORKSPACE.new_network(SPEC, seed=3)
    network.train()
    step = torch.optim.Adam(network.parameters(), 0.003)
    for _ in range(20):
        step.zero_grad()
        images = WORKSPACE.training.inputs(WORKSPACE.training.images[:256])
        torch.nn.functional.cross_entropy(network(images), WORKSPACE.training.labels[:256]).backward()
        step.step()
    return network.eval()


def answers(network: torch.nn.Module) -> np.ndarray:
    with torch.no_grad():
        return network(WORKSPACE.test.inputs(WORKSPACE.test.images)).argmax(1).numpy()


def test_the_dense_level_is_the_given_network_answer_for_answer(tmp_path: Path) -> None:
    network = own_network()
    study = ps.Study(tmp_path / "mine")
    key = study.run(SPEC, "cpu", weights=network)
    levels, predictions = study.prediction_matrix(key)
    assert levels.tolist() == [0, 1] and (predictions[0] == answers(network)).all()
    assert (predictions[1] != predictions[0]).any()
    assert study.run(SPEC, "cpu", weights=network.state_dict()) == key, "the same weights are the same run"
    assert study.run(SPEC, "cpu") != key, "a dense network of its own is another"


def test_weights_come_from_files_and_the_command_line(tmp_path: Path) -> None:
    network = own_network()
    save_file({name: part.contiguous() for name, part in network.state_dict().items()}, tmp_path / "mine.safetensors")
    study = Study(tmp_path / "study")
    kept = (tmp_path / "mine.safetensors", {"state_dict": network.state_dict()}, network)
    assert len({keep_weights(study, weights) for weights in kept}) == 1
    words = "--dataset digits --network lenet --technique global_unstructured --treatment finetune --schedule oneshot"
    more = ["--sparsities", "0.5", "--epochs", "1", "--batch-size", "64", "--learning-rate", "0.1", "--device", "cpu"]
    given = ["--weights", str(tmp_path / "mine.safetensors"), "--study", str(study.path)]
    assert main(["run", *words.split(), *more, *given]) == 0
    _, predictions = study.prediction_matrix(study.runs()[0])
    assert (predictions[0] == answers(network)).all()


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    study, tensors = ps.Study(tmp_path / "mine"), dict(own_network().state_dict())
    torch.save(tensors, tmp_path / "mine.pt")
    first = next(iter(tensors))
    for wrong, words in (
        ({**tensors, "more": torch.zeros(1)}, "has no such tensor"),
        ({name: part for name, part in tensors.items() if name != first}, "lack it"),
        ({**tensors, first: torch.zeros(2, 2)}, "should be"),
        ({}, "should be a state_dict"),
        (tmp_path / "nowhere.safetensors", "cannot be read"),
        (tmp_path / "mine.pt", "nothing is unpickled here"),
    ):
        with pytest.raises(PruneScopeError, match=words):
            study.run(SPEC, "cpu", weights=wrong)
    with pytest.raises(PruneScopeError, match="no weights"):
        study.run(replace(SPEC, weights="0" * 16), "cpu")
    assert study.runs() == []
