"""A pool of processes that outlives any of its members: a member that dies is replaced and its run handed out again."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from engine.run_spec import Progress, RunSpec
from engine.runs import shared_images
from engine.sweeps.worker import Result, RunContext


@dataclass(frozen=True)
class Lost:
    """A member died while it worked on this run."""

    key: str


Event = Progress | Result | Lost


@dataclass
class _Member:
    number: int
    process: Any
    pipe: Connection
    run: str = field(default="")


class Pool:
    """So many processes, each with at most one run at a time; each starts with its first.

    `method` is how they start: `spawn` is safe everywhere; `fork` is quicker where nothing computes in this process.
    """

    def __init__(self, size: int, context: RunContext, method: str = "spawn") -> None:
        self._context: Any = multiprocessing.get_context(method)
        self._place, self._size = context, size
        self._images = shared_images.new_folder()
        self._members: list[_Member] = []

    def idle(self) -> int:
        """Number of runs that the pool could take now."""
        return self._size - sum(bool(member.run) for member in self._members)

    def hand_out(self, spec: RunSpec) -> None:
        """Give a run to an idle member, or to a new one."""
        member = next((member for member in self._members if not member.run), None)
        if member is None:
            self._members.append(member := self._start(len(self._members)))
        member.run = spec.key
        try:
            member.pipe.send(spec)
        except OSError:
            pass  # it died while idle: `events` will see that and say that the run is lost

    def events(self, seconds: float) -> Iterator[Event]:
        """What the members report within this time."""
        by_handle: dict[Any, _Member] = {member.pipe: member for member in self._members}
        by_handle |= {member.process.sentinel: member for member in self._members}
        seen = {by_handle[handle].number: by_handle[handle] for handle in wait(list(by_handle), seconds)}
        for member in seen.values():
            is_alive = member.process.is_alive()  # asked first: what the dead sent last is still read
            try:
                while member.pipe.poll():
                    event = member.pipe.recv()
                    if isinstance(event, Result):
                        member.run = ""
                    yield event
            except (EOFError, OSError):
                is_alive = False
            if not is_alive:
                yield from self._bury(member)

    def close(self) -> None:
        """End all members at once; what they had finished is kept."""
        for member in self._members:
            member.process.kill()
        for member in self._members:
            member.process.join()
        shared_images.remove(self._images)

    def _bury(self, member: _Member) -> Iterator[Lost]:
        member.process.kill()
        member.process.join()
        member.pipe.close()
        self._members[member.number] = self._start(member.number)
        if member.run:
            yield Lost(member.run)

    def _start(self, number: int) -> _Member:
        ours, theirs = self._context.Pipe()
        context = replace(self._place, device=device_of(self._place.device, number))
        process = self._context.Process(
            target=_work, args=(theirs, context, os.getpid(), str(self._images)), daemon=True
        )
        with _interrupts_held():
            process.start()
        theirs.close()
        return _Member(number, process, ours)


def device_of(device: str, number: int) -> str:
    """The device of a pool's member: with several GPUs they take turns, else all have the same."""
    if device not in ("auto", "cuda"):
        return device
    import torch

    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return f"cuda:{number % n_gpus}" if n_gpus > 1 else device


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """What starts in this block never sees Ctrl-C, and the block itself only at its end: the parent ends its members.

    The mask is for the member, which takes it over. The handler is for this process, where another thread may get the
    signal and this one would stop in the middle of starting a member.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # where a member's start starts it, that takes the mask away
    held: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    is_main = threading.current_thread() is threading.main_thread()  # the only one that Python interrupts
    handler = signal.signal(signal.SIGINT, lambda number, frame: held.append(number)) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if held:
        signal.raise_signal(signal.SIGINT)


def _work(pipe: Connection, context: RunContext, parent: int, images: str) -> None:
    """What a member does until its parent hangs up or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ |= {"OMP_NUM_THREADS": "1", shared_images.VARIABLE: images}
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    from engine.sweeps.worker import execute_run

    def report(event: Progress | Result) -> None:
        try:
            pipe.send(event)
        except OSError:
            os._exit(1)  # the parent is gone; that is no failure of the run

    while True:
        try:
            spec = pipe.recv()
        except (EOFError, OSError):
            return
        report(execute_run(spec, context, report))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
