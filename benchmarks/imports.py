"""What an import takes beside pyarrow's reading of the same file, its memory, and what many small models cost more."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from engine.exchange.sandbox import Source, import_file
from engine.store.study import Study

N_EXAMPLES, N_CLASSES = 10_000, 10
N_TIMES = 5
SHAPES = {"20 models of 10,000 examples": (20, 10_000), "2,000 models of 100 examples": (2_000, 100)}
EVERY = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
IN_MEMORY = Path("/dev/shm")
"""Where thousands of small files cost what we do: ext4 looks through all that was deleted of late for each new one."""
IMPORT = """
import sys
from pathlib import Path
from engine.exchange.sandbox import Source, import_file
from engine.store.study import Study
import_file(Source(Path(sys.argv[1]), "predictions"), Study(sys.argv[2]))
"""
READING = """
import sys, time
import pyarrow.csv, pyarrow.parquet
read = pyarrow.parquet.read_table if sys.argv[1].endswith(".parquet") else pyarrow.csv.read_csv
wall, processor = time.perf_counter(), time.process_time()
read(sys.argv[1])
print(time.perf_counter() - wall, time.process_time() - processor)
"""


def run() -> float:
    """Processor seconds of importing 5,000,000 rows over those of pyarrow's reading, interleaved; at most 5.

    Of Parquet or CSV, whichever is the larger; what is computed beside leaves processor seconds nearly as they are.
    """
    print(f"Load before: {os.getloadavg()[0]:.1f}.")
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
        for models_a_run in (20, 10, 1):
            _small_models(Path(folder), models_a_run)
    with tempfile.TemporaryDirectory() as folder:
        return max(_large_file(Path(folder), ending) for ending in (".parquet", ".csv"))


def _large_file(folder: Path, ending: str) -> float:
    """The import's seconds over pyarrow's for 500 models of 10,000 examples."""
    path = folder / f"large{ending}"
    rows = prediction_rows(500, N_EXAMPLES, models_a_run=20)
    pq.write_table(rows, path) if ending == ".parquet" else pa.csv.write_csv(rows, path)
    n_rows = len(rows)
    del rows
    peaks: list[float] = []
    took: tuple[list[Seconds], list[Seconds]] = ([], [])
    for number in range(3):
        with _timed(took[0], resource.RUSAGE_CHILDREN):  # to look at its memory is no part of an import
            peaks.append(_peak_megabytes(path, folder / f"large{ending}-{number}"))
        took[1].append(_reading(path))
    ours, theirs = map(_median, took)
    print(
        f"{n_rows:,} rows of {ending[1:]} ({path.stat().st_size / 1e6:.0f} MB): import {ours.wall:.1f} s, "
        f"{max(peaks):.0f} MB (at most 1,500); pyarrow reads them in {theirs.wall:.2f} s: "
        f"{ours.wall / theirs.wall:.1f} times; {ours.processor / theirs.processor:.1f} times its processor time of "
        f"{theirs.processor:.2f} s (at most 5).",
        flush=True,
    )
    return ours.processor / theirs.processor


def _reading(path: Path) -> "Seconds":
    """What pyarrow takes to read the file in a fresh process, as an import does, without the start of that process."""
    done = subprocess.run([sys.executable, "-c", READING, path], capture_output=True, text=True, check=True)
    return Seconds(*map(float, done.stdout.split()))


def _small_models(folder: Path, models_a_run: int) -> None:
    """Say what a row of many small models costs over one of a few large ones, where a run has so many models."""
    paths = [folder / f"small-{models_a_run}-{number}.parquet" for number in range(len(SHAPES))]
    for path, (n_models, n_examples) in zip(paths, SHAPES.values(), strict=True):
        pq.write_table(prediction_rows(n_models, n_examples, models_a_run), path)
    took: tuple[list[Seconds], list[Seconds]] = ([], [])
    for number in range(N_TIMES):
        for path, seconds in zip(paths, took, strict=True):
            with _timed(seconds, *EVERY):
                import_file(Source(path, "predictions"), Study(folder / f"{path.stem}-{number}"))
    few, many = map(_median, took)
    print(
        f"{models_a_run} models a run: {' and '.join(SHAPES)} take {few.processor:.2f} and {many.processor:.2f} s of "
        f"processor: {many.processor / few.processor:.2f} times a row (at most 1.5); {few.wall:.2f} and "
        f"{many.wall:.2f} s in all.",
        flush=True,
    )


def prediction_rows(n_models: int, n_examples: int, models_a_run: int) -> pa.Table:
    """A long table of made-up predictions: seeds of one technique, each at so many sparsities."""
    random = np.random.default_rng(0)
    model, example = np.repeat(np.arange(n_models), n_examples), np.tile(np.arange(n_examples), n_models)
    label = example % N_CLASSES
    wrong = random.random(len(label)) < 0.2
    return pa.table(
        {
            "example": example,
            "label": label,
            "prediction": np.where(wrong, random.integers(0, N_CLASSES, len(label)), label),
            "technique": pa.DictionaryArray.from_arrays(np.zeros(len(label), np.int8), ["magnitude"]).cast(pa.string()),
            "sparsity": (model % models_a_run) / (models_a_run + 1),
            "seed": model // models_a_run,
            "place": pa.DictionaryArray.from_arrays((example % 3).astype(np.int8), ["a", "b", "c"]).cast(pa.string()),
        }
    )


class Seconds(NamedTuple):
    """What something takes, in all and of the processor."""

    wall: float
    processor: float


@contextmanager
def _timed(took: list[Seconds], *whose: int) -> Iterator[None]:
    """Note what is done meanwhile, by this process, by those that it started and that ended, or by both."""
    begun, processor = time.perf_counter(), _processor_seconds(whose)
    yield
    took.append(Seconds(time.perf_counter() - begun, _processor_seconds(whose) - processor))


def _median(took: list[Seconds]) -> Seconds:
    return Seconds(*map(median, zip(*took, strict=True)))


def _peak_megabytes(path: Path, study: Path) -> float:
    """The most memory that an import's processes, command and child, held together."""
    process = psutil.Popen([sys.executable, "-c", IMPORT, path, study])
    peak = 0.0
    while process.poll() is None:
        try:
            every = [process, *process.children(recursive=True)]
            peak = max(peak, sum(own.memory_info().rss for own in every) / 1e6)
        except psutil.NoSuchProcess:
            pass
        time.sleep(0.02)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, "import")
    return peak


def _processor_seconds(whose: Sequence[int]) -> float:
    usages = map(resource.getrusage, whose)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
