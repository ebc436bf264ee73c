"""What one more run costs in a study as large as the paper's, and in one ten times as large."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.catalog import write_made_run
from engine.store import catalog
from engine.store.study import Study
from tests.support.population_study import N_RUNS, make_population

TIMES = 10
N_ADDED = 40
"""Runs that are added to each; small segments become one a few times meanwhile."""

HELD = """
import gc, sys
import pandas, psutil, pyarrow
from engine.store import Study, catalog
process = psutil.Process()
before = process.memory_info().rss
everything = catalog.refresh(Study(sys.argv[1]))
runs = everything.runs
one = (runs["dataset"] == "mnist") & (runs["network"] == "lenet")
wanted = one.to_numpy() if sys.argv[2] == "one" else None
rows = [everything.rows(kind, wanted=wanted) for kind in ("levels", "classes")]
gc.collect()
pyarrow.default_memory_pool().release_unused()
print((process.memory_info().rss - before) / 1e6)
"""
"""What a server reads for one experiment, or would for all; says the megabytes that it holds for that."""


def run() -> float:
    """Seconds that one more run takes in the larger study over those in the smaller one, interleaved; at most 2."""
    print(f"Load before: {os.getloadavg()[0]:.1f}.")
    with tempfile.TemporaryDirectory() as folder:
        studies = [make_population(Path(folder) / f"{times}", times * N_RUNS) for times in (1, TIMES)]
        told, found = _added(studies, told=True), _added(studies, told=False)
        for study, *took in zip(studies, told, found, strict=True):
            print(f"{len(study.runs()):,} runs: one more takes {1000 * took[0]:.0f} ms to write and to take in,")
            print(f"{1000 * took[1]:.0f} ms where the catalog has to find out itself which is new;")
            print(f"a server holds {_megabytes(study, 'one'):.0f} MB for one experiment,", end=" ")
            print(f"{_megabytes(study, 'all'):.0f} MB if it held all.")
    return told[1] / told[0]


def _added(studies: list[Study], told: bool) -> tuple[float, ...]:
    """For each study, the median of the seconds until a run is written and the catalog on disk has it."""
    took: list[list[float]] = [[] for _ in studies]
    for number in range(N_ADDED):
        for study, seconds in zip(studies, took, strict=True):
            begun = time.perf_counter()
            key = write_made_run(study, 10_000_000 + 2 * number + told)
            if told:
                catalog.take_in(study, [key])
            else:
                catalog.refresh(study)
            seconds.append(time.perf_counter() - begun)
    return tuple(map(median, took))


def _megabytes(study: Study, what: str) -> float:
    done = subprocess.run([sys.executable, "-c", HELD, study.path, what], check=True, capture_output=True, text=True)
    return float(done.stdout)
