"""Importing the engine and computing with it leave torch as a user had it; scopes nest, and end with an error too."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from engine.errors import PruneScopeError
from engine.specs.arithmetic import SETTING
from engine.training.device import CUBLAS, LIBRARIES, flushes_denormals, reproducible
from engine.training.quantization import exact_integer_products
from engine.training.seeding import kept_random_state, seeded
from tests.support.harness.turns import in_turn
from tests.support.networks.torch_state import ACTS, torch_state

TOP = Path(__file__).resolve().parents[3]
CPU = torch.device("cpu")
ELSEWHERE = torch.device("meta")
"""Stands for a GPU: whatever is no CPU is set up alike."""

Changes = dict[str, dict[str, tuple[str, str]]]


@pytest.fixture(scope="module", params=in_turn(["plain", "peculiar"], 2))
def changes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Changes:
    """What each act of the engine changed in the process of a user who computed there first; users take turns by days,
    both with PRUNESCOPE_FULL."""
    ours = {*LIBRARIES, SETTING, "OMP_NUM_THREADS"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    words = ["-m", "tests.support.networks.torch_state", str(tmp_path_factory.mktemp("user")), request.param]
    done = subprocess.run(
        [sys.executable, *words], cwd=TOP, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    changed: Changes = json.loads(done.stdout.splitlines()[-1])
    return changed


@pytest.mark.parametrize("act", ACTS)
def test_a_users_own_torch_code_finds_nothing_changed(changes: Changes, act: str) -> None:
    assert changes[act] == {}


def test_inside_all_is_set_for_the_same_result_each_time() -> None:
    with reproducible(CPU):
        assert torch.get_num_threads() == 1 and flushes_denormals()
        assert torch.get_deterministic_debug_mode() == 1 and torch.is_grad_enabled()
        assert not torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
        assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("device", [CPU, ELSEWHERE])
def test_scopes_nest_and_end_with_an_error_too(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*LIBRARIES, *CUBLAS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    before = torch_state()
    with pytest.raises(ZeroDivisionError), reproducible(device):
        inside = torch_state()
        with reproducible(device):
            assert torch_state() == inside
            torch.rand(3)
        assert torch_state() == inside != before
        _ = 1 / 0
    assert torch_state() == before


def test_a_gpu_is_told_not_to_try_out_and_cublas_where_to_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(*CUBLAS, raising=False)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    with reproducible(ELSEWHERE):
        assert not torch.backends.cudnn.benchmark and torch.backends.cudnn.deterministic
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_a_second_thread_is_refused_in_a_sentence_and_changes_nothing() -> None:
    refused: list[str] = []

    def enter() -> None:
        try:
            with reproducible(CPU):
                pass
        except PruneScopeError as error:
            refused.append(str(error))

    with reproducible(CPU):
        inside = torch_state()
        _in_thread(enter)
        assert torch_state() == inside
    assert len(refused) == 1 and refused[0].startswith("Another thread of this process is computing")
    _in_thread(enter)
    assert len(refused) == 1, "the scope is free again"


def _in_thread(act: object) -> None:
    thread = threading.Thread(target=act)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_denormals_are_read_as_torch_sets_them() -> None:
    before = flushes_denormals()
    try:
        for wanted in (True, False, True):
            torch.set_flush_denormal(wanted)
            tiny = torch.full((), sys.float_info.min, dtype=torch.float64)
            assert flushes_denormals() == wanted == ((tiny * 0.5).item() == 0)
    finally:
        torch.set_flush_denormal(before)


def test_integer_products_are_torchs_own_again_behind_each_scope() -> None:
    before = torch_state()["integer kernels"]
    with pytest.raises(ZeroDivisionError), exact_integer_products():
        with exact_integer_products():
            pass
        assert torch_state()["integer kernels"] != before
        _ = 1 / 0
    assert torch_state()["integer kernels"] == before


def test_what_layers_draw_follows_from_the_seed_and_is_not_taken_from_the_user() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    drawn = []
    for _ in range(2):
        with seeded(1, CPU):
            drawn.append(torch.rand(4))
        with kept_random_state(CPU):
            torch.rand(7)
    assert torch.equal(*drawn) and torch.equal(torch.rand(3), expected)
