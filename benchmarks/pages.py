"""What a click costs on each page, over what it cost in version 0.1.0: processor and bytes.

Both versions are served at once, with one environment and a copy each of the study that 0.1.0 shipped, since it cannot
read a later one, and every control is moved in turns on both. Bytes are those that reach a browser that has what the
page showed just before. The number at the end is the processor time of 0.1.0 over that of today, on the page where it
is least.
"""

import asyncio
import io
import shutil
import statistics
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from engine.analysis.unfairness import UNFAIRNESS
from tests.support.server import TOP, Served, serve
from tests.support.visitor import Visitor

BEFORE = "cae0918af2a33e584120ae158c420df4a63ca4e2"
"""The last commit of version 0.1.0."""

MOST_TIME, MOST_BYTES = 1 / 2, 1 / 3
N_MOVES = 12
"""So many moves a page has at least, after those that fill caches; each control has four."""
MOVES: dict[str, dict[str, tuple[object, ...]]] = {
    "": {"treatments": ("Rewind", "Finetune")},
    "class_curves": {
        "technique": ("Layer magnitude", "Layer random"),
        "spotlight": ("3", "4"),
        "axis": ("sparsity", "weights kept"),
        "seeds": ("with bands", "mean"),
        "measure": ("Mean - min", "Max - min"),
    },
    "writers": {
        "level": ("59.0 %", "67.2 %"),
        "seed": ("seed 0", "mean of all"),
        "attribute": ("tilt", "|tilt|"),
        "least": (40.0, 30.0),
        "member": ("2209", "2121"),
    },
    "harmed": {
        "level": ("59.0 %", "67.2 %"),
        "axis": ("sparsity", "weights kept"),
        "show": ("Top 5 %", "Top 10 %"),
        "class": ("1", "2"),
        "over": ("Top 5 %", "Top 10 %"),
    },
    "subgroups": {
        "level": ("59.0 %", "67.2 %"),
        "value": ("change", "rate"),
        "axis": ("sparsity", "weights kept"),
    },
    "causes": {
        "variant": ("Global magnitude, mitigation after", "Global magnitude, mitigation none"),
        "level": ("30.0 %", "50.0 %"),
        "axis": ("weights kept", "sparsity"),
    },
    "mitigation": {
        "measure": ("Fairness violation (loss)", "Gap of accuracy"),
        "level": ("30.0 %", "50.0 %"),
        "axis": ("weights kept", "sparsity"),
        "arm": ("After pruning", "Before pruning"),
    },
    "frontier": {
        "weight": ("10", "0.1"),
        "threshold": (97.0, 95.0),
        "measure": ("Mean - min", "Max - min"),
        "axis": ("weights kept", "sparsity"),
    },
    "distortion": {
        "base": ("Precision", "Recall"),
        "confidence": ("95 %", "99 %"),
        "scale": ("all", "near 1"),
        "ratios": ("1.95", "1.56"),
        "shown": ("Layer magnitude, finetune", "Global magnitude, rewind"),
    },
    "regression": {
        "errors": ("HC3", "HAC"),
        "model": ("Plain", "Paper's"),
        "scale": ("as fitted", "per standard deviation"),
    },
    "method": {"treatments": ("Rewind", "Finetune")},
}
"""The controls of each page that both versions have, and the values that they are moved to, in 0.1.0's words."""

RENAMED: dict[object, object] = {
    "Max - min": UNFAIRNESS["max_min"].label,
    "Mean - min": UNFAIRNESS["mean_min"].label,
    "Rewind": "Restart",
    "Finetune": "Keep training",
    "mean": "average",
    "with bands": "bands",
    "mean of all": "average of all",
    "|tilt|": "slant",
    "Gap of accuracy": "Gap in accuracy",
    "Fairness violation (loss)": "Gap in loss",
    "Layer magnitude, finetune": "Layer magnitude, keep training",
    "Global magnitude, rewind": "Global magnitude, restart",
}
"""Values that have other names now."""


