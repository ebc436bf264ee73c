"""Small jobs for tests: a sweep of seconds, its tables, and the processes that it leaves."""

from pathlib import Path

import pandas as pd
import psutil

from engine.jobs.job_request import JobRequest
from engine.specs.preset import read_preset
from engine.store.study import Study

PRESET = """
title = "A few digits"
[[grid]]
datasets = ["digits"]
networks = ["lenet"]
techniques = ["global_unstructured"]
seeds = [0, 1]
[grid.protocol]
epochs = {epochs}
levels = {levels}
learning_rate = 0.05
"""


def small_request(root: Path, epochs: int = 1, levels: int = 3, workers: int = 1) -> JobRequest:
    """Two runs on digits, which need no data set of this machine."""
    preset = read_preset("few", PRESET.format(epochs=epochs, levels=levels))
    return JobRequest(preset, str(root), "cpu", workers)


def tables(study: Path) -> tuple[pd.DataFrame, pd.DataFrame, list[list[list[int]]]]:
    """All that a study says of its models: levels, classes, predictions; in one order."""
    kept = Study(study)
    order = ["run", "level"]
    levels = kept.levels().astype({"run": str}).sort_values(order, ignore_index=True)
    classes = kept.classes().astype({"run": str}).sort_values([*order, "class"], ignore_index=True)
    return levels, classes, [kept.prediction_matrix(key)[1].tolist() for key in kept.runs()]


def assert_same_tables(one: Path, other: Path) -> None:
    """Refuse two studies that differ in anything that pages show."""
    (levels, classes, said), (levels2, classes2, said2) = tables(one), tables(other)
    pd.testing.assert_frame_equal(levels, levels2)
    pd.testing.assert_frame_equal(classes, classes2)
    assert said == said2


def processes_of(study: Path) -> list[int]:
    """Processes at work for jobs of a study, workers included; those that wait to be buried are none."""
    leaders, found = [], []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        words = process.info["cmdline"] or []
        if "engine.jobs.job_process" in words and str(study) in words and process.info["status"] != "zombie":
            leaders.append(process)
    for leader in leaders:
        try:
            found += [leader.pid, *(child.pid for child in leader.children(recursive=True))]
        except psutil.NoSuchProcess:
            continue
    return found


def alive(pids: list[int]) -> list[int]:
    """Those of the processes that still run."""
    left = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                left.append(pid)
        except psutil.NoSuchProcess:
            continue
    return left
