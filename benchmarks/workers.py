"""How much faster two workers go through a sweep than one, had they two cores to themselves.

What neighbours on the machine take is left out: processor seconds that a run needs beside another are set against those
that it needs alone. Two workers that do not hinder each other are twice as fast.
"""

import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from engine.pruning.schedules import planned_levels
from engine.run_spec import RunSpec
from engine.specs.checks import validate_spec
from engine.specs.preset import Preset
from engine.store.study import Study
from engine.sweeps.sweep import run_sweep
from engine.sweeps.worker import RunContext

SPEC = validate_spec(RunSpec("digits", "lenet", "global_unstructured", levels=3, epochs=12))
N_ROUNDS, N_RUNS = 2, 2
"""Rounds of so many equal runs, by one worker and by two in turns."""


def run() -> float:
    """Runs a second with two workers over runs a second with one, by processor seconds; what they leave is equal."""
    print(f"{N_ROUNDS} x {N_RUNS} runs of {len(planned_levels(SPEC)) + 1} levels; load: {os.getloadavg()[0]:.1f}.")
    processor, wall = {1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0}
    with tempfile.TemporaryDirectory() as folder:
        places = {workers: RunContext(Path(folder) / f"{workers}", Path(folder), "cpu") for workers in (1, 2)}
        for number in range(N_ROUNDS):
            specs = tuple(replace(SPEC, seed=N_RUNS * number + n) for n in range(N_RUNS))
            for workers in (1, 2) if number % 2 else (2, 1):
                begun = time.monotonic()
                results = run_sweep(Preset("", "Equal runs", "", specs), places[workers], workers, lambda event: None)
                wall[workers] += time.monotonic() - begun
                assert all(result.state == "done" for result in results)
        records = {
            workers: [Study(place.study).run_record(key) for key in Study(place.study).runs()]
            for workers, place in places.items()
        }
    one, two = ([record.files for record in records[workers]] for workers in (1, 2))
    assert one == two, "two workers computed something else than one"
    for workers, found in records.items():
        processor[workers] = sum(record.provenance["seconds"] for record in found)
        print(
            f"{workers} at a time: {processor[workers]:.1f} processor seconds, {wall[workers]:.1f} s with their start."
        )
    return 2 * processor[1] / processor[2]