@dataclass
class Clicks:
    """What one control of a page cost on one side, move by move: milliseconds of processor, and bytes."""

    milliseconds: list[float] = field(default_factory=list)
    n_bytes: list[int] = field(default_factory=list)

    def each(self) -> tuple[float, float]:
        """Milliseconds and bytes of one move; the dearest quarter of the moves, in which the server tidied its memory
        as well, does not count."""
        usual = sorted(self.milliseconds)[: -(-3 * len(self.milliseconds) // 4)]
        return statistics.mean(usual), statistics.mean(self.n_bytes)


@contextmanager
def both_versions(folder: Path) -> Iterator[tuple[Served, Served]]:
    """Version 0.1.0 and this one, served side by side from a copy each of the study that 0.1.0 shipped."""
    packed = subprocess.run(["git", "archive", BEFORE], cwd=TOP, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder / "0.1.0", filter="data")
    for name in ("before", "now"):
        shutil.copytree(folder / "0.1.0" / "data", folder / name)
    with (
        serve(folder / "before", folder / "log-before", top=folder / "0.1.0") as before,
        serve(folder / "now", folder / "log-now") as now,
    ):
        yield before, now


def milliseconds(served: Served) -> float:
    """What the server's process has taken of a processor so far."""
    return 1000 * sum(psutil.Process(served.process).cpu_times()[:2])


async def page_clicks(page: str, sides: tuple[Served, Served]) -> dict[str, tuple[Clicks, Clicks]]:
    """Every control of a page moved in turns on both sides; the first round, which fills caches, does not count."""
    clicks = {key: (Clicks(), Clicks()) for key in MOVES[page]}
    visitors = [Visitor(side.address, page, {"study": "demo"}) for side in sides]
    async with visitors[0], visitors[1]:
        for visitor in visitors:
            assert not (errors := (await visitor.open()).errors), f"{page or 'overview'}: {errors[0]}"
        n_values = sum(map(len, MOVES[page].values()))
        for number in range(1 + max(2, -(-N_MOVES // n_values))):
            for key, values in MOVES[page].items():
                for value in values:
                    for side, visitor, cost, said in zip(
                        sides, visitors, clicks[key], (value, RENAMED.get(value, value)), strict=True
                    ):
                        options = visitor.widgets[key].options
                        assert not options or said in options, f"{page}, {key}: {said!r} is not among {options}"
                        began = milliseconds(side)
                        moved = await visitor.move(key, said)
                        assert not moved.errors, f"{page or 'overview'}, {key}: {moved.errors[0]}"
                        if number:
                            cost.milliseconds.append(milliseconds(side) - began)
                            cost.n_bytes.append(moved.n_bytes)
    return clicks


def page_ratios(page: str, clicks: dict[str, tuple[Clicks, Clicks]]) -> tuple[float, float]:
    """Processor time and bytes of a click over those of 0.1.0, all controls of the page together; says each."""
    totals = [[sum(cost[side].each()[what] for cost in clicks.values()) for side in (0, 1)] for what in (0, 1)]
    time, size = (now / before for before, now in totals)
    print(f"{page or 'overview'}: {time:.2f} of the processor time, {size:.2f} of the bytes")
    for key, costs in clicks.items():
        (before, bytes_before), (now, bytes_now) = (cost.each() for cost in costs)
        print(
            f"  {key}: {before:.0f} → {now:.0f} ms, {bytes_before / 1000:.0f} → {bytes_now / 1000:.0f} kB", flush=True
        )
    return time, size


def run() -> float:
    """Processor time of a click in 0.1.0 over that of today, on the page where it is least."""
    with tempfile.TemporaryDirectory() as name, both_versions(Path(name)) as sides:
        ratios = {page: page_ratios(page, asyncio.run(page_clicks(page, sides))) for page in MOVES}
    slow = {page: time for page, (time, _) in ratios.items() if time > MOST_TIME}
    large = {page: size for page, (_, size) in ratios.items() if size > MOST_BYTES}
    assert not slow, f"processor time over that of 0.1.0, {MOST_TIME:.2f} allowed: {slow}"
    assert not large, f"bytes over those of 0.1.0, {MOST_BYTES:.2f} allowed: {large}"
    return 1 / max(time for time, _ in ratios.values())
