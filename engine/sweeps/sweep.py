"""Many runs: which are there, which are wanted, and how a pool works through them, whatever happens to it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from engine.errors import PruneScopeError
from engine.run_spec import Progress, RunSpec
from engine.specs.dense_key import dense_key
from engine.specs.experiment_names import name_tables, names_in_study, quoted
from engine.specs.preset import Preset
from engine.store import catalog
from engine.store.claims import living_claims, remove_dead_claims
from engine.store.files import remove_leftovers, write_file
from engine.store.study import Study, examples_name
from engine.sweeps.pool import Event, Lost, Pool
from engine.sweeps.worker import Result, RunContext, ThisProcess, note_failure
from engine.sweeps.worker_count import WorkerCount, as_many_as_fit

MOST_LOSSES = 3
"""How often a run may take its process down before it counts as failed."""


@dataclass(frozen=True)
class Status:
    """Where a sweep stands; the four states add up to what is planned."""

    done: tuple[str, ...]
    failed: tuple[str, ...]
    running: tuple[str, ...]
    pending: tuple[str, ...]

    @property
    def planned(self) -> int:
        """Number of runs of the sweep."""
        return len(self.done) + len(self.failed) + len(self.running) + len(self.pending)


Listener = Callable[[Progress | Result], None]


class Workers(Protocol):
    """Those who do the runs: a pool of processes here, or Ray's."""

    def idle(self) -> int:
        """Number of runs that they could take now."""

    def hand_out(self, spec: RunSpec) -> None:
        """Give them a run."""

    def events(self, seconds: float) -> Iterator[Event]:
        """What they report within this time."""

    def halve(self) -> int:
        """Do fewer runs at a time, because memory ran out; how many, or 0 where they cannot be fewer."""

    def close(self) -> None:
        """End them at once."""


def sweep_status(specs: Iterable[RunSpec], study: Study) -> Status:
    """The state of every run, read from the study alone."""
    # In this order, because a run is committed, or its failure noted, before its claim is released.
    claimed = living_claims(study.path / "claims", at_a_glance=True)
    failed = {path.stem for path in (study.path / "failures").glob("*.json")}
    recorded = set(study.runs())
    left = dict.fromkeys(spec.key for spec in specs)
    states: dict[str, tuple[str, ...]] = {}
    for name, keys in (("done", recorded), ("running", claimed), ("failed", failed), ("pending", left)):
        states[name] = tuple(key for key in left if key in keys)
        left = {key: None for key in left if key not in keys}
    return Status(**states)


def prepare_study(study: Study, preset: Preset) -> None:
    """Give a new study its title and every study the names of experiments, and sweep out what killed processes left."""
    info = study.path / "study.toml"
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    known = names_in_study(Study(study.path).info)
    new = [name for name in preset.names if tuple(asdict(name).values())[:-1] not in known]
    if not info.exists():
        text = f"title = {quoted(preset.title)}\ndescription = {quoted(preset.description)}\n"
        text += f"preset = {quoted(preset.name)}\n"
    if new or not info.exists():
        write_file(info, (text + name_tables(new)).encode())
    remove_leftovers(study.path)
    remove_dead_claims(study.path / "claims")
    busy = living_claims(study.path / "claims")
    for folder in (study.path / "work").glob("*"):
        if study.has_run(folder.name) and folder.name not in busy:
            study.clear_work(folder.name)


def run_sweep(
    preset: Preset, context: RunContext, workers: int | None, listen: Listener, method: str = "spawn"
) -> list[Result]:
    """What each missing run came to, worked through by a pool of so many processes, or of as many as fit where that is
    left open; an interrupt loses only unfinished levels."""
    if workers is not None and workers < 1:
        raise PruneScopeError(f"workers is {workers}; allowed is 1 or more.")
    count = WorkerCount(workers, workers) if workers is not None else as_many_as_fit(context.device)
    study = Study(context.study)
    prepare_study(study, preset)
    return work_through(preset.specs, study, Pool(count.first, context, method, count.most), listen)


