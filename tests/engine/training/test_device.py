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
from engine.specs.arithmetic import EAGER, FUSED, NATIVE, PORTABLE, SETTING
from engine.specs.checks import validate_spec
from engine.store.study import Study
from engine.training.device import LIBRARIES, processor, reproducible

TOP = Path(__file__).resolve().parents[3]
CPU = torch.device("cpu")
SPEC = validate_spec(
    RunSpec("digits", "lenet", "global_unstructured", "finetune", levels=2, epochs=3, learning_rate=0.1)
)
PREDICTIONS = {
    EAGER: "9b34992367200fe06517087c19dca7cbd96a54fa89d17901758a5150896af2aa",
    PORTABLE: "76f18680a694482993944ddbb22b385abf0fd11f7428d8c363ba280d6293f59f",
}
"""Digests of what that run predicts. An Intel processor with AVX-512 gave the eager one, and emulated ones of Intel
(Haswell) and AMD (EPYC-Milan) without; an AMD processor with AVX-512 gave both. Another version of torch may give
others."""

if platform.machine() != "x86_64":
    pytest.skip("other processors have one way to add up", allow_module_level=True)


@pytest.mark.parametrize(("arithmetic", "step"), [(PORTABLE, FUSED), (EAGER, EAGER)])
def test_predictions_are_those_of_other_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arithmetic: str, step: str
) -> None:
    monkeypatch.setenv(SETTING, arithmetic)
    run_experiment(SPEC, Study(tmp_path), Path("unused"), "cpu")
    record = Study(tmp_path).run_record(SPEC.key)
    assert record.provenance["processor"] == "x86_64 portable" and record.provenance["step"] == step
    assert record.files["predictions.parquet"] == PREDICTIONS[arithmetic]


def test_a_process_of_its_own_is_portable_by_itself() -> None:
    """As the command line is: nobody has told the libraries before."""
    code = (
        "from engine.training.device import processor, reproducible; import torch\n"
        "with reproducible(torch.device('cpu')): print(processor('cpu'))"
    )
    assert _in_new_process(code).strip() == "x86_64 portable"


@pytest.mark.parametrize(("place", "expected"), [("between", "x86_64 portable"), ("before", "x86_64 ")])
def test_what_a_user_computes_between_runs_does_not_choose_their_instructions(
    tmp_path: Path, place: str, expected: str
) -> None:
    """What was computed before the first run does, and the record says so."""
    code = f"""
import os
os.environ["{SETTING}"] = "{EAGER}"
import torch
from pathlib import Path
from engine.store.study import Study
from engine.training.device import reproducible
from engine.runs.run import run_experiment
from tests.engine.training.test_device import PREDICTIONS, SPEC

def compute():
    sums = torch.nn.functional.conv2d(torch.ones(8, 3, 16, 16), torch.ones(8, 3, 3, 3)).flatten(1)
    return sums @ sums.T

if {place == "before"}:
    compute()
with reproducible(torch.device("cpu")):
    pass
if {place == "between"}:
    compute()
run_experiment(SPEC, Study({str(tmp_path)!r}), Path("unused"), "cpu")
record = Study({str(tmp_path)!r}).run_record(SPEC.key)
print(record.provenance["processor"], record.files["predictions.parquet"] == PREDICTIONS["{EAGER}"])
"""
    kind, is_equal = _in_new_process(code).strip().rsplit(" ", 1)
    assert kind.startswith(expected) and is_equal == str("portable" in kind)


def _in_new_process(code: str) -> str:
    """What a process prints in whose environment nobody has told the libraries."""
    clean = {name: value for name, value in os.environ.items() if name not in (*LIBRARIES, SETTING)}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=TOP, env=clean, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing, on a processor with AVX-512."""
    for name in (*LIBRARIES, SETTING):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    return monkeypatch


def test_native_leaves_the_libraries_alone_and_is_recorded_by_its_instructions(untold: pytest.MonkeyPatch) -> None:
    untold.setenv(SETTING, NATIVE)
    with reproducible(CPU):
        assert not set(LIBRARIES) & set(os.environ) and processor("cpu") == "x86_64 AVX512"


def test_a_setting_of_the_users_own_stays_and_is_not_called_portable(untold: pytest.MonkeyPatch) -> None:
    untold.setenv("MKL_CBWR", "AVX2")
    untold.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    with reproducible(CPU):
        assert os.environ["MKL_CBWR"] == "AVX2" and os.environ["ATEN_CPU_CAPABILITY"] == "avx2"
        assert processor("cpu") == "x86_64 AVX2"
    assert os.environ["MKL_CBWR"] == "AVX2" and "ATEN_CPU_CAPABILITY" not in os.environ


def test_what_came_too_late_is_not_called_portable(untold: pytest.MonkeyPatch) -> None:
    with reproducible(CPU):
        assert processor("cpu") == "x86_64 AVX512"


def test_a_processor_without_the_instructions_is_not_told_to_use_them(untold: pytest.MonkeyPatch) -> None:
    untold.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": False})
    with reproducible(CPU):
        assert not set(LIBRARIES) & set(os.environ)


def test_another_word_is_refused(untold: pytest.MonkeyPatch) -> None:
    untold.setenv(SETTING, "fast")
    with pytest.raises(PruneScopeError, match="is 'fast'; allowed are portable, eager and native"), reproducible(CPU):
        pass


def test_a_graphics_processor_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H100")
    assert processor("cuda") == "NVIDIA H100" and processor("mps") == platform.machine()
    assert PORTABLE not in processor("cuda")
