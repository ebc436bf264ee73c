"""What a move of a control costs on every page with 120,906 models, over what it costs with 100, on one server.

The number at the end is that ratio for the Frontier's slider, in processor time; it may be 1.5. The computation behind
a move may take 50 ms. No page may be empty. Pages of single examples show the same runs in both studies.
"""

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from benchmarks.pages import milliseconds
from engine.analysis.frontier.choice import choices_by_measure, choose
from engine.analysis.frontier.points import operating_points, seed_points
from engine.analysis.frontier.resampling import seed_grid
from engine.analysis.frontier.stability import agreement
from engine.analysis.frontier.weight_ranges import change_over_weights
from engine.analysis.unfairness import unfairness_table
from engine.store.study import Study
from tests.support.dashboard.whole_study import make_whole_study
from tests.support.population_study import N_LEVELS, make_population
from tests.support.server import Served, serve
from tests.support.visitor import Visitor

N_MODELS, N_FEW = 120_906, 100
FEW = {"techniques": ("global_unstructured", "l1_structured"), "seeds": 1, "levels": 18}
"""76 models; 24 more are diagnosed."""

MOST_RATIO, MOST_MILLISECONDS = 1.5, 50.0
WEIGHTS = ("1", "10", "100", "31.6")


@dataclass(frozen=True)
class Page:
    """A page, the control that is moved, and how many charts and tables it shows at least."""

    file: str
    key: str
    values: tuple[str, ...]
    n_figures: int
    settings: dict[str, str] = field(default_factory=dict)
    n_moves: int = 10


MADE = {"dataset": "QMNIST (writers)", "network": "LeNet"}
"""Where the runs are whose every answer is there; both studies have them."""

PAGES = (
    Page("", "treatments", ("Restart", "Keep training"), 2),
    Page("class_curves", "spotlight", ("3", "4"), 4),
    Page("writers", "level", ("64.0 %", "78.4 %"), 3, MADE),
    Page("harmed", "level", ("64.0 %", "78.4 %"), 3, MADE),
    Page("subgroups", "level", ("64.0 %", "78.4 %"), 2, MADE),
    Page("causes", "axis", ("weights kept", "sparsity"), 3),
    Page("mitigation", "axis", ("weights kept", "sparsity"), 2),
    Page("frontier", "weight", WEIGHTS, 3, n_moves=40),
    Page("distortion", "scale", ("all", "near 1"), 3),
    Page("regression", "scale", ("as fitted", "per standard deviation"), 4),
    Page("method", "treatments", ("Restart", "Keep training"), 3),
)
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


async def move_milliseconds(served: Served, page: Page, studies: tuple[str, str]) -> list[float]:
    """Milliseconds of processor of a move in each study, taken in turns; the first round fills caches."""
    taken = dict.fromkeys(studies, 0.0)
    visitors = {name: Visitor(served.address, page.file, page.settings | {"study": name}) for name in studies}
    async with AsyncExitStack() as stack:
        for name, visitor in visitors.items():
            await stack.enter_async_context(visitor)
            opened = await visitor.open()
            assert not opened.errors, f"{page.file}, {name}: {opened.errors[0]}"
            n_charts, n_tables = (visitor.shown.count(kind) for kind in ("plotly_chart", "table"))
            assert n_charts + n_tables >= page.n_figures, f"{page.file}, {name}: {n_charts} charts, {n_tables} tables"
        for number in range(page.n_moves + len(page.values)):
            for name, visitor in visitors.items():
                began = milliseconds(served)
                moved = await visitor.move(page.key, page.values[number % len(page.values)])
                assert not moved.errors, f"{page.file}, {name}: {moved.errors[0]}"
                taken[name] += (milliseconds(served) - began) * (number >= len(page.values))
    return [taken[name] / page.n_moves for name in studies]


def run() -> float:
    """Processor time of a move of the Frontier's slider among 120,906 models over that among 100."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        n_population = -(-(N_MODELS - N_FEW) // N_LEVELS)
        make_population(root / "studies" / "many", n_population)
        many, few = (make_whole_study(root / "studies" / name, **FEW) for name in ("many", "few"))
        n_many, n_few = len(many.levels()), len(few.levels())
        assert n_many >= N_MODELS and n_few == N_FEW, (n_many, n_few)
        own = {"protocol": str(few.levels()["protocol"].mode().iloc[0])}
        longest = max(computation_milliseconds(many, together) for together in (False, True))
        with serve(root / "studies", root / "log") as served:
            ratios = {}
            for page in (replace(page, settings=page.settings | own) if page.settings else page for page in PAGES):
                most, least = asyncio.run(move_milliseconds(served, page, ("many", "few")))
                ratios[page.file] = most / least
                print(
                    f"{page.file or 'overview'}: {most:.0f} ms with {n_many:,} models, {least:.0f} ms with {n_few}: "
                    f"{most / least:.2f} times",
                    flush=True,
                )
    assert longest < MOST_MILLISECONDS, f"{longest:.0f} ms; allowed are {MOST_MILLISECONDS:.0f} ms"
    assert ratios["frontier"] <= MOST_RATIO, f"{ratios['frontier']:.2f} times as long; allowed is {MOST_RATIO}"
    return ratios["frontier"]
