"""A log of which process began, kept or ended what in a sweep, and what may never stand in it."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from engine.run_spec import RunSpec
from engine.runs import dense
from engine.runs import run as experiment
from engine.runs.work_files import WorkFiles
from engine.specs.dense_key import dense_key
from engine.store.study import Study

Line = tuple[str, str, int]
"""What happened, to what, in which process."""


def log_work(folder: Path) -> Path:
    """A file that says from now on which process began, kept or ended what, in this process and those it forks."""
    path = folder / "log"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def log(*words: object) -> None:
        os.write(handle, (" ".join(map(str, (*words, os.getpid()))) + "\n").encode())

    run, keep, train = experiment.run_experiment, WorkFiles.keep, dense._train_dense

    def logged_run(spec: RunSpec, study: Study, *others: object) -> object:
        if study.has_run(spec.key):
            return run(spec, study, *others)
        log("begin", spec.key)
        finished = run(spec, study, *others)
        log("end", spec.key)
        return finished

    def logged_keep(self: Any, result: Any, *others: object) -> None:
        keep(self, result, *others)
        log("level", f"{self.key}/{result.level}")

    def logged_train(spec: RunSpec, *others: object) -> None:
        train(spec, *others)
        log("dense", dense_key(spec))

    experiment.run_experiment, WorkFiles.keep, dense._train_dense = logged_run, logged_keep, logged_train
    return path


def logged(path: Path) -> list[Line]:
    """Every line so far."""
    return [(act, thing, int(process)) for act, thing, process in map(str.split, path.read_text().splitlines())]


def assert_nothing_twice(path: Path) -> int:
    """Number of runs begun, where no dense network, level or run was computed again once it was finished."""
    lines = logged(path)
    finished = Counter(thing for act, thing, _ in lines if act in ("level", "dense"))
    assert finished and max(finished.values()) == 1, f"computed twice: {finished.most_common(3)}"
    ended: set[str] = set()
    for act, thing, _ in lines:
        assert act != "begin" or thing not in ended, f"{thing} was begun again after it was finished"
        ended |= {thing} if act == "end" else set()
    return sum(act == "begin" for act, _, _ in lines)
