"""What a move of the Frontier's slider costs with 120,906 models, over what it costs with 100, on one server.

The number at the end is that ratio; it may be 1.5. The computation behind a move may take 50 ms.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.visitor import Visitor
from engine import catalog
from engine.analysis.agreement import agreement
from engine.analysis.changeover import change_over_weights
from engine.analysis.choice import choices_by_measure, choose
from engine.analysis.frontier import operating_points, seed_points
from engine.protocols import protocol
from engine.records import IDENTITY, RunSpec
from engine.store import Study
from engine.techniques import TECHNIQUES
from engine.unfairness import unfairness_table
from tests.served import serve

N_MODELS, N_FEW = 120_906, 100
N_CLASSES, N_PER_CLASS, N_LEVELS = 10, 1000, 21
MOST_RATIO, MOST_MILLISECONDS = 1.5, 50.0
N_MOVES = 40
WEIGHTS = ("1", "10", "100", "31.6")
DATASETS = ("qmnist", "mnist", "fashion-mnist", "kmnist", "cifar-10", "svhn")
NETWORKS = ("lenet", "alexnet", "vgg11", "resnet18")


def made_study(path: Path, n_models: int, one_experiment: bool) -> Study:
    """A study of so many models in its catalog, the runs' own files left out; classes lose more the later they come.

    Runs go through techniques, treatments and seeds; data sets and networks too, unless it is one experiment.
    """
    study = Study(path)
    n_runs = -(-n_models // N_LEVELS)
    specs = [spec for spec, _ in zip(_specs(one_experiment), range(n_runs), strict=False)]
    specs.sort(key=lambda spec: spec.key)
    for spec in specs:
        (path / "runs" / spec.key).mkdir(parents=True)
    runs = pd.DataFrame([{"run": spec.key, **{name: getattr(spec, name) for name in IDENTITY}} for spec in specs])
    runs = runs.assign(protocol=protocol(specs[0]), epochs=1, device="cpu", engine="", stopped="", seconds=1.0)
    row, level = np.divmod(np.arange(n_models), N_LEVELS)
    cut = np.array([list(TECHNIQUES).index(spec.technique) for spec in specs])[row]
    n_kept = np.round(60_000 * 0.8**level)
    sparsity = 1 - n_kept / 60_000
    chance = 0.98 - (0.02 + 0.02 * cut[:, None]) * sparsity[:, None] ** 8 * np.arange(1, N_CLASSES + 1)
    correct = np.random.default_rng(0).binomial(N_PER_CLASS, np.clip(chance, 0.05, 1))
    levels = pd.DataFrame({"row": row, "level": level, "sparsity_asked": sparsity, "sparsity": sparsity})
    levels = levels.assign(accuracy=correct.mean(axis=1) / N_PER_CLASS, loss=0.1, validation_accuracy=0.9)
    levels = levels.assign(n_weights=60_000, n_kept=n_kept)
    classes = levels.loc[levels.index.repeat(N_CLASSES), ["row", "level", "sparsity"]].reset_index(drop=True)
    classes["class"] = np.tile(np.arange(N_CLASSES), n_models)
    classes = classes.assign(n=N_PER_CLASS, correct=correct.ravel(), predicted=N_PER_CLASS, loss=1 - chance.ravel())
    tables = {"runs": runs, "levels": levels, "classes": classes}
    catalog._save(
        study, {k: pa.Table.from_pandas(t[catalog.KINDS[k].names], catalog.KINDS[k]) for k, t in tables.items()}, {}
    )
    return study


def _specs(one_experiment: bool) -> Iterator[RunSpec]:
    """Settings of runs, without end: a grid of techniques and treatments, with further seeds once it is done."""
    where = [("qmnist", "lenet")] if one_experiment else list(product(DATASETS, NETWORKS))
    seed = 0
    while True:
        for (dataset, network), technique, treatment in product(where, list(TECHNIQUES)[:7], ("rewind", "finetune")):
            yield RunSpec(dataset, network, technique, treatment, seed, split="official", epochs=1)
        seed += 1


def computation_milliseconds(study: Study) -> float:
    """What the computation behind one move takes on the largest experiment, the tables that a page keeps made."""
    levels, classes = study.levels(), study.classes()
    largest = levels.groupby(["dataset", "network"], observed=True).size().idxmax()
    levels, classes = ((t[(t["dataset"] == largest[0]) & (t["network"] == largest[1])]) for t in (levels, classes))
    unfairness = unfairness_table(classes)
    points, seeds = operating_points(levels, unfairness), seed_points(levels, unfairness)
    taken = []
    for number in range(N_MOVES):
        began, weight = time.perf_counter(), float(WEIGHTS[number % len(WEIGHTS)])
        choice = choose(points, 0.9, weight)
        agreement(points, seeds, choice)
        change_over_weights(points, choice, (0.01, 1000.0))
        choices_by_measure(points, 0.9, weight)
        taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken)


async def move_seconds(address: str, studies: tuple[str, str]) -> list[float]:
    """Median seconds of a move in each study, taken in turns so that both meet the same machine."""
    async with Visitor(address, "frontier", {"study": studies[0]}) as one:
        async with Visitor(address, "frontier", {"study": studies[1]}) as other:
            taken: dict[str, list[float]] = {name: [] for name in studies}
            errors: list[str] = []
            for visitor in (one, other):
                errors += (await visitor.open()).errors
            for number in range(N_MOVES + 4):
                for name, visitor in zip(studies, (one, other), strict=True):
                    moved = await visitor.move("weight", WEIGHTS[number % len(WEIGHTS)])
                    errors += moved.errors
                    taken[name].append(moved.seconds)
    assert not errors, errors[0]
    return [statistics.median(taken[name][4:]) for name in studies]


def run() -> float:
    """Seconds of a move among 120,906 models over those among 100."""
    ratios = []
    for one_experiment in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            many = made_study(root / "studies" / "many", N_MODELS, one_experiment)
            made_study(root / "studies" / "few", N_FEW, True)
            milliseconds = computation_milliseconds(many)
            with serve(root / "studies", root / "log") as served:
                seconds = asyncio.run(move_seconds(served.address, ("many", "few")))
        ratios.append(seconds[0] / seconds[1])
        where = "one experiment" if one_experiment else f"{len(DATASETS) * len(NETWORKS)} experiments"
        print(
            f"{N_MODELS:,} models in {where}: a move takes {1000 * seconds[0]:.0f} ms, with {N_FEW} models "
            f"{1000 * seconds[1]:.0f} ms; the computation behind it {milliseconds:.1f} ms"
        )
        assert milliseconds < MOST_MILLISECONDS, f"{milliseconds:.0f} ms; allowed are {MOST_MILLISECONDS:.0f} ms"
    assert max(ratios) <= MOST_RATIO, f"{max(ratios):.2f} times as long; allowed is {MOST_RATIO}"
    return max(ratios)
