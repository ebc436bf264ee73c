"""20 people watch a job on page Run, each page asking for news every two seconds as browsers do.

Windows with and without them take turns, and the number at the end is the training's pace with them over that without.
What they take of the machine's processors, which the training then lacks, may be a tenth. `python -m benchmarks
watchers`; PRUNESCOPE_SESSIONS and PRUNESCOPE_SECONDS (of one window) in the environment change size and length.
"""

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.crowding import crowding
from benchmarks.pages import milliseconds
from engine.jobs.job import Job
from engine.jobs.start_job import start_job
from engine.jobs.stop_job import stop_job
from tests.support.harness.forks import wait_until
from tests.support.jobs import small_request
from tests.support.server import Served, serve
from tests.support.visitor import Rerun, Visitor

N_SESSIONS = int(os.environ.get("PRUNESCOPE_SESSIONS", "20"))
SECONDS = float(os.environ.get("PRUNESCOPE_SECONDS", "20"))
N_PAIRS = 3
EVERY_SECONDS = 2.0
MOST_SECONDS, MOST_SHARE = 1.0, 0.1


async def watch(visitor: Visitor, number: int, until: float, met: list[Rerun]) -> None:
    """One person who looks on, whose browser asks for news by the clock."""
    await asyncio.sleep(number / N_SESSIONS * EVERY_SECONDS)
    while time.monotonic() < until:
        met.append(await visitor.again())
        await asyncio.sleep(max(0.0, EVERY_SECONDS - met[-1].seconds))


def epochs_done(job: Job) -> int:
    """Epochs that the job's runs have trained so far."""
    runs = job.progress().get("runs", [])
    return sum(run["level"] * run["n_epochs"] + run["epoch"] for run in runs)


@dataclass
class Watched:
    """What the watchers met, what that took of a processor, and the training's pace without and with them."""

    opened: list[Rerun] = field(default_factory=list)
    met: list[Rerun] = field(default_factory=list)
    milliseconds: float = 0.0
    paces: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})


async def watch_by_turns(served: Served, job: Job) -> Watched:
    """Windows in which nobody asks for news, and windows in which all do, in turn."""
    found = Watched()
    async with AsyncExitStack() as stack:
        visitors = [
            await stack.enter_async_context(Visitor(served.address, "run", {"study": "made"}))
            for _ in range(N_SESSIONS)
        ]
        for visitor in visitors:
            found.opened.append(await visitor.open())
            assert visitor.repeated, "the page does not watch the job"
        for is_watched in (False, True) * N_PAIRS:
            begun, before, spent = time.monotonic(), epochs_done(job), milliseconds(served)
            if is_watched:
                tasks = (watch(visitor, n, begun + SECONDS, found.met) for n, visitor in enumerate(visitors))
                await asyncio.gather(*tasks)
                found.milliseconds += milliseconds(served) - spent
            else:
                await asyncio.sleep(SECONDS)
            found.paces[is_watched].append((epochs_done(job) - before) / (time.monotonic() - begun))
    return found


def run() -> float:
    """The training's pace with watchers over that without."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        request = small_request(folder, epochs=2_000, levels=20, workers=2)
        job = start_job(folder / "studies" / "made", request)
        try:
            with serve(folder / "studies", folder / "log") as served:
                wait_until(lambda: epochs_done(job) > 0, 120)
                with crowding() as times:
                    found = asyncio.run(watch_by_turns(served, job))
                    crowded = times()
                said = served.said()
        finally:
            stop_job(job, "cancel")
    errors = [text for rerun in (*found.opened, *found.met) for text in rerun.errors]
    opened, p95 = (float(np.quantile([rerun.seconds for rerun in own], 0.95)) for own in (found.opened, found.met))
    without, beside = (float(np.mean(found.paces[is_watched])) for is_watched in (False, True))
    share = found.milliseconds / 1000 / (N_PAIRS * SECONDS) / (os.cpu_count() or 1)
    print(
        f"{N_SESSIONS} watchers, opened one after the other (95th percentile {opened:.2f} s); "
        f"{len(found.met)} reruns of {found.milliseconds / len(found.met):.1f} ms of processor, "
        f"95th percentile {p95:.2f} s; "
        f"{beside:.1f} epochs a second with them, {without:.1f} without; {share:.1%} of the processors; anything took "
        f"{crowded:.1f} times as long as on a machine of its own",
        flush=True,
    )
    assert not errors and "Traceback" not in said, (errors[:1], said)
    most = MOST_SECONDS * crowded
    assert p95 <= most, f"95th percentile {p95:.2f} s; allowed are {most:.2f} s on a machine so busy"
    assert share <= MOST_SHARE, f"{share:.1%} of the processors; allowed is {MOST_SHARE:.0%}"
    return beside / without
