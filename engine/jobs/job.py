"""A job as its folder tells it: nothing claims a state, it follows from what is there and which process lives."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine.errors import PruneScopeError
from engine.jobs.job_request import JobRequest, read_request
from engine.plain_names import PLAIN_NAME
from engine.store.process_identity import ProcessIdentity, is_alive
from engine.store.study import Study

FOLDER = "jobs"
REQUEST, OWNER, PROGRESS, ENDING, WISH, LOG = (
    "request.json",
    "owner.json",
    "progress.json",
    "ending.json",
    "wish.json",
    "log.txt",
)
HEARTBEAT = 5.0
"""Seconds after which a living job has written its progress again, whatever happens."""
SILENT = 30.0
"""Seconds of silence after which a job of another machine counts as gone."""
LOG_TAIL = 16_000

Word = Literal["running", "stopping", "done", "failed", "stopped"]
LIVE: tuple[Word, ...] = ("running", "stopping")


@dataclass(frozen=True)
class JobState:
    """How a job stands, and why it ended, where it says so."""

    word: Word
    reason: str = ""

    @property
    def is_live(self) -> bool:
        """Whether its process is at work."""
        return self.word in LIVE

    @property
    def can_go_on(self) -> bool:
        """Whether starting it again would do something."""
        return self.word in ("failed", "stopped")


@dataclass(frozen=True)
class Job:
    """One job of a study, by its folder."""

    study: Path
    id: str

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self.study / FOLDER / self.id

    def request(self) -> JobRequest:
        """What it was asked to do."""
        try:
            return read_request((self.folder / REQUEST).read_bytes(), self.id)
        except OSError as error:
            raise PruneScopeError(f"Job {self.id} has no request that can be read: {error}.") from error

    def owner(self) -> dict[str, Any]:
        """Which process it is, who started it and when; empty where that cannot be read."""
        return read_small(self.folder / OWNER)

    def progress(self) -> dict[str, Any]:
        """What it last said of itself; empty before the first word."""
        return read_small(self.folder / PROGRESS)

    def wish(self) -> str:
        """What it was last told to do: `pause`, `cancel`, or nothing."""
        return str(read_small(self.folder / WISH).get("wish", ""))

    def log(self, most: int = LOG_TAIL) -> str:
        """The end of its log."""
        try:
            with open(self.folder / LOG, "rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - most))
                return file.read().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def process(self) -> ProcessIdentity | None:
        """Its process, dead or alive; None where its owner cannot be read."""
        values = self.owner()
        try:
            return ProcessIdentity(str(values["host"]), int(values["process"]), str(values["began"]))
        except (KeyError, ValueError, TypeError):
            return None

    def is_live(self) -> bool:
        """Whether its process lives; of one on another machine, whether it was heard of lately."""
        process = self.process()
        alive = None if process is None else is_alive(process)
        if alive is not None or process is None:
            return bool(alive)
        try:
            heard = max((self.folder / name).stat().st_mtime for name in (OWNER, PROGRESS) if self._has(name))
        except (OSError, ValueError):
            return False
        return abs(time.time() - heard) <= SILENT

    def state(self) -> JobState:
        """How it stands now."""
        if self.is_live():
            return JobState("stopping" if self.wish() else "running")
        ending = read_small(self.folder / ENDING)
        try:
            missing = missing_runs(self.request(), self.study)
        except PruneScopeError as error:
            return JobState("failed", str(error))
        if not missing:
            return JobState("done")
        if ending.get("state") == "failed":
            return JobState("failed", str(ending.get("reason", "")))
        return JobState("stopped", str(ending.get("reason", "")) or self._why_stopped(bool(ending)))

    def _why_stopped(self, said_goodbye: bool) -> str:
        wish = self.wish()
        if wish:
            return "It was cancelled." if wish == "cancel" else "It was paused."
        if said_goodbye:
            return "It was interrupted."
        return "Its process is gone: it was killed, ran out of memory, or the machine was restarted."

    def _has(self, name: str) -> bool:
        return (self.folder / name).exists()


def jobs_of(study: Path) -> list[Job]:
    """The jobs of a study, the newest first."""
    try:
        names = [path.name for path in (study / FOLDER).iterdir() if (path / REQUEST).exists()]
    except OSError:
        return []
    return [Job(study, name) for name in sorted(names, reverse=True) if PLAIN_NAME.match(name)]


def find_job(study: Path, id: str) -> Job:
    """The job of this name; a refusal that names those that exist where there is none."""
    jobs = jobs_of(study)
    found = next((job for job in jobs if job.id == id), None)
    if found is None:
        there = ", ".join(job.id for job in jobs[:5]) or "none"
        raise PruneScopeError(f"There is no job {id!r} in {study.name}; there is {there}.")
    return found


def live_job(study: Path) -> Job | None:
    """The job that works on a study now, if one does."""
    return next((job for job in jobs_of(study) if job.is_live()), None)


def missing_runs(request: JobRequest, study: Path) -> list[str]:
    """Keys of the runs that the study does not have yet."""
    there = Study(study).run_names()
    return [key for key in request.keys if key not in there]


def read_small(path: Path) -> dict[str, Any]:
    """A small JSON file of a job; empty where it is not there or is no such thing."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
