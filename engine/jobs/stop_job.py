"""How a job is stopped: an interrupt to its group, and the end of it where that is not heard."""

import json
import os
import signal
import time
from typing import Literal

from engine.access import check_may_write
from engine.errors import PruneScopeError
from engine.jobs.job import WISH, Job, missing_runs
from engine.run_spec import SCHEMA
from engine.store.claims import living_claims, remove_dead_claims
from engine.store.files import write_file
from engine.store.people.journal import note_deed, now
from engine.store.process_identity import is_alive
from engine.store.study import Study

GRACE = 20.0
"""Seconds that an interrupted job has to end by itself."""
LAST_MOMENT = 2.0
"""Seconds that its workers have once it is gone."""

Wish = Literal["pause", "cancel"]


def ask_to_stop(job: Job, wish: Wish) -> None:
    """Interrupt the job and come back at once; it ends within GRACE seconds, as itself sees to. Refused where it
    does not run here."""
    who = check_may_write("a job")
    process = job.process()
    if process is None or not job.is_live():
        raise PruneScopeError(f"Job {job.id} is not running, so there is nothing to stop.")
    if is_alive(process) is None:
        raise PruneScopeError(f"Job {job.id} runs on another machine; stop it there.")
    write_file(job.folder / WISH, json.dumps({"schema": SCHEMA, "wish": wish, "who": who, "time": now()}).encode())
    note_deed(job.study, who, "paused a job" if wish == "pause" else "cancelled a job", job.id)
    _signal(job, signal.SIGINT)


def stop_job(job: Job, wish: Wish) -> None:
    """The job is gone when this comes back: interrupted, and killed after GRACE seconds. What was cancelled leaves no
    half-finished runs; finished ones stay."""
    ask_to_stop(job, wish)
    see_it_end(job)


def see_it_end(job: Job) -> None:
    """Wait for a job that was asked to stop, kill it after GRACE seconds, and clear up after a cancelled one."""
    end = time.monotonic() + GRACE
    while job.is_live() and time.monotonic() < end:
        time.sleep(0.1)
    if job.is_live():
        _signal(job, signal.SIGKILL)
        while job.is_live():
            time.sleep(0.05)
    _bury_group(job)
    if job.wish() == "cancel":
        clear_unfinished(job)


def clear_unfinished(job: Job) -> None:
    """Remove the levels of the job's runs that are not finished and that nobody else works on."""
    study = Study(job.study)
    remove_dead_claims(study.path / "claims")
    busy = living_claims(study.path / "claims")
    for key in missing_runs(job.request(), job.study):
        if key not in busy:
            study.clear_work(key)


def _bury_group(job: Job) -> None:
    """Wait for those that the job's process started, which end with it, and kill who does not."""
    process = job.process()
    end = time.monotonic() + LAST_MOMENT
    while process is not None and _has_group(process.process):  # looked at all the time, so that it stays the same one
        if time.monotonic() > end:
            os.killpg(process.process, signal.SIGKILL)
            return
        time.sleep(0.02)


def _has_group(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signal(job: Job, number: int) -> None:
    """Send a signal to the job's group, where its process is still the one that was started."""
    process = job.process()
    if process is None or not is_alive(process):
        return
    try:
        os.killpg(process.process, number)
    except ProcessLookupError:
        pass
