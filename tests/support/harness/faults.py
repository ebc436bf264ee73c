"""Faults on purpose: one process loads torch once and forks sweeps of tiny runs, to kill, stop or starve them.

`python -m tests.support.harness.faults FOLDER` reads lines `NAME NUMBER` and runs the function of that name, each in a
fork of its own; it says "passed" or "failed" at the end of each. `NAME NUMBER` as further arguments run one alone.
"""

import builtins
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from engine.run_spec import RunSpec
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.specs.preset import Preset
from engine.store import catalog, claims, files, process_identity
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from engine.sweeps.sweep import run_sweep, sweep_status
from engine.sweeps.worker import Result, RunContext, execute_run
from tests.support.harness.crashes import CRASHED, crash_at, crash_moments
from tests.support.harness.forks import answering, exit_code, has_ended, in_child, wait_until
from tests.support.harness.seed import HOW_TO_REPLAY, seeded
from tests.support.harness.turns import FULL, in_turn
from tests.support.harness.work_log import assert_nothing_twice, log_work, logged
from tests.support.run_folders import files_of

ROOT = Path("unused")
TINY = validate_spec(RunSpec("digits", "lenet", "global_unstructured", levels=3, epochs=1, batch_size=128))
TECHNIQUES = ("global_unstructured", "l1_structured", "random_unstructured", "random_structured")
SPECS = tuple(
    replace(TINY, technique=technique, treatment=treatment, seed=seed)
    for seed in range(2 if FULL else 1)
    for treatment in ("rewind", "finetune")
    for technique in in_turn(TECHNIQUES, 2)
)
"""Four runs, whose techniques take turns by days; sixteen with PRUNESCOPE_FULL."""
SWEEP = Preset("tiny", "Tiny runs", "", SPECS)


def sweep(study: Path) -> None:
    run_sweep(SWEEP, RunContext(study, ROOT, "cpu"), 2, lambda event: None, method="fork")


def perform_tiny(study: Path, spec: RunSpec = TINY) -> Result:
    return execute_run(spec, RunContext(study, ROOT, "cpu"))


def assert_whole_and_tidy(study: Study) -> None:
    """Nothing is broken, nothing is left over, nobody claims anything."""
    assert not (faults := verify_study(study)), faults
    there = [path for path in study.path.rglob("*") if path.name.endswith(files.TEMPORARY)]
    assert there == [], there
    assert not list((study.path / "work").glob("*")) and not list((study.path / "claims").glob("*"))
    assert not list((study.path / "failures").glob("*"))


def undisturbed(folder: Path) -> dict[str, dict[str, str]]:
    """What a sweep leaves that nothing happens to; made once for all."""
    study = Study(folder.parent / "calm")
    if not study.path.exists():
        assert exit_code(in_child(lambda: sweep(study.path))) == 0
        assert_whole_and_tidy(study)
    return files_of(study)


def undisturbed_run(folder: Path, spec: RunSpec) -> dict[str, dict[str, str]]:
    """What one run leaves that nothing happens to."""
    assert perform_tiny(folder / "calm", spec).state == "done"
    return files_of(Study(folder / "calm"))


def kills(folder: Path, n_kills: int) -> None:
    """SIGKILL of workers and parents at random moments, with restarts: as if nothing had happened."""
    begun = time.monotonic()
    assert exit_code(in_child(lambda: sweep(folder / "calm"))) == 0
    longest = (time.monotonic() - begun) / 20  # a busy machine gets more time between kills
    expected, log = files_of(Study(folder / "calm")), log_work(folder)
    draw, n_done, n_rounds = seeded("kills"), 0, 0
    while n_done < n_kills:
        study, n_rounds = Study(folder / f"round-{n_rounds}"), n_rounds + 1
        log.write_text("")
        n_killed, n_in_flight = kill_until_done(
            study, log, (Kill.drawn(draw, longest) for _ in range(n_kills - n_done))
        )
        assert exit_code(in_child(lambda study=study: sweep(study.path))) == 0  # what killed processes left over goes
        assert files_of(study) == expected
        assert_whole_and_tidy(study)
        n_begun = assert_nothing_twice(log)
        assert n_begun <= len(SPECS) + n_in_flight, f"{n_begun} begun, but only {n_in_flight} in flight at a kill"
        n_done += n_killed
        print(f"{n_killed} kills: {n_begun} begun for {len(SPECS)} runs, {n_in_flight} in flight at a kill", flush=True)
    print(f"{n_done} kills in {n_rounds} sweeps of {len(SPECS)} runs: each study equals the undisturbed one.")


@dataclass(frozen=True)
class Kill:
    """When a process dies and which: moments follow the work, so that a slow machine plays the same ones again."""

    steps: int
    """So many more things are begun, kept or ended first."""
    seconds: float
    """And then it takes so long."""
    place: float
    """Where the victim stands among parent and workers: 0 is the parent, below 1 the last."""

    @staticmethod
    def drawn(draw: random.Random, longest: float) -> "Kill":
        return Kill(draw.randrange(3), draw.uniform(0, longest), draw.random())


