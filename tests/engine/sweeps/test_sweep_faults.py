"""A sweep survives anything: kills, crashes, frozen workers, full disks, other sweeps, Ctrl-C.

`PRUNESCOPE_FULL=1` tries all 200 kills and every single crash; without it there are fewer. Which, the seed draws: it is
printed where a test fails, and `PRUNESCOPE_SEED=...` plays the same again.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.specs.preset import load_preset
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from engine.sweeps.sweep import sweep_status
from tests.support.harness.forks import wait_until

pytestmark = pytest.mark.timeout(1800)
TOP = Path(__file__).resolve().parents[3]
ALL = bool(os.environ.get("PRUNESCOPE_FULL"))
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
PRESET = """
title = "Tiny"
[[grid]]
datasets = ["digits"]
networks = ["lenet"]
techniques = ["global_unstructured"]
seeds = [0, 1, 2, 3]
[grid.protocol]
epochs = 5
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, int], None]]:
    """Runs a function of `tests.support.harness.faults`; its process loads torch once for all of them."""
    command = [sys.executable, "-m", "tests.support.harness.faults", str(tmp_path_factory.mktemp("faults"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=TOP, env=ONE_THREAD, **pipes) as process:

        def run(name: str, number: int) -> None:
            process.stdin.write(f"{name} {number}\n")
            process.stdin.flush()
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line in ("passed\n", "failed\n"):
                    break
            print("".join(lines))
            assert lines and lines[-1] == "passed\n", "".join(lines)

        yield run
        process.stdin.close()


def test_kills_at_random_moments_change_nothing(faults: Callable[[str, int], None]) -> None:
    faults("kills", 200 if ALL else 8)


def test_a_store_that_crashes_at_any_write_sync_or_rename_is_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.harness.crashes", str(tmp_path), "1" if ALL else "3"]
    subprocess.run(command, cwd=TOP, env=ONE_THREAD, check=True)  # what it prints stands beside a failure


def test_a_run_that_crashes_at_a_write_sync_or_rename_goes_on(faults: Callable[[str, int], None]) -> None:
    faults("crashes", 1 if ALL else 16)


def test_a_worker_frozen_past_its_expiry_leaves_one_result(faults: Callable[[str, int], None]) -> None:
    faults("frozen", 6)


def test_a_full_disk_at_any_write_is_a_failure_with_its_reason(faults: Callable[[str, int], None]) -> None:
    faults("full_disk", 1 if ALL else 2)


def test_a_sweep_without_room_fails_and_completes_later(faults: Callable[[str, int], None]) -> None:
    faults("no_room_for_a_sweep", 1000)


def test_two_sweeps_share_the_work(faults: Callable[[str, int], None]) -> None:
    faults("two_sweeps", 2)


def test_two_machines_with_clocks_two_hours_apart_compute_nothing_twice(faults: Callable[[str, int], None]) -> None:
    faults("two_clocks", 2)


def test_nothing_is_shown_as_running_once_its_process_died(faults: Callable[[str, int], None]) -> None:
    faults("deaths", 1)


@pytest.mark.quiet
def test_ctrl_c_ends_within_seconds_and_says_how_to_go_on(tmp_path: Path) -> None:
    preset, study = tmp_path / "tiny.toml", Study(tmp_path / "study")
    preset.write_text(PRESET)
    command = [
        sys.executable,
        "-m",
        "engine",
        "sweep",
        "run",
        str(preset),
        "--study",
        str(study.path),
        "--device",
        "cpu",
    ]
    specs = load_preset(str(preset)).specs
    heard = {"start_new_session": True, "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, cwd=TOP, stderr=subprocess.PIPE, text=True, **heard) as process:
        wait_until(lambda: process.poll() is not None or sweep_status(specs, study).running)
        assert process.poll() is None, "it ended before it could be stopped"
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
        errors = process.communicate()[1]
    assert process.returncode == 130
    assert time.monotonic() - begun < 20, "it takes about a second on a quiet machine"
    assert errors == "Stopped. Start the same command again to go on: finished runs and levels are kept.\n"
    status = sweep_status(specs, study)
    assert not status.running and status.planned == len(specs)
    assert verify_study(study) == []
