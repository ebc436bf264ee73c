"""50 people on the Frontier at once, each moving a slider every 10 seconds or so, on a server of its own.

Beside them as many move a slider of an app of one sentence, on another server: Streamlit alone on this machine. The
number at the end is the processor time of a rerun over theirs; it may be 15. Of 100 moves 95 take at most a
second of a machine that has nothing else to do. `python -m benchmarks sessions`; PRUNESCOPE_SESSIONS and
PRUNESCOPE_SECONDS in the environment change size and length.
"""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from benchmarks.crowding import crowding
from benchmarks.pages import milliseconds
from tests.support.server import Served, serve
from tests.support.studies import make_study
from tests.support.visitor import Rerun, Visitor

N_SESSIONS = int(os.environ.get("PRUNESCOPE_SESSIONS", "50"))
SECONDS = float(os.environ.get("PRUNESCOPE_SECONDS", "90"))
THINK_SECONDS = 10.0
AFTER_SECONDS = 60.0
MOST_RATIO, MOST_SECONDS, MOST_MEGABYTES = 15.0, 1.0, 150.0
ONE_SLIDER = """import streamlit as st

st.write(st.slider("Accuracy at least", 80.0, 95.0, 90.0, 0.1, key="threshold"))
"""
THRESHOLDS = tuple(80.0 + 0.5 * step for step in range(30))
WEIGHTS = ("0.01", "0.1", "0.316", "1", "3.16", "10", "31.6", "100", "1000")


@dataclass
class Load:
    """What the visitors of one server met, and what it took of a processor and held in memory meanwhile."""

    opened: list[Rerun] = field(default_factory=list)
    moved: list[Rerun] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    milliseconds: float = 0.0
    megabytes: float = 0.0

    def errors(self) -> list[str]:
        """Everything that went wrong."""
        return self.failed + [text for rerun in (*self.opened, *self.moved) for text in rerun.errors]

    def each(self) -> float:
        """Milliseconds of processor a rerun."""
        return self.milliseconds / max(len(self.opened) + len(self.moved), 1)

    def waited(self, share: float) -> float:
        """Seconds within which this share of the moves were done."""
        return float(np.quantile([rerun.seconds for rerun in self.moved], share))


@dataclass(frozen=True)
class App:
    """A page with its settings, and the values that its controls are moved to."""

    page: str
    settings: dict[str, str]
    moves: tuple[tuple[str, tuple[object, ...]], ...]


FRONTIER = App("frontier", {"study": "made"}, (("threshold", THRESHOLDS), ("weight", WEIGHTS)))
EMPTY = App("", {}, (("threshold", THRESHOLDS),))


async def visit(served: Served, app: App, number: int, until: float, load: Load) -> None:
    """One person: arrives at some time of the first think time, then looks, thinks and moves."""
    chance = random.Random(number)
    await asyncio.sleep(chance.uniform(0, THINK_SECONDS))
    try:
        async with Visitor(served.address, app.page, dict(app.settings)) as visitor:
            load.opened.append(await visitor.open())
            while True:
                await asyncio.sleep(chance.uniform(0.5, 1.5) * THINK_SECONDS)
                if time.monotonic() > until:
                    return
                key, values = chance.choice(app.moves)
                load.moved.append(await visitor.move(key, chance.choice(values)))
    except Exception as error:
        load.failed.append(f"session {number}: {error!r}")


async def visit_together(servers: Mapping[Served, App]) -> list[Load]:
    """What all visitors met, as many on each server at the same time."""
    until, loads = time.monotonic() + SECONDS, [Load() for _ in servers]
    began = [milliseconds(served) for served in servers]
    tasks = [
        asyncio.create_task(visit(served, app, number, until, load))
        for (served, app), load in zip(servers.items(), loads, strict=True)
        for number in range(N_SESSIONS)
    ]
    while time.monotonic() < until:
        await asyncio.sleep(1)
        for served, load in zip(servers, loads, strict=True):
            load.megabytes = max(load.megabytes, megabytes(served))
    await asyncio.gather(*tasks)
    for served, load, before in zip(servers, loads, began, strict=True):
        load.milliseconds = milliseconds(served) - before
    return loads


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
    """Processor time of a rerun over that of an app of one slider, with as many people on each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_study(folder / "studies" / "made", levels=20)
        (folder / "one.py").write_text(ONE_SLIDER, encoding="utf-8")
        with (
            serve(folder / "studies", folder / "log") as served,
            serve(folder / "studies", folder / "log-one", str(folder / "one.py")) as empty,
        ):
            asyncio.run(warm_up(served))
            time.sleep(2 * THINK_SECONDS)
            warm = megabytes(served)
            with crowding() as times:
                load, beside = asyncio.run(visit_together({served: FRONTIER, empty: EMPTY}))
                crowded = times()
            time.sleep(AFTER_SECONDS)
            after = megabytes(served)
            said = served.said()
    for label, met in (("Frontier", load), ("one slider", beside)):
        print(
            f"{label}: {N_SESSIONS} sessions for {SECONDS:.0f} s, {len(met.moved)} moves: {met.each():.1f} ms of "
            f"processor each, median {met.waited(0.5):.2f} s, 95th percentile {met.waited(0.95):.2f} s; "
            f"{len(met.errors())} errors"
        )
    print(
        f"server: {warm:.0f} MB warm, {load.megabytes:.0f} MB at most, {after:.0f} MB {AFTER_SECONDS:.0f} s after they "
        "left; "
        f"anything took {crowded:.1f} times as long as on a machine of its own"
    )
    ratio, errors = load.each() / beside.each(), [*load.errors(), *beside.errors()]
    assert not errors, errors[0]
    assert "Traceback" not in said, said
    assert ratio <= MOST_RATIO, f"{ratio:.1f} times that of one slider; allowed is {MOST_RATIO:.0f}"
    waited, most = load.waited(0.95), MOST_SECONDS * crowded
    assert waited <= most, f"95th percentile {waited:.2f} s; allowed are {most:.2f} s on a machine so busy"
    assert after - warm <= MOST_MEGABYTES, f"{after - warm:.0f} MB more than before; allowed are {MOST_MEGABYTES:.0f}"
    return ratio
