"""How a job begins, or goes on: a process of its own that outlives whoever started it."""

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from engine.access import check_may_write
from engine.errors import PruneScopeError
from engine.jobs.job import ENDING, FOLDER, LOG, OWNER, PROGRESS, REQUEST, WISH, Job, live_job, missing_runs
from engine.jobs.job_limits import check_room, limits_here, within_limits
from engine.jobs.job_request import JobRequest
from engine.jobs.job_size import job_size
from engine.plain_names import PLAIN_NAME
from engine.store.files import make_folder, one_at_a_time, write_file
from engine.store.people.journal import note_deed, now
from engine.store.process_identity import process_here
from engine.store.study import Study

TOP = Path(__file__).resolve().parents[2]


def start_job(study: Path, request: JobRequest) -> Job:
    """The job that now works on the study; a refusal where another does, nothing is missing or it may not begin."""
    who = check_may_write("a job")
    study = study.resolve()
    request = _checked(study, request)
    with one_at_a_time(study / FOLDER):
        _check_idle(study, request)
        job = Job(study, f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}")
        make_folder(study / "runs")
        write_file(job.folder / REQUEST, request.content(job.id))
        _launch(job, who)
    note_deed(study, who, "started a job", f"{job.id}: {request.preset.title}")
    return job


def go_on(job: Job) -> Job:
    """The job at work again, from its last finished levels."""
    who = check_may_write("a job")
    request = _checked(job.study, job.request())
    with one_at_a_time(job.study / FOLDER):
        _check_idle(job.study, request)
        for name in (ENDING, WISH, PROGRESS):
            (job.folder / name).unlink(missing_ok=True)
        _launch(job, who)
    note_deed(job.study, who, "went on with a job", job.id)
    return job


def _checked(study: Path, request: JobRequest) -> JobRequest:
    """The request within the limits; refused where the study is no place for it or there is nothing to do."""
    if not PLAIN_NAME.match(study.name):
        raise PruneScopeError(f"{study.name!r} is no name for a study; use letters, digits, '.', '_' and '-'.")
    if Study(study).info.get("imported"):
        raise PruneScopeError(f"{study.name} holds predictions that were brought; choose another study to compute in.")
    if not request.preset.specs:
        raise PruneScopeError("There is nothing to run: choose a technique, a treatment and a seed at least.")
    if not missing_runs(request, study):
        raise PruneScopeError(f"All {len(request.keys):,} runs are there already, so there is nothing to do.")
    request = within_limits(request, limits_here())
    check_room(study, job_size(request.preset.specs, study).gigabytes)
    return request


def _check_idle(study: Path, request: JobRequest) -> None:
    """Refuse a second job of a study; that of another machine counts too."""
    job = live_job(study)
    if job is None:
        return
    same = job.request().keys == request.keys
    what = "This is being computed already" if same else f"Another job works on {study.name}"
    raise PruneScopeError(f"{what}: {job.id}. Wait until it is done, or stop it first; finished runs are kept.")


def _launch(job: Job, who: str) -> None:
    """Start the process in a group of its own and write down which it is."""
    with open(job.folder / LOG, "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "engine.jobs.job_process", str(job.study), job.id],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=TOP,
            env=os.environ | {"PYTHONPATH": str(TOP), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
    owner = {**asdict(process_here(process.pid)), "who": who, "time": now()}
    write_file(job.folder / OWNER, json.dumps(owner).encode())
    threading.Thread(target=process.wait, daemon=True).start()  # so that it is buried when it ends
