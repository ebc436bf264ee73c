"""Many runs: which are there, which are wanted, and how a pool works through them, whatever happens to it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine import catalog
from engine.claims import is_claimed, release_claims_of
from engine.files import TEMPORARY, remove_folder, write_file
from engine.pool import Lost, Place, Pool
from engine.preset import Preset
from engine.records import Progress, RunSpec
from engine.store import Study
from engine.worker import Result, failure_file

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


def sweep_status(specs: Iterable[RunSpec], study: Study) -> Status:
    """The state of every run, read from the study alone."""
    there, claims = set(study.runs()), study.path / "claims"
    states: dict[str, list[str]] = {"done": [], "failed": [], "running": [], "pending": []}
    for key in dict.fromkeys(spec.key for spec in specs):
        if key in there:
            state = "done"
        elif is_claimed(claims, key):
            state = "running"
        else:
            state = "failed" if failure_file(study, key).exists() else "pending"
        states[state].append(key)
    return Status(**{name: tuple(keys) for name, keys in states.items()})


def prepare_study(study: Study, preset: Preset) -> None:
    """Give a new study its title, and sweep out what killed writers left behind."""
    info = study.path / "study.toml"
    if not info.exists():
        text = f"title = {_quoted(preset.title)}\ndescription = {_quoted(preset.description)}\n"
        write_file(info, (text + f"preset = {_quoted(preset.name)}\n").encode())
    work = study.path / "work"
    for path in work.glob(f"*{TEMPORARY}") if work.is_dir() else ():
        if not is_claimed(study.path / "claims", path.name.split(".")[0]):
            remove_folder(path)


def run_sweep(preset: Preset, place: Place, workers: int, listen: Listener) -> list[Result]:
    """Work through the runs that are missing on a pool; what each came to. An interrupt loses only unfinished levels."""
    study = Study(place.study)
    prepare_study(study, preset)
    pool = Pool(workers, place)
    try:
        return _Sweep(preset.specs, study, pool, listen).results()
    finally:
        pool.close()
        release_claims_of(study.path / "claims", pool.gone)
        catalog.refresh(study)


class _Sweep:
    """Hands out runs to a pool until none is left that can be done."""

    def __init__(self, specs: Sequence[RunSpec], study: Study, pool: Pool, listen: Listener) -> None:
        self.study, self.pool, self.listen = study, pool, listen
        there = set(study.runs())
        self.todo = {spec.key: spec for spec in specs if spec.key not in there}
        self.out: dict[str, RunSpec] = {}
        self.losses: dict[str, int] = {}

    def results(self) -> list[Result]:
        finished: list[Result] = []
        while self.todo or self.out:
            while self.pool.idle() and (spec := self._next()):
                self.out[spec.key] = self.todo.pop(spec.key)
                self.pool.hand_out(spec)
            for event in self.pool.events(1.0):
                if isinstance(event, Progress):
                    self.listen(event)
                elif result := self._settle(event):
                    finished.append(result)
                    self.listen(result)
        return finished

    def _next(self) -> RunSpec | None:
        """The first run that nobody works on, preferring one that need not wait for another's dense network."""
        training = {spec.dense_key for spec in self.out.values() if not self._has_dense(spec)}
        free = (spec for spec in self.todo.values() if not is_claimed(self.study.path / "claims", spec.key))
        return next((spec for spec in free if spec.dense_key not in training), None)

    def _has_dense(self, spec: RunSpec) -> bool:
        return self.study.dense_file(spec.dense_key).with_suffix(".outcome").exists()

    def _settle(self, event: Result | Lost) -> Result | None:
        """The result of a run that came back; one that is to be tried again goes back to the others."""
        spec = self.out.pop(event.key)
        if isinstance(event, Lost):
            release_claims_of(self.study.path / "claims", self.pool.gone)
            self.losses[event.key] = self.losses.get(event.key, 0) + 1
            if self.losses[event.key] >= MOST_LOSSES:
                return Result(event.key, "failed", f"Its process died {MOST_LOSSES} times.")
        if isinstance(event, Result) and event.state != "busy":
            return event
        self.todo[event.key] = spec
        return None


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
