"""How much faster two workers go through a sweep than one, on a machine with two cores that does nothing else."""

import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from engine.pruning.schedules import planned_levels
from engine.run_spec import Progress, RunSpec
from engine.specs.checks import validate_spec
from engine.specs.preset import Preset
from engine.store.study import Study
from engine.sweeps.sweep import run_sweep
from engine.sweeps.worker import Result, RunContext

SPEC = validate_spec(RunSpec("digits", "lenet", "global_unstructured", levels=3, epochs=24))
N_RUNS = 4


def run() -> float:
    """Runs a second with two workers over runs a second with one; what they leave is equal."""
    preset = Preset("workers", "Equal runs", "", tuple(replace(SPEC, seed=seed) for seed in range(N_RUNS)))
    print(f"{N_RUNS} runs of {len(planned_levels(SPEC)) + 1} levels; load before: {os.getloadavg()[0]:.1f}.")
    with tempfile.TemporaryDirectory() as folder:
        places = {workers: RunContext(Path(folder) / f"{workers}", Path(folder), "cpu") for workers in (1, 2)}
        seconds = {workers: _seconds(preset, place, workers) for workers, place in places.items()}
        one, two = (
            [Study(place.study).run_record(spec.key).files for spec in preset.specs] for place in places.values()
        )
    assert one == two, "two workers computed something else than one"
    print(f"One worker takes {seconds[1]:.1f} s, two take {seconds[2]:.1f} s (starting them aside).")
    return seconds[1] / seconds[2]


def _seconds(preset: Preset, place: RunContext, workers: int) -> float:
    """What the sweep takes once all workers have started: the time of the epochs after that, as if it were all."""
    heard: list[tuple[float, Progress | Result]] = []
    results = run_sweep(preset, place, workers, lambda event: heard.append((time.monotonic(), event)))
    assert all(result.state == "done" for result in results)
    epochs = [(at, event.run) for at, event in heard if isinstance(event, Progress)]
    n_before = next(n for n in range(1, len(epochs)) if len({run for _, run in epochs[:n]}) == workers)
    return (heard[-1][0] - epochs[n_before - 1][0]) * len(epochs) / (len(epochs) - n_before)
