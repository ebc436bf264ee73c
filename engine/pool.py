"""A pool of processes that outlives any of its members: a member that dies is replaced and its run handed out again."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from engine.records import Progress, RunSpec
from engine.worker import Result


@dataclass(frozen=True)
class Place:
    """Where a pool works: the study, the data sets, the device."""

    study: Path
    root: Path
    device: str


@dataclass(frozen=True)
class Lost:
    """A member died while it worked on this run."""

    key: str


@dataclass
class _Member:
    process: Any
    pipe: Connection
    run: str = field(default="")


class Pool:
    """So many processes, each with at most one run at a time."""

    def __init__(self, size: int, place: Place) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._place = place
        self._members = [self._start() for _ in range(size)]
        self.gone: set[int] = set()

    def idle(self) -> int:
        """Number of members without a run."""
        return sum(not member.run for member in self._members)

    def running(self) -> list[str]:
        """Keys of the runs that are being worked on."""
        return [member.run for member in self._members if member.run]

    def hand_out(self, spec: RunSpec) -> None:
        """Give a run to an idle member."""
        member = next(member for member in self._members if not member.run)
        member.run = spec.key
        try:
            member.pipe.send(spec)
        except OSError:
            pass  # it died while idle: `events` will see that and say that the run is lost

    def events(self, seconds: float) -> Iterator[Progress | Result | Lost]:
        """What the members report within this time."""
        by_handle = {member.pipe: member for member in self._members}
        by_handle |= {member.process.sentinel: member for member in self._members}
        seen = {id(by_handle[handle]): by_handle[handle] for handle in wait(list(by_handle), seconds)}  # type: ignore[arg-type]
        for member in seen.values():
            try:
                while member.pipe.poll():
                    event = member.pipe.recv()
                    if isinstance(event, Result):
                        member.run = ""
                    yield event
            except (EOFError, OSError):
                pass
            if not member.process.is_alive():
                yield from self._bury(member)

    def close(self) -> None:
        """End all members at once; what they had finished is kept."""
        for member in self._members:
            member.process.kill()
        for member in self._members:
            member.process.join()
            self.gone.add(member.process.pid)

    def _bury(self, member: _Member) -> Iterator[Lost]:
        member.process.join()
        self.gone.add(member.process.pid)
        member.pipe.close()
        self._members[self._members.index(member)] = self._start()
        if member.run:
            yield Lost(member.run)

    def _start(self) -> _Member:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._place, os.getpid()), daemon=True)
        process.start()
        theirs.close()
        return _Member(process, ours)


def _work(pipe: Connection, place: Place, parent: int) -> None:
    """What a member does until its parent hangs up or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    from engine.store import Study
    from engine.worker import perform

    study = Study(place.study)
    while True:
        try:
            spec = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(perform(spec, study, place.root, place.device, pipe.send))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
