"""One run of a sweep: claimed, computed, and its failure kept; what a pool's process and a Ray task both do."""

import json
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.claims import claim
from engine.files import write_file
from engine.records import PruneScopeError, RunSpec, Watcher
from engine.store import Study

State = Literal["done", "found", "busy", "failed"]


@dataclass(frozen=True)
class Result:
    """How one run of a sweep went: done now, found finished, busy elsewhere, or failed with its reason."""

    key: str
    state: State
    reason: str = ""
    seconds: float = 0.0


def perform(spec: RunSpec, study: Study, root: Path, device: str, watch: Watcher = lambda progress: None) -> Result:
    """Compute one run unless it is finished or somebody else works on it; never raises for a run that fails."""
    from engine.experiment import run_experiment

    key, begun = spec.key, time.monotonic()
    if study.has_run(key):
        return Result(key, "found")
    with claim(study.path / "claims", key) as ours:
        if not ours:
            return Result(key, "busy")
        try:
            finished = run_experiment(spec, study, root, device, watch)
        except Exception as error:  # the others go on; the reason is kept
            reason = str(error) if isinstance(error, PruneScopeError) else traceback.format_exc()
            _note_failure(study, key, reason)
            return Result(key, "failed", reason, time.monotonic() - begun)
        failure_file(study, key).unlink(missing_ok=True)
        return Result(key, "done" if finished.computed else "found", finished.stopped, time.monotonic() - begun)


def failure_file(study: Study, key: str) -> Path:
    """Where the reason of a failed run is kept until it succeeds."""
    return study.path / "failures" / f"{key}.json"


def _note_failure(study: Study, key: str, reason: str) -> None:
    try:
        write_file(failure_file(study, key), json.dumps({"run": key, "reason": reason}, indent=1).encode())
    except PruneScopeError:
        pass  # a full disk: the reason still reaches whoever started the sweep
