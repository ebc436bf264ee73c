"""The compiled step is taken where network, objective and machine fit, and the record says which it was."""

import copy
import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from engine.commands import main
from engine.networks.architectures import LeNet
from engine.run_spec import Progress, RunSpec
from engine.runs.run import run_experiment
from engine.specs.arithmetic import EAGER, FUSED, NATIVE, PORTABLE, SETTING, as_recorded
from engine.specs.checks import validate_spec
from engine.store.run_files import spec_file
from engine.store.study import Study
from engine.training.fused.step_choice import step_name

TOP = Path(__file__).resolve().parents[4]
TINY = validate_spec(RunSpec("digits", "lenet", "random_unstructured", levels=2, epochs=2, learning_rate=0.1))


class Own(LeNet):
    """A network of somebody's own."""


def halved() -> LeNet:
    network = LeNet(1, 28, 10)
    network.linear2 = nn.Linear(120, 42)
    return network


def hooked() -> LeNet:
    network = LeNet(1, 28, 10)
    network.conv1.register_forward_hook(lambda *_: None)
    return network


@pytest.mark.parametrize("network", [Own(1, 28, 10), LeNet(1, 28, 10).double(), halved(), hooked(), nn.Linear(3, 3)])
def test_another_network_is_trained_by_torch(network: nn.Module) -> None:
    assert step_name(network) == EAGER


@pytest.mark.parametrize(("arithmetic", "step"), [(PORTABLE, FUSED), (EAGER, EAGER), (NATIVE, EAGER)])
def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch, arithmetic: str, step: str) -> None:
    monkeypatch.setenv(SETTING, arithmetic)
    assert step_name(LeNet(3, 32, 100)) == step


def test_a_machine_that_cannot_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": False})
    assert step_name(LeNet(1, 28, 10)) == "eager (this processor lacks AVX2 or FMA)"
    monkeypatch.undo()
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None if name == "numba" else there(name, *_))
    run_experiment(replace(TINY, levels=1, epochs=1), Study(tmp_path), Path("unused"), "cpu")
    (run,) = Study(tmp_path).runs()
    assert Study(tmp_path).run_record(run).provenance["step"] == "eager (numba is not installed)"


BROKEN = {
    "ImportError: Numba needs NumPy 2.5 or less.": "raise ImportError('Numba needs NumPy 2.5 or less.\\nGot 3.0.')",
    "ImportError: cannot import name 'config' from 'numba'": "",
}
"""How a numba can be broken, and what its package then does."""


@pytest.mark.parametrize("reason", BROKEN)
def test_a_numba_that_cannot_be_loaded_leaves_training_to_torch(tmp_path: Path, reason: str) -> None:
    """In a process of its own: numba is found there, and breaks when it is imported."""
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text(BROKEN[reason], encoding="utf-8")
    words = "run --dataset digits --network lenet --technique random_unstructured --levels 1 --epochs 1 --device cpu"
    told = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{TOP}"}
    told.pop(SETTING, None)
    command = [sys.executable, "-m", "engine", *words.split(), "--study", str(tmp_path / "study")]
    done = subprocess.run(command, cwd=TOP, env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (run,) = Study(tmp_path / "study").runs()
    record = Study(tmp_path / "study").run_record(run)
    assert record.provenance["step"] == f"eager (numba cannot be loaded: {reason})"


class Stopped(Exception):
    """A run that was killed."""


def stop_at(level: int, epoch: int) -> Any:
    def watch(progress: Progress) -> None:
        if (progress.level, progress.epoch) == (level, epoch):
            raise Stopped

    return watch


@pytest.mark.parametrize("others", [False, True])
def test_a_run_that_is_killed_goes_on_and_comes_out_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: bool
) -> None:
    """What torch's step has left, with `others`, is not gone on from."""
    spec = replace(TINY, momentum=0.9, keep_checkpoints=True)
    whole, parts = Study(tmp_path / "whole"), Study(tmp_path / "parts")
    run_experiment(spec, whole, Path("unused"), "cpu")
    with monkeypatch.context() as context, pytest.raises(Stopped):
        context.setenv(SETTING, EAGER if others else PORTABLE)
        run_experiment(spec, parts, Path("unused"), "cpu", stop_at(2, 1))
    run_experiment(spec, parts, Path("unused"), "cpu")
    files, again = (study.run_record(spec.key).files for study in (whole, parts))
    assert {name: files[name] for name in files} == again
    assert whole.run_record(spec.key).provenance["step"] == FUSED


@pytest.mark.parametrize("recorded", [True, False])
def test_a_run_is_rebuilt_by_its_own_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: bool) -> None:
    """One from before steps were recorded by torch's, although the compiled one would be chosen here."""
    with monkeypatch.context() as context:
        context.setenv(SETTING, EAGER)
        run_experiment(TINY, Study(tmp_path / "study"), Path("unused"), "cpu")
    if not recorded:
        record = Study(tmp_path / "study").run_record(TINY.key)
        del record.provenance["step"]
        (tmp_path / "study" / "runs" / TINY.key / "spec.json").write_bytes(spec_file(record))
    words = ["rebuild", TINY.key, "--study", str(tmp_path / "study"), "--to", str(tmp_path / "again")]
    assert main([*words, "--device", "cpu"]) == 0
    assert Study(tmp_path / "again").run_record(TINY.key).provenance["step"] == EAGER


def test_what_the_user_asks_for_goes_before_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, PORTABLE)
    with as_recorded({"step": EAGER}):
        assert step_name(LeNet(1, 28, 10)) == FUSED
    monkeypatch.delenv(SETTING)
    with as_recorded({}):
        assert step_name(LeNet(1, 28, 10)) == EAGER
    assert step_name(copy.deepcopy(LeNet(1, 28, 10))) == FUSED
