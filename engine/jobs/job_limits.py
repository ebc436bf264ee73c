"""How much of a machine a job may have: what whoever runs the server allows, and what was asked for."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from engine.errors import PruneScopeError
from engine.jobs.job_request import JobRequest

SPARE_GIGABYTES = 0.3
"""Room that a job leaves on a disk: it stops before others cannot write."""


@dataclass(frozen=True)
class JobLimits:
    """The most that one job may have; 0 is no limit."""

    workers: int = 0
    hours: float = 0.0
    gigabytes: float = 0.0


def limits_here() -> JobLimits:
    """What $PRUNESCOPE_JOB_WORKERS, _HOURS and _GIGABYTES allow."""
    return JobLimits(int(_number("WORKERS")), _number("HOURS"), _number("GIGABYTES"))


def within_limits(request: JobRequest, limits: JobLimits) -> JobRequest:
    """The request with what it leaves open filled in; one that asks for more than is allowed is refused."""
    for name, unit in (("workers", "processes"), ("hours", "hours"), ("gigabytes", "GB")):
        asked, most = getattr(request, name), getattr(limits, name)
        if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked < float("inf"):
            raise PruneScopeError(f"{name} is {asked!r}; it should be 0, for as many as are allowed, or more.")
        if most and asked > most:
            raise PruneScopeError(f"{name} is {asked:g}; a job may have at most {most:g} {unit} here.")
    open_ones = {name: getattr(limits, name) for name in ("hours", "gigabytes") if not getattr(request, name)}
    return replace(request, **open_ones)


def check_room(folder: Path, gigabytes: float) -> None:
    """Refuse a job whose results would not fit on the disk, with what is free and what to do."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free / 1e9
    if free < gigabytes + SPARE_GIGABYTES:
        raise PruneScopeError(
            f"Only {free:.1f} GB are free on the disk; this job needs about {gigabytes:.1f} GB and leaves "
            f"{SPARE_GIGABYTES:.1f} GB to others. Make room, or ask for fewer runs."
        )


def _number(name: str) -> float:
    variable = f"PRUNESCOPE_JOB_{name}"
    text = os.environ.get(variable, "").strip() or "0"
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise PruneScopeError(f"${variable} is {text!r}; it should be a number, 0 for no limit.")
    return value
