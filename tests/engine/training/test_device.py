"""Sums come out alike on every x86-64 processor, unless they are asked to be native; what it came to is recorded."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.specs.checks import validate_spec
from engine.store.study import Study
from engine.training import device as arithmetic
from engine.training.device import LIBRARIES, NATIVE, SETTING, make_arithmetic_portable, processor

TOP = Path(__file__).resolve().parents[3]
SPEC = validate_spec(
    RunSpec("digits", "lenet", "global_unstructured", "finetune", levels=2, epochs=3, learning_rate=0.1)
)
PREDICTIONS = "9b34992367200fe06517087c19dca7cbd96a54fa89d17901758a5150896af2aa"
"""Digest of what that run predicts. An Intel processor with AVX-512 gave it, and emulated ones of Intel (Haswell) and
AMD (EPYC-Milan) without; another version of torch may give another."""

if platform.machine() != "x86_64":
    pytest.skip("other processors have one way to add up", allow_module_level=True)


def test_predictions_are_those_of_other_processors(tmp_path: Path) -> None:
    run_experiment(SPEC, Study(tmp_path), Path("unused"), "cpu")
    record = Study(tmp_path).run_record(SPEC.key)
    assert record.provenance["processor"] == "x86_64 portable"
    assert record.files["predictions.parquet"] == PREDICTIONS


def test_a_process_of_its_own_is_portable_by_itself() -> None:
    """As the command line is: nobody has told the libraries before."""
    code = (
        "from engine.training.device import pick_device, processor; import torch;"
        "pick_device('cpu'); torch.ones(8, 8) @ torch.ones(8, 8); print(processor('cpu'))"
    )
    clean = {name: value for name, value in os.environ.items() if name not in (*LIBRARIES, SETTING)}
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, env=clean, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "x86_64 portable"


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing, on a processor with AVX-512."""
    for name in (*LIBRARIES, SETTING):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    return monkeypatch


def test_native_leaves_the_libraries_alone_and_is_recorded_by_its_instructions(untold: pytest.MonkeyPatch) -> None:
    untold.setenv(SETTING, NATIVE)
    make_arithmetic_portable()
    assert not set(LIBRARIES) & set(os.environ) and processor("cpu") == "x86_64 AVX512"


def test_a_setting_of_the_users_own_stays_and_is_not_called_portable(untold: pytest.MonkeyPatch) -> None:
    untold.setenv("MKL_CBWR", "AVX2")
    make_arithmetic_portable()
    assert os.environ["MKL_CBWR"] == "AVX2" and os.environ["ATEN_CPU_CAPABILITY"] == "avx2"
    untold.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert processor("cpu") == "x86_64 AVX2"


def test_what_came_too_late_is_not_called_portable(untold: pytest.MonkeyPatch) -> None:
    make_arithmetic_portable()
    assert processor("cpu") == "x86_64 AVX512"


def test_a_processor_without_the_instructions_is_not_told_to_use_them(untold: pytest.MonkeyPatch) -> None:
    untold.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": False})
    make_arithmetic_portable()
    assert not set(LIBRARIES) & set(os.environ)


def test_another_word_is_refused(untold: pytest.MonkeyPatch) -> None:
    untold.setenv(SETTING, "fast")
    with pytest.raises(PruneScopeError, match="is 'fast'; allowed are portable and native"):
        make_arithmetic_portable()


def test_a_graphics_processor_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H100")
    assert processor("cuda") == "NVIDIA H100" and processor("mps") == platform.machine()
    assert arithmetic.PORTABLE not in processor("cuda")
