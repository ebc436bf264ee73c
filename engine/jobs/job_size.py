"""How large a job is, before it begins: runs, models, room on the disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.run_spec import RunSpec
from engine.store.study import Study, examples_name

MEGABYTES_A_MODEL = 0.25
"""What a model's predictions on ten thousand examples take at most; where runs are there, they tell."""
_LOOKED_AT = 40


@dataclass(frozen=True)
class JobSize:
    """What is asked for and what of it is missing."""

    n_runs: int
    n_models: int
    n_missing: int
    n_missing_models: int
    gigabytes: float
    """Room that the missing ones take, about."""
    is_measured: bool
    """Whether the room follows from runs of this study."""


def models_of(spec: RunSpec) -> int:
    """Models that a run leaves, its dense network among them."""
    return len(planned_levels(spec)) + 1


def job_size(specs: Sequence[RunSpec], study: Path) -> JobSize:
    """How large these runs are and what of them the study lacks."""
    there = Study(study).run_names()
    missing = [spec for spec in specs if spec.key not in there]
    models = sum(map(models_of, missing))
    measured = _megabytes_a_model(study, {examples_name(spec) for spec in missing})
    each = MEGABYTES_A_MODEL if measured is None else measured
    return JobSize(
        len(specs), sum(map(models_of, specs)), len(missing), models, models * each / 1000, measured is not None
    )


def _megabytes_a_model(study: Path, examples: set[str]) -> float | None:
    """What a model of this study takes, where runs on these examples are there; None where none is."""
    kept = Study(study)
    if not examples & set(kept.example_sets()):
        return None
    sizes = []
    for key in sorted(kept.run_names())[:_LOOKED_AT]:
        try:
            spec = kept.run_record(key).spec
            if examples_name(spec) in examples:
                size = sum(path.stat().st_size for path in (study / "runs" / key).iterdir())
                sizes.append(size / 1e6 / models_of(spec))
        except (PruneScopeError, OSError, KeyError):  # damaged or imported: it tells nothing of this
            continue
    return float(np.mean(sizes)) if sizes else None
