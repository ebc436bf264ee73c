"""Faults on purpose: one process loads torch once and forks sweeps of tiny runs, to kill, stop or starve them.

`python -m tests.faults FOLDER` reads lines `NAME NUMBER` and runs the function of that name, each in a fork of its own;
it says "passed" or "failed" at the end of each. `NAME NUMBER` as further arguments run one alone.
"""

import builtins
import itertools
import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from engine.run_spec import RunSpec
from engine.runs import dense
from engine.runs import run as experiment
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.specs.preset import Preset
from engine.store import catalog, claims, files
from engine.store.study import Study
from engine.store.verify import verify_study
from engine.sweeps.sweep import run_sweep, sweep_status
from engine.sweeps.worker import Result, RunContext, execute_run
from tests.support.crashes import CRASHED, crash_at, exit_code, in_child
from tests.support.run_folders import files_of

ROOT = Path("unused")
TINY = validate_spec(RunSpec("digits", "lenet", "global_unstructured", levels=3, epochs=1, batch_size=128))
TECHNIQUES = ("global_unstructured", "l1_structured", "random_unstructured", "random_structured")
SPECS = tuple(
    replace(TINY, technique=technique, treatment=treatment, seed=seed)
    for seed in range(2 if os.environ.get("PRUNESCOPE_FULL") else 1)
    for treatment in ("rewind", "finetune")
    for technique in TECHNIQUES
)
SWEEP = Preset("tiny", "Tiny runs", "", SPECS)


# -- what all of them need --------------------------------------------------------------------------------------


def log_work(folder: Path) -> Path:
    """A file that says from now on which process began, kept or ended what, in this process and those it forks."""
    path = folder / "log"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def log(*words: object) -> None:
        os.write(handle, (" ".join(map(str, (*words, os.getpid()))) + "\n").encode())

    run, keep, train = experiment.run_experiment, experiment._Run._keep, dense._train_dense

    def logged_run(spec: RunSpec, study: Study, *others: object) -> object:
        if study.has_run(spec.key):
            return run(spec, study, *others)
        log("begin", spec.key)
        finished = run(spec, study, *others)
        log("end", spec.key)
        return finished

    def logged_keep(self: Any, result: Any, *others: object) -> None:
        keep(self, result, *others)
        log("level", f"{self.spec.key}/{result.level}")

    def logged_train(spec: RunSpec, *others: object) -> None:
        train(spec, *others)
        log("dense", dense_key(spec))

    experiment.run_experiment, experiment._Run._keep, dense._train_dense = logged_run, logged_keep, logged_train
    return path


def logged(path: Path) -> list[tuple[str, str, int]]:
    return [(what, of, int(process)) for what, of, process in map(str.split, path.read_text().splitlines())]


def answering(act: Callable[[], Any]) -> tuple[int, Callable[[], Any]]:
    """A new process that acts, and how to wait for what it says; a pipe, because its disk may be full."""
    out, into = os.pipe()
    child = in_child(lambda: os.write(into, json.dumps(act()).encode()))
    os.close(into)

    def answer() -> Any:
        with os.fdopen(out) as pipe:
            said = pipe.read()
        assert exit_code(child) == 0
        return json.loads(said)

    return child, answer


def wait_until(holds: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


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


# -- the faults -------------------------------------------------------------------------------------------------


def kills(folder: Path, n_kills: int) -> None:
    """SIGKILL of workers and parents at random moments, with restarts: as if nothing had happened."""
    begun = time.monotonic()
    assert exit_code(in_child(lambda: sweep(folder / "calm"))) == 0
    longest = (time.monotonic() - begun) / 10  # a busy machine gets more time between kills
    expected, log = files_of(Study(folder / "calm")), log_work(folder)
    draw, n_done, n_rounds = random.Random(n_kills), 0, 0
    while n_done < n_kills:
        study, n_rounds = Study(folder / f"round-{n_rounds}"), n_rounds + 1
        log.write_text("")
        n_killed, n_in_flight = kill_until_done(study, lambda: draw.uniform(0.02, longest), n_kills - n_done)
        assert exit_code(in_child(lambda study=study: sweep(study.path))) == 0  # what killed processes left over goes
        assert files_of(study) == expected
        assert_whole_and_tidy(study)
        n_begun = assert_nothing_twice(log)
        assert n_begun <= len(SPECS) + n_in_flight, f"{n_begun} begun, but only {n_in_flight} in flight at a kill"
        n_done += n_killed
        print(f"{n_killed} kills: {n_begun} begun for {len(SPECS)} runs, {n_in_flight} in flight at a kill", flush=True)
    print(f"{n_done} kills in {n_rounds} sweeps of {len(SPECS)} runs: each study equals the undisturbed one.")


def kill_until_done(study: Study, pause: Callable[[], float], most: int) -> tuple[int, int]:
    """Number of kills until a sweep, started again after each one of its parent, is through; runs in flight at them."""
    n_killed = n_in_flight = 0
    parent = in_child(lambda: sweep(study.path))
    while True:
        time.sleep(pause())
        assert sweep_status(SPECS, study).planned == len(SPECS)
        ended, status = os.waitpid(parent, os.WNOHANG)
        if ended:
            assert status == 0
            return n_killed, n_in_flight
        if n_killed == most:
            continue
        victim = random.choice([parent, *(process.pid for process in psutil.Process(parent).children())])
        os.kill(victim, signal.SIGKILL)
        n_killed, n_in_flight = n_killed + 1, n_in_flight + (2 if victim == parent else 1)
        if victim == parent:
            os.waitpid(parent, 0)
            parent = in_child(lambda: sweep(study.path))


def assert_nothing_twice(log: Path) -> int:
    """Number of runs begun, where no dense network, level or run was computed again once it was finished."""
    said = logged(log)
    finished = Counter(of for what, of, _ in said if what in ("level", "dense"))
    assert finished and max(finished.values()) == 1, f"computed twice: {finished.most_common(3)}"
    ended: set[str] = set()
    for what, of, _ in said:
        assert what != "begin" or of not in ended, f"{of} was begun again after it was finished"
        ended |= {of} if what == "end" else set()
    return sum(what == "begin" for what, _, _ in said)


def crashes(folder: Path, every: int) -> None:
    """The end of a run's process in the middle of its n-th write, sync or rename, for every n (or each `every`th)."""
    spec = replace(TINY, levels=1)
    expected, n = undisturbed_run(folder, spec), 0
    for n in itertools.count(1, every):
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
    log, claims.EXPIRY, claims.HEARTBEAT = log_work(folder), 1.0, 0.2
    for moment in ("while", "after"):
        study = Study(folder / moment)
        first, first_said = answering(lambda study=study: perform_tiny(study.path, spec).state)
        wait_until(lambda first=first: any(what == "level" and by == first for what, _, by in logged(log)))
        os.kill(first, signal.SIGSTOP)
        assert sweep_status([spec], study).running == (spec.key,)
        wait_until(lambda study=study: sweep_status([spec], study).pending == (spec.key,))
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
    for n in itertools.count(1, every):
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
    print("failed" if verdict else "passed", flush=True)


if __name__ == "__main__":
    open_workspace(TINY, ROOT, "cpu")  # read once, so that forks need not
    for line in [" ".join(sys.argv[2:])] if sys.argv[2:] else sys.stdin:
        act(Path(sys.argv[1]), *line.split())
