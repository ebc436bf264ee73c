"""Sums come out alike on every processor, unless they are asked to be native; what it came to is recorded."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from engine.arithmetic import LIBRARIES, NATIVE, SETTING

TOP = Path(__file__).resolve().parents[1]
ONLY_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one way to add up")
CODE = """
import hashlib, sys, torch
from pathlib import Path
from engine.commands import main
run = "run --dataset digits --network lenet --technique l1_structured --levels 1 --epochs 2 --device cpu --study"
assert main([*run.split(), sys.argv[1]]) == 0
from engine.store import Study
study = Study(sys.argv[1])
record = study.record(study.runs()[0])
print(record.provenance["processor"], record.files["predictions.parquet"], sep="|")
"""


def computed(folder: Path, **environment: str) -> tuple[str, str]:
    """Kind of processor and digest of the predictions of a run in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if name not in (*LIBRARIES, SETTING)}
    command = [sys.executable, "-c", CODE, str(folder)]
    done = subprocess.run(command, cwd=TOP, env=clean | environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    kind, digest = done.stdout.splitlines()[-1].split("|")
    return kind, digest


@ONLY_X86
def test_portable_is_the_default_and_what_the_libraries_are_told(tmp_path: Path) -> None:
    kind, digest = computed(tmp_path / "default")
    assert kind == "x86_64 portable"
    assert computed(tmp_path / "told", **LIBRARIES) == (kind, digest)


@ONLY_X86
def test_native_is_recorded_by_its_instructions(tmp_path: Path) -> None:
    kind, _ = computed(tmp_path, **{SETTING: NATIVE})
    assert kind in {"x86_64 AVX2", "x86_64 AVX512", "x86_64 DEFAULT"}


@ONLY_X86
def test_a_setting_of_the_users_own_stays_and_is_not_called_portable(tmp_path: Path) -> None:
    assert computed(tmp_path, MKL_CBWR="AVX2")[0] == "x86_64 AVX2"


def test_another_word_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], cwd=TOP, env=os.environ | {SETTING: "fast"}, capture_output=True
    )
    assert b"PRUNESCOPE_ARITHMETIC is 'fast'; allowed are portable and native." in done.stderr
