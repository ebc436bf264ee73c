"""One run of a sweep: claimed, computed, and its failure kept; what a pool's process and a Ray task both do."""

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.errors import PruneScopeError
from engine.import_path import trusting
from engine.run_spec import RunSpec, Watcher
from engine.specs.registration import OwnRows
from engine.store.claims import claim
from engine.store.files import sealed_json, write_file
from engine.store.study import Study

RunState = Literal["done", "found", "busy", "crowded", "failed"]
"""`crowded`: there was not memory enough beside the others."""


@dataclass(frozen=True)
class RunContext:
    """Where runs are worked on: the study, the data sets, the device; and which code of the user's own may run there:
    that of import paths, where these are trusted, and rows that were registered."""

    study: Path
    root: Path
    device: str
    trust: bool = False
    own: OwnRows = OwnRows()


@dataclass(frozen=True)
class Result:
    """How one run of a sweep went: done now, found, busy elsewhere, without memory, or failed with its reason."""

    key: str
    state: RunState
    reason: str = ""
    seconds: float = 0.0


def execute_run(spec: RunSpec, context: RunContext, watch: Watcher = lambda progress: None) -> Result:
    """Compute one run unless it is finished or somebody else works on it; never raises for a run that fails.

    A finished run whose example table is gone brings that back.
    """
    study, begun = Study(context.study), time.monotonic()
    if study.has_run(spec.key) and not study.lacks_examples(spec):
        return Result(spec.key, "found")
    context.own.install()
    try:
        with trusting(context.trust), claim(study.path / "claims", spec.key) as ours:
            state, reason = _compute(spec, study, context, watch) if ours else ("busy", "")
    except PruneScopeError as error:  # not even the claim could be written
        state, reason = "failed", str(error)
    return Result(spec.key, state, reason, time.monotonic() - begun)


def _compute(spec: RunSpec, study: Study, context: RunContext, watch: Watcher) -> tuple[RunState, str]:
    from engine.runs.kept_examples import keep_examples
    from engine.runs.run import run_experiment
    from engine.runs.workspace import open_workspace

    was_there = study.has_run(spec.key)
    try:
        if was_there:
            keep_examples(study, spec, open_workspace(spec, context.root, context.device))
        finished = run_experiment(spec, study, context.root, context.device, watch)
    except Exception as error:  # the others go on; the reason is kept
        if study.has_run(spec.key) and not was_there:
            return "found", ""  # somebody took over while this process was frozen, and was first
        if is_out_of_memory(error):
            return "crowded", str(error)
        reason = str(error) if isinstance(error, PruneScopeError) else traceback.format_exc()
        note_failure(study, spec.key, reason)
        return "failed", reason
    failure_file(study, spec.key).unlink(missing_ok=True)
    notes = filter(None, (finished.mended, finished.stopped, finished.warned))
    return "done" if finished.computed else "found", " ".join(notes)


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out, on a GPU or in the machine."""
    import torch

    on_cpu = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or on_cpu


class ThisProcess:
    """The calling process as the only worker of a sweep: nothing starts the calling script again."""

    def __init__(self, context: RunContext, watch: Watcher) -> None:
        self._context, self._watch = context, watch
        self._spec: RunSpec | None = None

    def idle(self) -> int:
        """One, unless a run waits to be computed."""
        return int(self._spec is None)

    def hand_out(self, spec: RunSpec) -> None:
        """Take a run, which `events` computes."""
        self._spec = spec

    def events(self, seconds: float) -> Iterator[Result]:
        """The run's result once it is computed; after these seconds nothing where others work on all that is left."""
        spec, self._spec = self._spec, None
        if spec is None:
            time.sleep(seconds)
        else:
            yield execute_run(spec, self._context, self._watch)

    def halve(self) -> int:
        """One: there are no others that could wait."""
        return 1

    def close(self) -> None:
        """Nothing: there is nobody to end."""


def failure_file(study: Study, key: str) -> Path:
    """Where the reason of a failed run is kept until it succeeds."""
    return study.path / "failures" / f"{key}.json"


def note_failure(study: Study, key: str, reason: str) -> None:
    """Keep the reason of a failed run, where there is room for it."""
    try:
        write_file(failure_file(study, key), sealed_json({"run": key, "reason": reason}, indent=1))
    except PruneScopeError:
        pass  # a full disk: the reason still reaches whoever started the sweep
