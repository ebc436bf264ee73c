"""Which process something belongs to, and whether that process still lives."""

import hashlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class ProcessIdentity:
    """A process: the machine it runs on, its number, and when it began, because numbers are used again."""

    host: str
    process: int
    began: str


def this_process() -> ProcessIdentity:
    """The process that asks."""
    process = os.getpid()
    return ProcessIdentity(this_host(), process, _began_once(process))


@cache
def _began_once(process: int) -> str:
    """When this very process began: looked up once, because every file that is written asks."""
    return _began(process)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_began_once.cache_clear)


def process_here(process: int) -> ProcessIdentity:
    """The process of this number on this machine."""
    return ProcessIdentity(this_host(), process, _began(process))


@cache
def this_host() -> str:
    """Letters for this machine since it was switched on, or this container: where a process number means one thing."""
    parts = [socket.gethostname()]
    sources: tuple[Callable[[], str], ...] = (
        lambda: Path("/proc/sys/kernel/random/boot_id").read_text(),
        lambda: os.readlink("/proc/self/ns/pid"),
    )
    for read in sources:
        try:
            parts.append(read())
        except OSError:
            pass  # not Linux: the name alone has to do
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:8]


def is_alive(owner: ProcessIdentity) -> bool | None:
    """Whether the process is still there; None where only its own machine could tell."""
    return _began(owner.process) == owner.began != "" if owner.host == this_host() else None


def _began(process: int) -> str:
    """When a process of this machine began; empty where there is none (or it only waits to be buried)."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
        state, *rest = text.rpartition(")")[2].split()
        return "" if state in "ZX" else rest[18]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return ""
    except OSError:
        pass
    try:
        os.kill(process, 0)
        return "unknown"
    except OSError:
        return ""
