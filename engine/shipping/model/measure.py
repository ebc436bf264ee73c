"""What a network costs, measured: weights, multiplications, bytes, and milliseconds beside the dense network's."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

BATCHES = (1, 32)


@dataclass(frozen=True)
class Timing:
    """Median milliseconds of a call, and the middle half of all calls."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Costs:
    """What a network costs. `weights` counts those that are not zero, `stored` all that the file holds.

    `macs` are multiplications with addition of one image, zeros included, as ordinary kernels do them all.
    """

    weights: int
    stored: int
    macs: int
    bytes: int
    bytes_zipped: int
    milliseconds: dict[int, Timing]
    cuda_milliseconds: dict[int, Timing] = field(default_factory=dict)
    """The same by torch on a graphics card, where there is one."""


def timings(calls: Sequence[Callable[[], object]], rounds: int = 60, seconds: float = 4.0) -> list[Timing]:
    """Milliseconds of each call, taken in turns, so that a busy moment is shared."""
    taken: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    begun = time.perf_counter()
    for done in range(rounds):
        for call, times in zip(calls, taken, strict=True):
            before = time.perf_counter()
            call()
            times.append(1000 * (time.perf_counter() - before))
        if done >= 9 and time.perf_counter() - begun > seconds:
            break
    return [Timing(*(float(part) for part in np.percentile(times, (50, 25, 75)))) for times in taken]


def processor_name() -> str:
    """What the processor calls itself."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(errors="replace").splitlines() if facts.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
