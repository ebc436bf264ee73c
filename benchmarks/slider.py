"""What a move of the Frontier's slider costs with 120,906 models, over what it costs with 100, on one server.

The number at the end is that ratio; it may be 1.5. The computation behind a move may take 50 ms.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import pandas as pd

from engine.analysis.frontier.choice import choices_by_measure, choose
from engine.analysis.frontier.points import operating_points, seed_points
from engine.analysis.frontier.resampling import seed_grid
from engine.analysis.frontier.stability import agreement
from engine.analysis.frontier.weight_ranges import change_over_weights
from engine.analysis.unfairness import unfairness_table
from engine.pruning.techniques import TECHNIQUES
from engine.store.study import Study
from tests.support.population_study import N_LEVELS, make_population
from tests.support.server import serve
from tests.support.studies import make_study
from tests.support.visitor import Visitor

N_MODELS = 120_906
FEW = {"techniques": tuple(TECHNIQUES)[:5], "treatments": ("rewind",), "seeds": 1, "levels": 19}
"""A study of 100 models."""

MOST_RATIO, MOST_MILLISECONDS = 1.5, 50.0
N_MOVES = 40
WEIGHTS = ("1", "10", "100", "31.6")
SAME = ["dataset", "split", "network", "protocol"]


def computation_milliseconds(study: Study, together: bool) -> float:
    """What the computation behind one move takes of a processor, given the tables that a page keeps.

    Of the largest experiment, or of all models `together`, as if they were one; the shortest of ten tries at the
    weight that takes longest.
    """
    levels, classes = study.levels(), study.classes()
    if together:
        levels, classes = (table.assign(**dict.fromkeys(SAME, "one")) for table in (levels, classes))
    else:
        largest = levels.groupby(SAME, observed=True).size().idxmax()
        levels, classes = (_rows(table, dict(zip(SAME, largest, strict=True))) for table in (levels, classes))
    unfairness = unfairness_table(classes)
    points, seeds = operating_points(levels, unfairness), seed_points(levels, unfairness)
    grid = seed_grid(seeds, "max_min")
    taken: dict[str, list[float]] = {weight: [] for weight in WEIGHTS}
    for weight in WEIGHTS * 10:
        began = time.thread_time()
        choice = choose(points, 0.9, float(weight))
        agreement(points, seeds, choice, grid=grid)
        change_over_weights(points, choice, (0.01, 1000.0))
        choices_by_measure(points, 0.9, float(weight))
        taken[weight].append(1000 * (time.thread_time() - began))
    longest = max(min(times) for times in taken.values())
    print(f"the computation for {len(seeds):,} models, {len(points)} points: {longest:.1f} ms")
    return longest


def _rows(table: pd.DataFrame, where: dict[str, str]) -> pd.DataFrame:
    for name, value in where.items():
        table = table[(table[name] == value).to_numpy()]
    return table


async def move_seconds(address: str, studies: tuple[str, str]) -> list[float]:
    """Median seconds of a move in each study, taken in turns so that both meet the same machine."""
    taken: dict[str, list[float]] = {name: [] for name in studies}
    errors: list[str] = []
    many, few = (Visitor(address, "frontier", {"study": name}) for name in studies)
    async with many, few:
        for visitor in (many, few):
            errors += (await visitor.open()).errors
        for number in range(N_MOVES + 4):
            for name, visitor in zip(studies, (many, few), strict=True):
                moved = await visitor.move("weight", WEIGHTS[number % len(WEIGHTS)])
                errors += moved.errors
                taken[name].append(moved.seconds)
    assert not errors, errors[0]
    return [statistics.median(taken[name][4:]) for name in studies]


def run() -> float:
    """Seconds of a move among 120,906 models over those among 100."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        many = make_population(root / "studies" / "many", -(-N_MODELS // N_LEVELS))
        few = make_study(root / "studies" / "few", **FEW)
        n_many, n_few = len(many.levels()), len(few.levels())
        assert n_many >= N_MODELS and n_few == 100
        milliseconds = max(computation_milliseconds(many, together) for together in (False, True))
        with serve(root / "studies", root / "log") as served:
            seconds = asyncio.run(move_seconds(served.address, ("many", "few")))
    ratio = seconds[0] / seconds[1]
    print(f"a move takes {1000 * seconds[0]:.0f} ms with {n_many:,} models, {1000 * seconds[1]:.0f} ms with {n_few}")
    assert milliseconds < MOST_MILLISECONDS, f"{milliseconds:.0f} ms; allowed are {MOST_MILLISECONDS:.0f} ms"
    assert ratio <= MOST_RATIO, f"{ratio:.2f} times as long; allowed is {MOST_RATIO}"
    return ratio
