"""A job's own process: `python -m engine.jobs.job_process STUDY ID` works through the request and says how it ended."""

import json
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from engine.errors import PruneScopeError
from engine.jobs.job import ENDING, OWNER, Job, missing_runs, read_small
from engine.jobs.job_limits import SPARE_GIGABYTES
from engine.jobs.job_progress import ProgressFile
from engine.jobs.job_request import JobRequest
from engine.jobs.stop_job import GRACE
from engine.run_spec import SCHEMA, Progress
from engine.store.files import write_file
from engine.store.people.journal import now
from engine.store.process_identity import this_process
from engine.sweeps.sweep import run_sweep
from engine.sweeps.worker import Result, RunContext

LOOKS_EVERY = 0.5
WEIGHS_EVERY = 30.0
"""Seconds between two looks at the clock and the disk, and at what the job itself has written."""


class _Work:
    """The job at work: listens, keeps its progress fresh, and stops itself where a limit is reached."""

    def __init__(self, job: Job, request: JobRequest) -> None:
        self.job, self.request = job, request
        there = set(request.keys) - set(missing_runs(request, job.study))
        self.progress = ProgressFile(job.folder, request.preset.specs, there)
        self.new = set(request.keys) - there
        self.reason = ""
        self._begun, self._weighed = time.monotonic(), -WEIGHS_EVERY
        self._lock = threading.Lock()

    def listen(self, event: Progress | Result) -> None:
        """Take note of what a run reports."""
        with self._lock:
            line = self.progress.listen(event)
        if line:
            say(line)

    def say_last(self) -> None:
        """Write down how far it came."""
        with self._lock:
            self.progress.keep_fresh(at_once=True)

    def watch(self) -> None:
        """Keep the progress fresh and look at the limits until the process ends."""
        while True:
            with self._lock:
                self.progress.keep_fresh()
            if not self.reason and (reason := self._reached_limit()):
                self.reason = reason
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(LOOKS_EVERY)

    def results(self) -> list[Result]:
        """What each missing run came to."""
        request = self.request
        context = RunContext(self.job.study, Path(request.data), request.device, request.trust)
        if request.ray:
            from engine.sweeps.ray_workers import run_on_ray

            return run_on_ray(request.preset, context, request.ray, self.listen)
        return run_sweep(request.preset, context, request.workers or None, self.listen)

    def _reached_limit(self) -> str:
        request = self.request
        if request.hours and time.monotonic() - self._begun > 3600 * request.hours:
            return f"Its {request.hours:g} hours are used up. Going on gives it as many again."
        free = shutil.disk_usage(self.job.study).free / 1e9
        if free < SPARE_GIGABYTES:
            return f"Only {free:.1f} GB are free on the disk. Make room, then go on."
        if request.gigabytes and time.monotonic() - self._weighed > WEIGHS_EVERY:
            self._weighed = time.monotonic()
            written = sum(_gigabytes(self.job.study / kind / key) for kind in ("runs", "work") for key in self.new)
            if written > request.gigabytes:
                return f"Its {request.gigabytes:g} GB are used up. Allow more, or ask for fewer runs."
        return ""


def main(arguments: Sequence[str]) -> int:
    """Work the job through; 0 done, 1 failed, 130 stopped."""
    _hear_interrupts()
    job = Job(Path(arguments[0]).resolve(), arguments[1])
    owner = read_small(job.folder / OWNER) | asdict(this_process())
    write_file(job.folder / OWNER, json.dumps(owner).encode())
    state, reason = "failed", ""
    work: _Work | None = None
    try:
        request = job.request()
        work = _Work(job, request)
        threading.Thread(target=work.watch, daemon=True).start()
        say(f"{request.preset.title}: {len(work.new):,} of {len(request.keys):,} runs to do.")
        state, reason = _judged(work.results())
    except KeyboardInterrupt:
        _end_within(GRACE)
        state, reason = "stopped", work.reason if work else ""
    except PruneScopeError as error:
        reason = str(error)
    except Exception as error:  # a fault of ours: the log has all of it
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}"
    say(f"{state}. {reason}".strip())
    if work is not None:
        work.say_last()
    values = {"schema": SCHEMA, "state": state, "reason": reason, "time": now()}
    with suppress(PruneScopeError):  # a full disk: without its last word the job counts as stopped
        write_file(job.folder / ENDING, json.dumps(values).encode())
    return {"done": 0, "failed": 1}.get(state, 130)


def say(line: str) -> None:
    """Write a line to the log, with the time."""
    with suppress(OSError):
        print(f"{time.strftime('%H:%M:%S', time.gmtime())} {line}", flush=True)


def _judged(results: Sequence[Result]) -> tuple[str, str]:
    failed = [result for result in results if result.state == "failed"]
    if not failed:
        return "done", ""
    lines = failed[0].reason.strip().splitlines()
    n = f"{len(failed):,} run{'s' * (len(failed) > 1)}"
    return "failed", f"{n} failed, {len(results) - len(failed):,} finished. The first: {lines[-1] if lines else ''}"


def _hear_interrupts() -> None:
    """Let an interrupt or a polite end arrive, whatever the process that started this one had told the system."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def _end_within(seconds: float) -> None:
    """Kill this process with its group where it takes longer to end than this."""

    def kill() -> None:
        time.sleep(seconds)
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()


def _gigabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9 if folder.is_dir() else 0.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
