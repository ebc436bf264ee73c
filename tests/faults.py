"""Faults on purpose: one process loads torch once, forks sweeps of tiny runs from itself, and kills, stops or starves them.

`python -m tests.faults NAME FOLDER [NUMBER]` runs one of the functions below; it fails where what should hold does not.
"""

import builtins
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

from engine import catalog, claims, experiment, files
from engine.laboratory import open_laboratory
from engine.preset import Preset
from engine.records import RunSpec
from engine.specs import checked
from engine.store import Study
from engine.sweep import run_sweep, sweep_status
from engine.verify import verify_study
from engine.worker import Place, Result, perform
from tests.studies import files_of

ROOT = Path("unused")
TINY = checked(RunSpec("digits", "lenet", "global_unstructured", levels=3, epochs=1, batch_size=128))
TECHNIQUES = ("global_unstructured", "l1_structured", "random_unstructured", "random_structured")
SPECS = tuple(
    replace(TINY, technique=technique, treatment=treatment, seed=seed)
    for seed in range(3)
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

    run, keep, train = experiment.run_experiment, experiment._Run._keep, experiment._train_dense

    def logged_run(spec: RunSpec, study: Study, *others: object) -> object:
        if study.has_run(spec.key):
            return run(spec, study, *others)
        log("begin", spec.key)
        finished = run(spec, study, *others)
        log("end", spec.key)
        return finished

    def logged_keep(self: object, outcome: object, seconds: float) -> None:
        keep(self, outcome, seconds)
        log("level", f"{self.spec.key}/{outcome.level}")

    def logged_train(spec: RunSpec, *others: object) -> None:
        train(spec, *others)
        log("dense", spec.dense_key)

    experiment.run_experiment, experiment._Run._keep, experiment._train_dense = logged_run, logged_keep, logged_train
    return path


def logged(path: Path) -> list[tuple[str, str, int]]:
    return [(what, of, int(process)) for what, of, process in map(str.split, path.read_text().splitlines())]


def in_child(act: Callable[[], object]) -> int:
    """Number of a new process that acts and ends."""
    if child := os.fork():
        return child
    code = 1
    try:
        act()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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


def wait_until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def sweep(study: Path) -> None:
    run_sweep(SWEEP, Place(study, ROOT, "cpu"), 2, lambda event: None, method="fork")


def perform_tiny(study: Path, spec: RunSpec = TINY) -> Result:
    return perform(spec, Place(study, ROOT, "cpu"))


def assert_whole_and_tidy(study: Study) -> None:
    """Nothing is broken, nothing is left over, nobody claims anything."""
    assert verify_study(study) == []
    there = [path for path in study.path.rglob("*") if path.name.endswith(files.TEMPORARY)]
    assert there == [], there
    assert not list((study.path / "work").glob("*")) and not list((study.path / "claims").glob("*"))
    assert not list((study.path / "failures").glob("*"))


def undisturbed(folder: Path) -> dict[str, dict[str, str]]:
    """What a sweep leaves that nothing happens to."""
    assert exit_code(in_child(lambda: sweep(folder / "calm"))) == 0
    assert_whole_and_tidy(Study(folder / "calm"))
    return files_of(Study(folder / "calm"))


# -- the faults -------------------------------------------------------------------------------------------------


def kills(folder: Path, n_kills: int) -> None:
    """SIGKILL of workers and parents at random moments, with restarts: as if nothing had happened."""
    expected, log = undisturbed(folder), log_work(folder)
    draw, n_done, n_rounds = random.Random(n_kills), 0, 0
    while n_done < n_kills:
        study, n_rounds = Study(folder / f"round-{n_rounds}"), n_rounds + 1
        log.write_text("")
        n_killed, n_in_flight = kill_until_done(study, draw)
        assert exit_code(in_child(lambda study=study: sweep(study.path))) == 0  # what killed processes left over goes
        assert files_of(study) == expected
        assert_whole_and_tidy(study)
        n_begun = assert_nothing_twice(log)
        assert n_begun <= len(SPECS) + n_in_flight, f"{n_begun} begun, but only {n_in_flight} in flight at a kill"
        n_done += n_killed
        print(f"{n_killed} kills: {n_begun} begun for {len(SPECS)} runs, {n_in_flight} in flight at a kill", flush=True)
    print(f"{n_done} kills in {n_rounds} sweeps of {len(SPECS)} runs: each study equals the undisturbed one.")


def kill_until_done(study: Study, draw: random.Random) -> tuple[int, int]:
    """Number of kills until a sweep, started again after each one of its parent, is through; runs in flight at them."""
    n_killed = n_in_flight = 0
    parent = in_child(lambda: sweep(study.path))
    while True:
        time.sleep(draw.uniform(0.02, 0.4))
        assert sweep_status(SPECS, study).planned == len(SPECS)
        ended, status = os.waitpid(parent, os.WNOHANG)
        if ended:
            assert status == 0
            return n_killed, n_in_flight
        victim = draw.choice([parent, *(process.pid for process in psutil.Process(parent).children())])
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
    """The end of the process in the middle of the n-th write, sync or rename, for every n (or each `every`th)."""
    spec = replace(TINY, levels=1)
    assert perform_tiny(folder / "calm", spec).state == "done"
    expected, n = files_of(Study(folder / "calm")), 0
    while True:
        n += every
        study = Study(folder / f"crash-{n}")
        child = in_child(lambda n=n, study=study: (crash_at(n), perform_tiny(study.path, spec), catalog.refresh(study)))
        crashed = exit_code(child) == CRASHED
        assert verify_study(study) == []
        assert len(study.levels()) == 2 * len(study.runs())
        assert exit_code(in_child(lambda study=study: sweep_one(study.path, spec))) == 0
        assert files_of(study) == expected
        assert_whole_and_tidy(study)
        if not crashed:
            break
    print(f"{n - every} moments: whole after each, and the run is made after each.")


CRASHED = 77


def crash_at(n: int) -> None:
    """From now on, end this process at its n-th write, sync or rename; a write gets half way."""
    left = [n]

    def counted(act: Callable[..., object]) -> Callable[..., object]:
        def acting(*arguments: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                os._exit(CRASHED)
            return act(*arguments, **named)

        return acting

    for name in ("fsync", "replace", "rename", "link", "mkdir", "unlink", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))

    def counted_open(path: Path, mode: str) -> object:
        file = builtins.open(path, mode)

        def write(content: bytes) -> None:
            left[0] -= 1
            if left[0] == 0:
                file.write(content[: len(content) // 2])
                file.flush()
                os._exit(CRASHED)
            file.write(content)

        class Counted:
            def __enter__(self) -> "Counted":
                return self

            def __exit__(self, *error: object) -> None:
                file.close()

        opened = Counted()
        opened.write, opened.flush, opened.fileno = write, file.flush, file.fileno
        return opened

    files.open = counted_open


def sweep_one(study: Path, spec: RunSpec) -> None:
    run_sweep(Preset("one", "One run", "", (spec,)), Place(study, ROOT, "cpu"), 1, lambda event: None, method="fork")


def frozen(folder: Path, n_levels: int) -> None:
    """A worker stopped past its claim's expiry and woken while another works, or once that is done: one result."""
    spec = replace(TINY, levels=n_levels)
    assert perform_tiny(folder / "calm", spec).state == "done"
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
        assert files_of(study) == files_of(Study(folder / "calm"))
        assert exit_code(in_child(lambda study=study: sweep_one(study.path, spec))) == 0
        assert_whole_and_tidy(study)
    print("Stopped past the expiry and woken while another worked and after it: one result each time.")


def full_disk(folder: Path, every: int) -> None:
    """No room from the n-th write on, for every n (or each `every`th): a failure with its reason; then there is room."""
    spec, n = replace(TINY, levels=1), 0
    assert perform_tiny(folder / "calm", spec).state == "done"
    while True:
        n += every
        study = Study(folder / f"full-{n}")
        _, said = answering(lambda n=n, study=study: (fill_at(n), perform_tiny(study.path, spec))[1].__dict__)
        result = said()
        if result["state"] == "done":
            break
        assert result["state"] == "failed" and "the file-size limit is reached" in result["reason"], result
        assert "Traceback" not in result["reason"]
        assert verify_study(study) == []
        status = sweep_status([spec], study)
        assert status.planned == 1 and not status.running and not status.done
        assert exit_code(in_child(lambda study=study: sweep_one(study.path, spec))) == 0
        assert files_of(study) == files_of(Study(folder / "calm"))
        assert_whole_and_tidy(study)
    print(
        f"{n - every} writes without room: a failure with its reason each time, and the run is made once there is room."
    )


def fill_at(n: int) -> None:
    """From the n-th write of this process on, no file may grow beyond half of what that one wants."""
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
        results = run_sweep(SWEEP, Place(study.path, ROOT, "cpu"), 2, lambda event: None, method="fork")
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
        results = run_sweep(SWEEP, Place(study.path, ROOT, "cpu"), 2, lambda event: None, method="fork")
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


if __name__ == "__main__":
    name, place, number = sys.argv[1:]
    open_laboratory(TINY, ROOT, "cpu")  # read once, so that forks need not
    globals()[name](Path(place), int(number))
