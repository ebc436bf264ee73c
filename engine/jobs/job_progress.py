"""What a job says of itself while it works: a small file, written anew every second or so."""

import json
import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.errors import PruneScopeError
from engine.jobs.job import HEARTBEAT, PROGRESS
from engine.jobs.job_size import models_of
from engine.run_spec import SCHEMA, Progress, RunSpec
from engine.store.files import write_file
from engine.sweeps.worker import Result

MOST_SHOWN = 40
"""Runs that the file tells of: those at work, then the latest."""
EVERY = 1.0


@dataclass
class _Heard:
    """What was heard of one run."""

    spec: RunSpec
    state: str = "waiting"
    level: int = 0
    epoch: int = 0
    n_epochs: int = 0
    accuracies: dict[int, float] = field(default_factory=dict)
    at: float = 0.0

    def told(self) -> dict[str, Any]:
        return {
            "run": self.spec.key,
            "technique": self.spec.technique,
            "treatment": self.spec.treatment,
            "seed": self.spec.seed,
            "state": self.state,
            "level": self.level,
            "n_levels": models_of(self.spec) - 1,
            "epoch": self.epoch,
            "n_epochs": self.n_epochs,
            "accuracies": [[level, round(value, 4)] for level, value in sorted(self.accuracies.items())],
        }


class ProgressFile:
    """Listens to a sweep and keeps the file fresh."""

    def __init__(self, folder: Path, specs: tuple[RunSpec, ...], there: set[str]) -> None:
        self._path, self._begun = folder / PROGRESS, time.monotonic()
        self._began_at = datetime.now(UTC).isoformat(timespec="seconds")
        self._runs = {spec.key: _Heard(spec) for spec in specs if spec.key not in there}
        self._n_runs, self._n_there = len(specs), len(specs) - len(self._runs)
        self._n_models = sum(models_of(heard.spec) for heard in self._runs.values())
        self._written, self._changed = -math.inf, True

    def listen(self, event: Progress | Result) -> str:
        """Take note of an event; the line that the log gets, empty for most."""
        heard = self._runs.get(event.run if isinstance(event, Progress) else event.key)
        if heard is None:
            return ""
        heard.at, self._changed = time.monotonic(), True
        if isinstance(event, Progress):
            heard.state, heard.level = "running", event.level
            heard.epoch, heard.n_epochs = event.epoch, event.n_epochs
            if event.level and not math.isnan(event.accuracy):
                heard.accuracies[event.level - 1] = event.accuracy
            return ""
        spec = heard.spec
        words = f"{spec.dataset} {spec.network} {spec.technique} {spec.treatment} seed {spec.seed}"
        if event.state == "crowded":
            heard.state, heard.epoch = "waiting", 0
            return f"{event.key} waits: {words}. {event.reason}"
        heard.state = "failed" if event.state == "failed" else "done"
        n = self._n_there + self._count("done") + self._count("failed")
        reason = event.reason.strip().splitlines()[-1] if event.reason.strip() else ""
        return f"{n}/{self._n_runs} {event.key} {event.state}: {words}, {event.seconds:.0f} s. {reason}".rstrip()

    def keep_fresh(self, at_once: bool = False) -> None:
        """Write the file where something was heard since, or nothing was written for a while; a full disk is borne."""
        silence = time.monotonic() - self._written
        if not at_once and (silence < EVERY or (not self._changed and silence < HEARTBEAT)):
            return
        self._changed, self._written = False, time.monotonic()
        try:
            write_file(self._path, json.dumps(self.told()).encode())
        except PruneScopeError:
            pass

    def told(self) -> dict[str, Any]:
        """How far it is: runs, models, models a minute, seconds left, and the runs one by one."""
        runs = list(self._runs.values())
        done = sum(self._models_done(heard) for heard in runs)
        seconds = time.monotonic() - self._begun
        rate = done / seconds if seconds > 0 else 0.0
        at_work = [heard for heard in runs if heard.state == "running"]
        others = sorted((heard for heard in runs if heard.state in ("done", "failed")), key=lambda heard: -heard.at)
        return {
            "schema": SCHEMA,
            "began": self._began_at,
            "seconds": round(seconds, 1),
            "n_runs": self._n_runs,
            "n_there": self._n_there,
            "n_done": self._count("done"),
            "n_failed": self._count("failed"),
            "n_models": self._n_models,
            "models_done": round(done, 3),
            "models_a_minute": round(60 * rate, 2),
            "seconds_left": round((self._n_models - done) / rate) if rate else None,
            "runs": [heard.told() for heard in [*at_work, *others][:MOST_SHOWN]],
        }

    def _count(self, state: str) -> int:
        return sum(heard.state == state for heard in self._runs.values())

    def _models_done(self, heard: _Heard) -> float:
        if heard.state in ("done", "failed"):
            return models_of(heard.spec)
        return heard.level + (heard.epoch / heard.n_epochs if heard.n_epochs else 0)
