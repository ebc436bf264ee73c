"""How many runs fit on a GPU follows from the first; where memory runs out, fewer are done at a time, and all are."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.run_spec import Progress, RunSpec
from engine.runs import run as run_module
from engine.runs.run import run_experiment
from engine.specs.checks import validate_spec
from engine.specs.preset import Preset
from engine.store.claims import living_claims
from engine.store.study import Study
from engine.sweeps import pool
from engine.sweeps.gpu_memory import FILLED, Memory
from engine.sweeps.pool import Pool
from engine.sweeps.sweep import run_sweep
from engine.sweeps.worker import Result, RunContext, failure_file, is_out_of_memory
from engine.sweeps.worker_count import WorkerCount, as_many_as_fit

TINY = validate_spec(RunSpec("digits", "lenet", "random_unstructured", levels=2, epochs=1, learning_rate=0.05))
SPECS = tuple(replace(TINY, seed=seed) for seed in range(5))
PATIENCE_SECONDS = 60.0


def full_at(n_runs: int, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose memory holds fewer runs than this: one of so many at once runs out. The first wait for the
    others, so that there are so many."""

    def crowded_run(*arguments: object, **named: object) -> object:
        begun = time.monotonic()
        while not (study / "full").exists() and time.monotonic() - begun < PATIENCE_SECONDS:
            if len(at_work(study)) >= n_runs:
                (study / "full").touch()
            time.sleep(0.02)
        if len(at_work(study)) >= n_runs:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
        return run_experiment(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(run_module, "run_experiment", crowded_run)


def at_work(study: Path) -> set[str]:
    """Runs that some process is at."""
    return {name for name in living_claims(study / "claims") if not name.startswith("dense-")}


def test_out_of_memory_halves_the_runs_at_a_time_and_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_at(3, tmp_path, monkeypatch)
    heard: list[Result] = []
    context = RunContext(tmp_path, tmp_path, "cpu")
    results = run_sweep(
        Preset("", "", "", SPECS), context, 4, lambda e: heard.append(e) if isinstance(e, Result) else None, "fork"
    )
    assert {result.key: result.state for result in results} == {spec.key: "done" for spec in SPECS}
    crowded = [result.reason for result in heard if result.state == "crowded"]
    assert crowded and set(crowded) <= {f"Out of memory: at most {n} at a time from now on." for n in (1, 2)}
    assert "at most 2 at a time" in crowded[0], "half of four"
    assert not list((tmp_path / "failures").glob("*")), "to wait is not to fail"
    alone = tmp_path / "alone"
    monkeypatch.setattr(run_module, "run_experiment", run_experiment)
    run_sweep(Preset("", "", "", SPECS), RunContext(alone, tmp_path, "cpu"), 1, lambda event: None, "fork")
    assert Study(alone).levels().equals(Study(tmp_path).levels()), "tables as those of an undisturbed sweep"


def test_a_run_that_does_not_fit_alone_fails_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_at(1, tmp_path, monkeypatch)
    context = RunContext(tmp_path, tmp_path, "cpu")
    results = run_sweep(Preset("", "", "", SPECS[:2]), context, 2, lambda event: None, "fork")
    assert [result.state for result in results] == ["failed", "failed"]
    for result in results:
        assert "with no other run beside it" in result.reason
        assert "with no other" in json.loads(failure_file(Study(tmp_path), result.key).read_text())["reason"]


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_only_want_of_memory_counts_as_such(error: Exception, is_memory: bool) -> None:
    assert is_out_of_memory(error) is is_memory


def test_the_first_run_tells_how_many_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "measured_memory", lambda device: Memory(taken=10, free=25))
    workers = Pool(1, RunContext(tmp_path, tmp_path, "cpu"), "fork", most=8)
    try:
        assert workers.idle() == 1
        workers.hand_out(TINY)
        first = next(e for e in iter_events(workers) if isinstance(e, Progress) and e.level and e.epoch)
        assert first.run == TINY.key
        assert next(iter_events(workers)) is not None
        assert workers.idle() == 2, "three fit, one is at work"
    finally:
        workers.close()


def iter_events(workers: Pool):  # type: ignore[no-untyped-def]
    """Events as they come, for a while."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        yield from workers.events(0.2)


def test_a_gpu_is_filled_up_to_a_margin() -> None:
    assert Memory(taken=10, free=0).n_runs == 1 and Memory(taken=10, free=9).n_runs == 1
    assert Memory(taken=10, free=100).n_runs == 1 + int(10 * FILLED)


def test_all_gpus_begin_with_one_run_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    count = as_many_as_fit("auto")
    assert count.first == 3 and count.most >= 12
    assert as_many_as_fit("cuda:1").first == 1
    cpu = as_many_as_fit("cpu")
    assert cpu == WorkerCount(cpu.first, cpu.first)
