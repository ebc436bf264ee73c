"""200 people on the dashboard, each moving a slider every 20 seconds or so: on one server process, then on two.

Visitors come to the processes in turn, as a proxy that keeps a session where it began would send them. The number at
the end is the 95th percentile of one process over that of two. `python -m benchmarks load`; PRUNESCOPE_SESSIONS and
PRUNESCOPE_SECONDS in the environment change size and length.
"""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.pages import milliseconds
from benchmarks.sessions import FRONTIER, Load, warm_up
from tests.support.server import Served, serve
from tests.support.studies import make_study
from tests.support.visitor import Visitor

N_SESSIONS = int(os.environ.get("PRUNESCOPE_SESSIONS", "200"))
SECONDS = float(os.environ.get("PRUNESCOPE_SECONDS", "120"))
THINK_SECONDS = 20.0


async def visit(served: Served, number: int, until: float, load: Load) -> None:
    """One person: arrives within the first think time, then looks, thinks and moves."""
    chance = random.Random(number)
    await asyncio.sleep(chance.uniform(0, THINK_SECONDS))
    try:
        async with Visitor(served.address, FRONTIER.page, dict(FRONTIER.settings)) as visitor:
            load.opened.append(await visitor.open())
            while True:
                await asyncio.sleep(chance.uniform(0.5, 1.5) * THINK_SECONDS)
                if time.monotonic() > until:
                    return
                key, values = chance.choice(FRONTIER.moves)
                load.moved.append(await visitor.move(key, chance.choice(values)))
    except Exception as error:
        load.failed.append(f"session {number}: {error!r}")


async def visit_all(servers: Sequence[Served]) -> Load:
    """What all visitors met."""
    load, until = Load(), time.monotonic() + SECONDS
    before = sum(map(milliseconds, servers))
    await asyncio.gather(*(visit(servers[n % len(servers)], n, until, load) for n in range(N_SESSIONS)))
    load.milliseconds = sum(map(milliseconds, servers)) - before
    return load


def load_on(n_servers: int) -> Load:
    """What visitors of so many server processes met."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        make_study(folder / "studies" / "made", levels=20)
        servers = [
            stack.enter_context(serve(folder / "studies", folder / f"log-{number}")) for number in range(n_servers)
        ]
        for served in servers:
            asyncio.run(warm_up(served))
        load = asyncio.run(visit_all(servers))
        said = "".join(served.said() for served in servers)
    print(
        f"{n_servers} server process{'es' * (n_servers > 1)}: {N_SESSIONS} sessions for {SECONDS:.0f} s, "
        f"{len(load.opened)} openings, 95th percentile {np.quantile([r.seconds for r in load.opened], 0.95):.2f} s; "
        f"{len(load.moved)} moves of {load.each():.1f} ms of processor, median {load.waited(0.5):.2f} s, 95th "
        f"percentile {load.waited(0.95):.2f} s; {len(load.errors())} errors; load average {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    assert not load.errors(), load.errors()[0]
    assert "Traceback" not in said, said
    return load


def run() -> float:
    """The 95th percentile of one server process over that of two."""
    return load_on(1).waited(0.95) / load_on(2).waited(0.95)
