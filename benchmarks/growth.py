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


def run() -> float:
    """Seconds that one more run takes in the larger study over those in the smaller one; at most 2."""
    print(f"load before: {os.getloadavg()[0]:.1f}.")
    with tempfile.TemporaryDirectory() as folder:
        studies = [make_population(Path(folder) / f"{times}", times * N_RUNS) for times in (1, TIMES)]
        took: list[list[float]] = [[], []]
        for number in range(N_ADDED):
            for study, seconds in zip(studies, took, strict=True):
                seconds.append(_add_run(study, 10_000_000 + number))
        one, ten = (median(seconds) for seconds in took)
        for study, seconds in zip(studies, took, strict=True):
            print(
                f"One more run among {len(study.runs()):,}: {1000 * median(seconds):.0f} ms, the slowest of {N_ADDED} "
                f"{1000 * max(seconds):.0f} ms; a server of one experiment has {_megabytes(study, True):.0f} MB "
                f"more than without, one that holds all rows {_megabytes(study, False):.0f} MB."
            )
    return ten / one


def _add_run(study: Study, seed: int) -> float:
    """Seconds until a run is written and the catalog has it: files, segment, index."""
    begun = time.perf_counter()
    write_made_run(study, seed)
    catalog.refresh(study)
    return time.perf_counter() - begun


def _megabytes(study: Study, one_experiment: bool) -> float:
    """Memory that a process holds after reading the rows of one experiment, or of the study, beyond what it had."""
    code = (
        "import gc, psutil, sys, pyarrow as pa\n"
        "from engine.store import Study, catalog\n"
        "import pandas\n"
        "process = psutil.Process()\n"
        "before = process.memory_info().rss\n"
        "everything = catalog.refresh(Study(sys.argv[1]))\n"
        "runs = everything.runs\n"
        "first = runs.iloc[0]\n"
        "wanted = ((runs['dataset'] == first['dataset']) & (runs['network'] == first['network'])).to_numpy()\n"
        "wanted = wanted if sys.argv[2] == 'True' else None\n"
        "rows = [everything.rows(kind, wanted=wanted) for kind in ('levels', 'classes')]\n"
        "gc.collect(); pa.default_memory_pool().release_unused()\n"
        "print((process.memory_info().rss - before) / 1e6)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(study.path), str(one_experiment)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)
