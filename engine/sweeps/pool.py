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
from engine.sweeps.gpu_memory import Memory, measured_memory
from engine.sweeps.worker import Result, RunContext
from engine.sweeps.worker_count import gpu_count


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

    With `most` there are up to so many of them once the first has told how much of its GPU a run takes. `method` is
    how they start: `spawn` is safe everywhere; `fork` is quicker where nothing computes in this process.
    """

    def __init__(self, size: int, context: RunContext, method: str = "spawn", most: int = 0) -> None:
        self._context: Any = multiprocessing.get_context(method)
        self._place, self._size, self._most = context, size, most
        self._images = shared_images.new_folder()
        self._members: dict[int, _Member] = {}

    def idle(self) -> int:
        """Number of runs that the pool could take now."""
        return max(0, self._size - self._n_at_work())

    def hand_out(self, spec: RunSpec) -> None:
        """Give a run to an idle member, or to a new one."""
        member = next((member for member in self._members.values() if not member.run), None)
        if member is None:
            number = next(number for number in range(self._size) if number not in self._members)
            member = self._members[number] = self._start(number)
        member.run = spec.key
        try:
            member.pipe.send(spec)
        except OSError:
            pass  # it died while idle: `events` will see that and say that the run is lost

    def events(self, seconds: float) -> Iterator[Event]:
        """What the members report within this time."""
        by_handle: dict[Any, _Member] = {member.pipe: member for member in self._members.values()}
        by_handle |= {member.process.sentinel: member for member in self._members.values()}
        seen = {by_handle[handle].number: by_handle[handle] for handle in wait(list(by_handle), seconds)}
        for member in seen.values():
            is_alive = member.process.is_alive()  # asked first: what the dead sent last is still read
            try:
                while member.pipe.poll():
                    event = member.pipe.recv()
                    if isinstance(event, Memory):
                        self._widen(event)
                        continue
                    if isinstance(event, Result):
                        member.run = ""
                        is_alive &= event.state != "crowded"  # only its end gives back what torch keeps for it
                    yield event
            except (EOFError, OSError):
                is_alive = False
            if not is_alive:
                yield from self._bury(member)
        self._dismiss()

    def halve(self) -> int:
        """Do half as many runs at a time from now on, because memory ran out; how many that are.

        Those that go on meanwhile may still be too many: then it is not halved again for another of them.
        """
        if self._n_at_work() < self._size:
            self._size = max(1, self._size // 2)
        self._most = 0
        return self._size

    def close(self) -> None:
        """End all members at once; what they had finished is kept."""
        for member in self._members.values():
            member.process.kill()
        for member in self._members.values():
            member.process.join()
        shared_images.remove(self._images)

    def _n_at_work(self) -> int:
        return sum(bool(member.run) for member in self._members.values())

    def _widen(self, memory: Memory) -> None:
        """Take as many members as the memory of all GPUs holds, by what the first run took of its own."""
        if self._most:
            self._size = max(self._size, min(self._most, memory.n_runs * max(1, gpu_count(self._place.device))))
        self._most = 0

    def _dismiss(self) -> None:
        """End idle members that are too many: they hold memory that others lack."""
        for member in [member for member in self._members.values() if not member.run and member.number >= self._size]:
            self._end(member)

    def _end(self, member: _Member) -> None:
        member.process.kill()
        member.process.join()
        member.pipe.close()
        del self._members[member.number]

    def _bury(self, member: _Member) -> Iterator[Lost]:
        self._end(member)
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
    n_gpus = gpu_count(device)
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

    is_measured = False

    def report(event: Progress | Result) -> None:
        nonlocal is_measured
        try:
            pipe.send(event)
            if not is_measured and isinstance(event, Progress) and event.level and event.epoch:
                is_measured, memory = True, measured_memory(context.device)
                if memory is not None:
                    pipe.send(memory)
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