def kill_until_done(study: Study, log: Path, planned: Iterable[Kill]) -> tuple[int, int]:
    """Number of kills until a sweep, started again after each one of its parent, is through; runs in flight at them."""
    n_killed = n_in_flight = 0
    parent = in_child(lambda: sweep(study.path))
    for kill in planned:
        wanted = len(logged(log)) + kill.steps
        wait_until(lambda parent=parent, wanted=wanted: len(logged(log)) >= wanted or has_ended(parent))
        time.sleep(kill.seconds)
        assert sweep_status(SPECS, study).planned == len(SPECS)
        if has_ended(parent):
            break
        victim = victim_of(parent, kill)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:  # a worker that had ended by itself
            continue
        print(f"{kill}: {'the parent' if victim == parent else 'a worker'}", flush=True)
        n_killed, n_in_flight = n_killed + 1, n_in_flight + (2 if victim == parent else 1)
        if victim == parent:
            os.waitpid(parent, 0)
            parent = in_child(lambda: sweep(study.path))
    assert exit_code(parent) == 0
    return n_killed, n_in_flight


def victim_of(parent: int, kill: Kill) -> int:
    """The process that this kill ends."""
    processes = [parent, *sorted(process.pid for process in psutil.Process(parent).children())]
    return processes[int(kill.place * len(processes))]


def crashes(folder: Path, every: int) -> None:
    """The end of a run's process in the middle of its n-th write, sync or rename, for every n (or each `every`th)."""
    spec = replace(TINY, levels=1)
    expected, n = undisturbed_run(folder, spec), 0
    for n in crash_moments("run", every):
        study = Study(folder / f"{n}")
        child = in_child(lambda n=n, study=study: (crash_at(n), perform_tiny(study.path, spec), catalog.refresh(study)))
        crashed = exit_code(child) == CRASHED
        assert not (faults := verify_study(study)), faults
        assert len(study.levels()) == 2 * len(study.runs())
        assert exit_code(in_child(lambda study=study: sweep_one(study.path, spec))) == 0
        assert files_of(study) == expected
        assert_whole_and_tidy(study)
        if not crashed:
            break
    print(f"{n - 1} moments, each {every}: whole after each, and the run is made after each.")


def sweep_one(study: Path, spec: RunSpec) -> None:
    run_sweep(
        Preset("one", "One run", "", (spec,)), RunContext(study, ROOT, "cpu"), 1, lambda event: None, method="fork"
    )


def frozen(folder: Path, n_levels: int) -> None:
    """A worker stopped past its claim's expiry and woken while another works, or once that is done: one result."""
    spec = replace(TINY, levels=n_levels)
    expected = undisturbed_run(folder, spec)
    log, claims.HEARTBEAT, claims.EXPIRY = log_work(folder), 0.2, 5.0
    for moment in ("while", "after"):
        study = Study(folder / moment)
        first, first_said = answering(lambda study=study: perform_tiny(study.path, spec).state)
        wait_until(lambda first=first: any(what == "level" and by == first for what, _, by in logged(log)))
        os.kill(first, signal.SIGSTOP)
        os.waitpid(first, os.WUNTRACED)  # until it stands still and touches nothing any more
        assert sweep_status([spec], study).running == (spec.key,)
        for path in (study.path / "claims").iterdir():
            os.utime(path, (0, 0))
        assert sweep_status([spec], study).pending == (spec.key,)
        second, second_said = answering(lambda study=study: perform_tiny(study.path, spec).state)
        wait_until(lambda second=second: any(what == "begin" and by == second for what, _, by in logged(log)))
        states = [second_said()] if moment == "after" else []
        os.kill(first, signal.SIGCONT)
        states += [first_said()] if states else [first_said(), second_said()]
        assert sorted(states) == ["done", "found"], states
        assert files_of(study) == expected
        assert exit_code(in_child(lambda study=study: sweep_one(study.path, spec))) == 0
        assert_whole_and_tidy(study)
    print("Stopped past the expiry and woken while another worked and after it: one result each time.")


def full_disk(folder: Path, every: int) -> None:
    """No room from a run's n-th write on, for every n (or each `every`th): it fails with the reason."""
    spec, n = replace(TINY, levels=1), 0
    expected = undisturbed_run(folder, spec)
    for n in crash_moments("full disk", every):
        study = Study(folder / f"{n}")
        result = answering(lambda n=n, study=study: (fill_at(n), perform_tiny(study.path, spec))[1].__dict__)[1]()
        if result["state"] == "done":
            break
        assert result["state"] == "failed" and "the file-size limit is reached" in result["reason"], result
        assert "Traceback" not in result["reason"]
        assert not (faults := verify_study(study)), faults
        status = sweep_status([spec], study)
        assert status.planned == 1 and not status.running and not status.done
        assert exit_code(in_child(lambda study=study: sweep_one(study.path, spec))) == 0
        assert files_of(study) == expected
        assert_whole_and_tidy(study)
    print(f"{n - 1} writes, each {every}, without room: it fails with the reason, and is made once there is room.")


