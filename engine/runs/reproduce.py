"""Does a run come out as it did? What it says is set beside what it says when it is computed again from its spec."""

from dataclasses import dataclass, replace

import numpy as np

from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.run_spec import RunSpec
from engine.specs.arithmetic import recorded_step
from engine.store.run_files import RunRecord
from engine.store.study import Study, examples_name

MADE_WITH = ("engine", "python", "torch", "numpy", "device", "processor", "training")
"""What of a run's provenance its arithmetic depends on."""


@dataclass(frozen=True)
class LevelComparison:
    """A level of the run, kept and computed again: how many of its answers are equal, and both accuracies."""

    level: int
    n_examples: int
    n_equal: int
    accuracy: float
    accuracy_again: float


@dataclass(frozen=True)
class RunComparison:
    """A run beside itself: every level that both have, and what the two were made with."""

    levels: tuple[LevelComparison, ...]
    n_missing: int
    """Levels that only one of the two has, though both should."""
    record: RunRecord
    record_again: RunRecord

    @property
    def is_equal(self) -> bool:
        """Whether every answer of every level is the same."""
        return not self.n_missing and all(level.n_equal == level.n_examples for level in self.levels)

    @property
    def environment_differences(self) -> dict[str, tuple[str, str]]:
        """What the arithmetic depends on and was different, then and now; empty text where it was not recorded."""
        then, now = (record.provenance for record in (self.record, self.record_again))
        pairs = {name: (str(then.get(name, "")), str(now.get(name, ""))) for name in MADE_WITH}
        pairs["step"] = recorded_step(then), recorded_step(now)
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def reproduction_spec(study: Study, run: str, n_levels: int | None = None) -> RunSpec:
    """The spec that computes a run of the study again, or its first levels: what comes later has no part in them."""
    if run not in (runs := study.runs()):
        raise PruneScopeError(f"There is no run {run!r} among the {len(runs)} of {study.path}; `show` lists them.")
    record = study.run_record(run)
    if "stopped" not in record.provenance:
        raise PruneScopeError(f"Run {run} was imported: how to compute its predictions is not known here.")
    spec = record.spec
    n_planned = len(planned_levels(spec))
    if n_levels is None or n_levels >= n_planned:
        return spec
    if n_levels < 1:
        raise PruneScopeError(f"levels is {n_levels}; allowed is 1 to {n_planned}, the levels of run {run}.")
    if spec.schedule == "iterative":
        return replace(spec, levels=n_levels)
    return replace(spec, sparsities=spec.sparsities[:n_levels])


def compare_runs(study: Study, run: str, aside: Study, again: RunSpec) -> RunComparison:
    """A run of the study beside what `reproduction_spec` of it came to in the study `aside`."""
    labels = _labels(study, aside, examples_name(again))
    (numbers, kept), (numbers_again, new) = study.prediction_matrix(run), aside.prediction_matrix(again.key)
    wanted = [level for level in numbers.tolist() if level <= len(planned_levels(again))]
    levels = []
    for level in np.intersect1d(wanted, numbers_again).tolist():
        then, now = kept[numbers == level][0], new[numbers_again == level][0]
        accuracies = (float((predictions == labels).mean()) for predictions in (then, now))
        levels.append(LevelComparison(level, len(labels), int((then == now).sum()), *accuracies))
    n_missing = len(wanted) + len(numbers_again) - 2 * len(levels)
    return RunComparison(tuple(levels), n_missing, study.run_record(run), aside.run_record(again.key))


def _labels(study: Study, aside: Study, name: str) -> np.ndarray:
    """The labels of the test examples, refused where the two were not asked the same."""
    return same_labels(study, name, aside.examples(name)["label"].to_numpy())


def same_labels(study: Study, name: str, here: np.ndarray) -> np.ndarray:
    """The labels of a study's test examples, refused where those of the data set here are others."""
    kept: np.ndarray = study.examples(name)["label"].to_numpy()
    if not np.array_equal(kept, here):
        raise PruneScopeError(
            f"The data set here has {len(here):,} test examples, and their labels are not those of the {len(kept):,} "
            "that the run was tested on. Is it the same version?"
        )
    return kept
