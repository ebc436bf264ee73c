"""Imports that people ask for in their browsers: one after the other, each in a process of its own."""

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from engine.access import check_may_write
from engine.errors import PruneScopeError
from engine.exchange.messages import Refused
from engine.exchange.sandbox import Imported
from engine.jobs.import_process import ImportAnswer, ImportRequest, decode_answer, encode
from engine.store.files import TEMPORARY, remove_folder

TOP = Path(__file__).resolve().parents[2]
MOST_OF_ONE = 3
"""Imports that one visitor may have in the queue, the one at work included."""
MOST = 60
"""Imports in the queue, whoever asked for them."""

State = Literal["waiting", "running", "ended"]


class QueuedImport:
    """An import from the moment somebody asks for it."""

    def __init__(self, request: ImportRequest, folder: Path, visitor: str) -> None:
        self.request, self.visitor = request, visitor
        self.answer: ImportAnswer | None = None
        self._folder, self._ended, self._begun = folder, threading.Event(), 0.0

    @property
    def state(self) -> State:
        """Whether it waits, is at work, or has its answer."""
        return "ended" if self._ended.is_set() else "running" if self._begun else "waiting"

    @property
    def seconds(self) -> float:
        """How long it has been at work."""
        return time.monotonic() - self._begun if self._begun else 0.0

    @property
    def n_staged(self) -> int:
        """Runs that have been read and wait to join the study, all at once."""
        study = self.request.study
        return sum(1 for _ in study.parent.glob(f".{study.name}.*{TEMPORARY}/runs/*")) if self.state == "running" else 0

    def wait(self, seconds: float) -> bool:
        """Wait for the end, at most so long; whether it came."""
        return self._ended.wait(seconds)

    def result(self) -> Imported:
        """What was imported; a refusal where nothing was."""
        assert self.answer is not None, "it has not ended"
        if self.answer.imported is None:
            raise PruneScopeError(self.answer.refused.sentence if self.answer.refused else "Nothing was imported.")
        return self.answer.imported

    def work(self) -> None:
        """Have a process import the files, and remove them."""
        self._begun = time.monotonic()
        try:
            self.answer = _asked(self.request)
        except Exception as error:  # whatever it is, the next import has to have its turn
            self.answer = ImportAnswer(None, Refused(f"The import could not be done here: {error}."))
        finally:
            remove_folder(self._folder)
            self._ended.set()


class ImportQueue:
    """Imports in the order in which they were asked for; one is at work at a time."""

    def __init__(self, work: Callable[[QueuedImport], None] = QueuedImport.work) -> None:
        self._work, self._queue, self._changed = work, deque[QueuedImport](), threading.Condition()
        self._worker: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, request: ImportRequest, folder: Path, visitor: str) -> QueuedImport:
        """The import of files in a folder, which is removed afterwards; refused where too many wait."""
        check_may_write("an import")
        with self._changed:
            own = sum(one.visitor == visitor for one in self._queue)
            if own >= MOST_OF_ONE:
                raise PruneScopeError(f"{own} of your imports are not finished yet. Wait for one of them.")
            if len(self._queue) >= MOST:
                raise PruneScopeError(f"{len(self._queue)} imports are waiting already. Try again in a while.")
            queued = QueuedImport(request, folder, visitor)
            self._queue.append(queued)
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._go_through, name="imports", daemon=True)
                self._worker.start()
            self._changed.notify()
        return queued

    def ahead_of(self, queued: QueuedImport) -> int:
        """Imports that come before this one, the one at work included."""
        waiting = list(self._queue)
        return waiting.index(queued) if queued in waiting else 0

    def _go_through(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                queued = self._queue[0]
            self._work(queued)
            with self._changed:
                self._queue.popleft()


IMPORTS = ImportQueue()
"""The queue of this server."""


def _asked(request: ImportRequest) -> ImportAnswer:
    """What the process says that imports the files."""
    done = subprocess.run(
        [sys.executable, "-m", "engine.jobs.import_process"],
        input=encode(request),
        capture_output=True,
        cwd=TOP,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        check=False,
    )
    try:
        return decode_answer(done.stdout)
    except msgspec.DecodeError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1][:200] if said else f"it ended with {done.returncode}"
        sentence = (
            f"The process that imports {request.source.name} has failed: {reason}. Nothing was imported; try again."
        )
        return ImportAnswer(None, Refused(sentence))