def fill_at(n: int) -> None:
    """From the n-th write of this process on, no file may grow beyond a few bytes."""
    opened = [0]

    def counted_open(path: Path, mode: str) -> object:
        opened[0] += 1
        if opened[0] == n:
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, resource.RLIM_INFINITY))
        return builtins.open(path, mode)

    files.open = counted_open


def no_room_for_a_sweep(folder: Path, limit: int) -> None:
    """A whole sweep under a file-size limit: every run fails with its reason; later all are made."""
    expected, study = undisturbed(folder), Study(folder / "full")

    def starved() -> list[tuple[str, str]]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        results = run_sweep(SWEEP, RunContext(study.path, ROOT, "cpu"), 2, lambda event: None, method="fork")
        return [(result.state, result.reason) for result in results]

    results = answering(starved)[1]()
    assert len(results) == len(SPECS) and {state for state, _ in results} == {"failed"}
    assert all("the file-size limit is reached" in reason for _, reason in results)
    status = sweep_status(SPECS, study)
    assert status.planned == len(SPECS) and not status.done and not status.running
    assert exit_code(in_child(lambda: sweep(study.path))) == 0
    assert files_of(study) == expected
    assert_whole_and_tidy(study)
    print(f"{len(results)} runs failed with their reason and were made once there was room.")


def two_sweeps(folder: Path, n_sweeps: int) -> None:
    """Several sweeps over one study at once: no run twice, no error."""
    expected, log, study = undisturbed(folder), log_work(folder), Study(folder / "shared")

    def states() -> list[str]:
        results = run_sweep(SWEEP, RunContext(study.path, ROOT, "cpu"), 2, lambda event: None, method="fork")
        return [result.state for result in results]

    said = [answering(states)[1] for _ in range(n_sweeps)]
    counts = [Counter(answer()) for answer in said]
    assert sum(counts, Counter())["done"] == len(SPECS) and not any(count["failed"] for count in counts), counts
    assert assert_nothing_twice(log) == len(SPECS)
    assert files_of(study) == expected
    assert_whole_and_tidy(study)
    print(f"{n_sweeps} sweeps at once computed {[count['done'] for count in counts]} runs, none twice.")


def two_clocks(folder: Path, n_hours: int) -> None:
    """Two sweeps over one study on machines whose clocks are so far apart: no run twice, no error."""
    expected, log, study = undisturbed(folder), log_work(folder), Study(folder / "shared")
    claims.HEARTBEAT, claims.EXPIRY = 0.2, 10.0

    def states(name: str, shift: float) -> list[str]:
        on_machine(name, shift)
        results = run_sweep(SWEEP, RunContext(study.path, ROOT, "cpu"), 1, lambda event: None, method="fork")
        return [result.state for result in results]

    said = [answering(lambda n=n: states(f"machine{n}", n * 3600.0 * n_hours))[1] for n in range(2)]
    counts = [Counter(answer()) for answer in said]
    assert sum(counts, Counter())["done"] == len(SPECS) and not any(count["failed"] for count in counts), counts
    assert assert_nothing_twice(log) == len(SPECS)
    assert files_of(study) == expected
    print(f"Clocks {n_hours} hours apart: {[count['done'] for count in counts]} runs, none twice.")


def on_machine(name: str, shift: float) -> None:
    """From now on this process and its children are on a machine of this name, with a clock that is so far ahead."""
    now, touch, write = time.time, os.utime, claims.write_file

    def write_file(path: Path, content: bytes, replace: bool = True) -> str:
        digest = write(path, content, replace)
        os.utime(path)
        return digest

    time.time = lambda: now() + shift
    os.utime = lambda path, times=None: touch(path, times or (time.time(),) * 2)
    claims.write_file = write_file
    process_identity.this_host = lambda: name


def deaths(folder: Path, n_times: int) -> None:
    """Parent and members killed at once: nothing is shown as running any more."""
    for number in range(n_times):
        study = Study(folder / f"{number}")
        parent = in_child(lambda study=study: sweep(study.path))
        wait_until(lambda study=study: sweep_status(SPECS, study).running)
        doomed = [psutil.Process(parent), *psutil.Process(parent).children()]
        for process in doomed:
            process.kill()
        begun = time.monotonic()
        wait_until(lambda study=study: not sweep_status(SPECS, study).running)
        print(f"nothing runs {time.monotonic() - begun:.2f} s after the last process died")
        assert sweep_status(SPECS, study).planned == len(SPECS)
        exit_code(parent)


def act(folder: Path, name: str, number: str) -> None:
    (folder / name).mkdir()
    verdict = exit_code(in_child(lambda: globals()[name](folder / name, int(number))))
    if verdict:
        print(HOW_TO_REPLAY)
    print("failed" if verdict else "passed", flush=True)


if __name__ == "__main__":
    open_workspace(TINY, ROOT, "cpu")  # read once, so that forks need not
    for line in [" ".join(sys.argv[2:])] if sys.argv[2:] else sys.stdin:
        act(Path(sys.argv[1]), *line.split())
