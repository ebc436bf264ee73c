"""How fast a study as large as the paper's opens, beside reading its runs one by one; and how fast one is planned."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from engine.pruning.schedules import planned_levels
from engine.run_spec import RunSpec
from engine.specs.preset import FOLDER, read_preset
from engine.store.run_tables import LevelResult, run_tables
from engine.store.study import Study
from engine.sweeps.sweep import sweep_status
from tests.support.population_study import N_RUNS, make_population

N_READ = 200
"""Real runs that are read one by one; all would take as much longer as there are more."""


def run() -> float:
    """The seconds of reading every run's files over those of opening the study."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        studies = [make_population(path / f"{times}", times * N_RUNS) for times in (1, 2)]
        opening = [_seconds(lambda study=study: _open(study), 5) for study in studies]
        models, rows = len(studies[0].levels()), len(studies[0].classes())
        print(f"{N_RUNS:,} runs, {models:,} models, {rows:,} class rows open in {opening[0]:.2f} s (at most 2 s),")
        print(f"twice as many in {opening[1]:.2f} s; a new process takes {_in_a_new_process(studies[0]):.1f} s in all.")
        print(f"One more run, and all opened again, takes {_seconds(lambda: _add_run(studies[0])):.2f} s.")
        _plan(studies[0])
        plain = _plain_reading(Study(path / "real"))
    print(f"Reading runs one by one takes {plain:.1f} s for as many.")
    return plain / opening[0]


def _open(study: Study) -> None:
    assert len(study.levels()) and len(study.classes())


def _seconds(act: Callable[[], object], times: int = 1) -> float:
    """The shortest of a few tries."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        took.append(time.perf_counter() - begun)
    return min(took)


def _in_a_new_process(study: Study) -> float:
    code = f"from engine.store import Study; study = Study({str(study.path)!r}); study.levels(); study.classes()"
    return _seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), 3)


def write_made_run(study: Study, seed: int) -> str:
    """Key of a run of 21 levels and ten classes, made up."""
    spec = RunSpec("digits", "lenet", "l1_structured", split="official", seed=seed)
    random, labels = np.random.default_rng(seed), np.arange(100) % 10
    said = (random.integers(0, 10, 100), *(random.random(100) for _ in range(3)))
    outcomes = [LevelResult(level, 0.1, 1000, 900, 0.5, *said) for level in range(21)]
    study.write_run(spec, run_tables(outcomes, labels, 10, True), {})
    return spec.key


def _add_run(study: Study) -> None:
    write_made_run(study, 0)
    _open(study)


def _plan(study: Study) -> None:
    """Plan the paper's grid with 13 seeds instead of 6, which makes 122,304 models, on a study as large."""
    text = (FOLDER / "paper.toml").read_text(encoding="utf-8")
    more = text.replace("seeds = [0, 1, 2, 3, 4, 5]", f"seeds = {list(range(13))}")
    begun = time.perf_counter()
    specs = read_preset("paper", more).specs
    status = sweep_status(specs, study)
    models = sum(len(planned_levels(spec)) + 1 for spec in specs)
    print(
        f"{status.planned:,} runs, {models:,} models are planned in {time.perf_counter() - begun:.1f} s (at most 10 s)."
    )
    assert models >= 120_906


def _plain_reading(study: Study) -> float:
    """Seconds that pandas takes to read the tables of all runs, run by run."""
    for seed in range(N_READ):
        write_made_run(study, seed)

    def read() -> None:
        for name in ("levels", "classes"):
            pd.concat([pd.read_parquet(study.path / "runs" / key / f"{name}.parquet") for key in study.runs()])

    return _seconds(read) * N_RUNS / N_READ
