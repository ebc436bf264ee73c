"""50 people on the Frontier at once, each moving a slider every 10 seconds or so, on a server of its own.

The number at the end is what the 95th percentile of a rerun leaves of its one second; it may not fall below 1.
`python -m benchmarks sessions`; PRUNESCOPE_SESSIONS and PRUNESCOPE_SECONDS in the environment change size and length.
"""

import asyncio
import os
import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from tests.support.server import Served, serve
from tests.support.studies import make_study
from tests.support.visitor import Rerun, Visitor

N_SESSIONS = int(os.environ.get("PRUNESCOPE_SESSIONS", "50"))
SECONDS = float(os.environ.get("PRUNESCOPE_SECONDS", "90"))
THINK_SECONDS = 10.0
AFTER_SECONDS = 60.0
MOST_SECONDS, MOST_MEGABYTES = 1.0, 150.0
THRESHOLDS = [80.0 + 0.5 * step for step in range(30)]
WEIGHTS = ("0.01", "0.1", "0.316", "1", "3.16", "10", "31.6", "100", "1000")


@dataclass
class Load:
    """What the visitors met."""

    opened: list[Rerun] = field(default_factory=list)
    moved: list[Rerun] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def errors(self) -> list[str]:
        """Everything that went wrong."""
        return self.failed + [text for rerun in (*self.opened, *self.moved) for text in rerun.errors]


async def visit(address: str, number: int, until: float, load: Load) -> None:
    """One person: arrives at some time of the first think time, then looks, thinks and moves."""
    chance = random.Random(number)
    await asyncio.sleep(chance.uniform(0, THINK_SECONDS))
    try:
        async with Visitor(address, "frontier", {"study": "made"}) as visitor:
            load.opened.append(await visitor.open())
            while True:
                await asyncio.sleep(chance.uniform(0.5, 1.5) * THINK_SECONDS)
                if time.monotonic() > until:
                    return
                if chance.random() < 0.5:
                    load.moved.append(await visitor.move("threshold", chance.choice(THRESHOLDS)))
                else:
                    load.moved.append(await visitor.move("weight", chance.choice(WEIGHTS)))
    except Exception as error:
        load.failed.append(f"session {number}: {error!r}")


async def visit_together(served: Served) -> tuple[Load, float]:
    """What all visitors met, and the server's megabytes while they were there."""
    load, until = Load(), time.monotonic() + SECONDS
    tasks = [asyncio.create_task(visit(served.address, number, until, load)) for number in range(N_SESSIONS)]
    most = 0.0
    while time.monotonic() < until:
        await asyncio.sleep(1)
        most = max(most, megabytes(served))
    await asyncio.gather(*tasks)
    return load, most


async def warm_up(served: Served) -> None:
    """Two people one after the other, so that everything that the server keeps is there."""
    for number in range(2):
        async with Visitor(served.address, "frontier", {"study": "made"}) as visitor:
            await visitor.open()
            for weight in WEIGHTS:
                await visitor.move("weight", weight)
            await visitor.move("threshold", THRESHOLDS[number])


def megabytes(served: Served) -> float:
    """What the server holds in memory."""
    return float(psutil.Process(served.process).memory_info().rss) / 2**20


def run() -> float:
    """How many times the 95th percentile of a rerun fits into the second that it may take."""
    with tempfile.TemporaryDirectory() as folder:
        make_study(Path(folder) / "studies" / "made", levels=20)
        with serve(Path(folder) / "studies", Path(folder) / "log") as served:
            asyncio.run(warm_up(served))
            time.sleep(2 * THINK_SECONDS)
            warm = megabytes(served)
            processor = psutil.Process(served.process).cpu_times()
            load, most = asyncio.run(visit_together(served))
            used = sum(psutil.Process(served.process).cpu_times()[:2]) - sum(processor[:2])
            time.sleep(AFTER_SECONDS)
            after = megabytes(served)
            said = served.said()
    seconds = np.array([rerun.seconds for rerun in load.moved])
    median, high = np.percentile(seconds, [50, 95])
    opened = np.median([rerun.seconds for rerun in load.opened])
    print(
        f"{N_SESSIONS} sessions for {SECONDS:.0f} s, {len(seconds)} moves: median {median:.2f} s, 95th percentile "
        f"{high:.2f} s, longest {seconds.max():.2f} s; a page opens in {opened:.2f} s; {len(load.errors())} errors"
    )
    print(
        f"server: {1000 * used / max(len(seconds) + len(load.opened), 1):.0f} ms of processor a rerun; {warm:.0f} MB "
        f"warm, {most:.0f} MB at most, {after:.0f} MB {AFTER_SECONDS:.0f} s after they left"
    )
    assert not load.errors(), load.errors()[0]
    assert "Traceback" not in said, said
    assert high <= MOST_SECONDS, f"{high:.2f} s; allowed is {MOST_SECONDS} s"
    assert after - warm <= MOST_MEGABYTES, f"{after - warm:.0f} MB more than before; allowed are {MOST_MEGABYTES:.0f}"
    return float(MOST_SECONDS / high)