def run_sweep_here(preset: Preset, context: RunContext, listen: Listener) -> list[Result]:
    """The same, worked through by this process alone, one run after the other."""
    study = Study(context.study)
    prepare_study(study, preset)
    return work_through(preset.specs, study, ThisProcess(context, listen), listen)


def work_through(specs: Sequence[RunSpec], study: Study, workers: Workers, listen: Listener) -> list[Result]:
    """What each missing run came to; the workers are ended, whatever happens."""
    try:
        results = _Sweep(specs, study, workers, listen).results()
    finally:
        workers.close()
        remove_dead_claims(study.path / "claims")
    catalog.refresh(study)
    return results


class _Sweep:
    """Hands out runs until none is left that can be done."""

    def __init__(self, specs: Sequence[RunSpec], study: Study, workers: Workers, listen: Listener) -> None:
        self.study, self.workers, self.listen = study, workers, listen
        recorded, whole = set(study.runs()), {*study.example_sets()} & {*study.training_sets()}
        wanted = {spec.key: spec for spec in specs}
        self.todo = {key: spec for key, spec in wanted.items() if key not in recorded}
        # One finished run brings back the example tables of all that were tested on them.
        doubtful = [spec for key, spec in wanted.items() if key in recorded and examples_name(spec) not in whole]
        lost = {examples_name(spec): spec for spec in doubtful if study.lacks_examples(spec)}
        self.todo |= {spec.key: spec for spec in lost.values()}
        self.dense = {key: dense_key(spec) for key, spec in self.todo.items()}
        self.out: dict[str, RunSpec] = {}
        self.losses: dict[str, int] = {}

    def results(self) -> list[Result]:
        finished: list[Result] = []
        while self.todo or self.out:
            while self.workers.idle() and (spec := self._next()):
                self.out[spec.key] = self.todo.pop(spec.key)
                self.workers.hand_out(spec)
            for event in self.workers.events(1.0):
                if isinstance(event, Progress):
                    self.listen(event)
                elif result := self._settle(event):
                    if result.state == "done":
                        catalog.take_in(self.study, [result.key])
                    finished.append(result)
                    self.listen(result)
        return finished

    def _next(self) -> RunSpec | None:
        """The first run that nobody works on and whose dense network nobody trains now."""
        claimed = living_claims(self.study.path / "claims")
        training = {self.dense[key] for key in self.out if not self._has_dense(self.dense[key])}
        training |= {name.removeprefix("dense-") for name in claimed if name.startswith("dense-")}
        free = (key for key in self.todo if key not in claimed and self.dense[key] not in training)
        return next((self.todo[key] for key in free), None)

    def _has_dense(self, dense_key: str) -> bool:
        return self.study.dense_file(dense_key).with_suffix(".outcome").exists()

    def _settle(self, event: Result | Lost) -> Result | None:
        """The result of a run that came back; one that is to be tried again goes behind the others."""
        spec = self.out.pop(event.key)
        if isinstance(event, Lost):
            self.losses[event.key] = self.losses.get(event.key, 0) + 1
            if self.losses[event.key] >= MOST_LOSSES:
                return self._failed(event.key, f"Its process died {MOST_LOSSES} times; is there enough memory?")
        elif event.state == "crowded":
            n = self.workers.halve() if self.out else 0
            if not n:
                reason = f"It ran out of memory with no other run beside it; a smaller batch needs less. {event.reason}"
                return self._failed(event.key, reason)
            self.listen(replace(event, reason=f"Out of memory: at most {n} at a time from now on."))
        elif event.state != "busy":
            return event
        self.todo[event.key] = spec
        return None

    def _failed(self, key: str, reason: str) -> Result:
        note_failure(self.study, key, reason)
        return Result(key, "failed", reason)
