"""Imports of several people come one after the other, in processes of their own, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from engine.access import AccessError
from engine.errors import PruneScopeError
from engine.exchange.mapping import ColumnMapping
from engine.exchange.sandbox import Source
from engine.jobs import import_queue
from engine.jobs.import_process import ImportRequest
from engine.jobs.import_queue import MOST, MOST_OF_ONE, ImportQueue, QueuedImport
from engine.store.files import remove_left_beside
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.support.harness.forks import wait_until
from tests.support.uploads import long_table

TOP = Path(__file__).resolve().parents[3]


def upload(root: Path, study: str) -> tuple[ImportRequest, Path]:
    """A request of a small file, and the folder that it lies in."""
    folder = root / f".{study}-upload"
    folder.mkdir(parents=True)
    long_table(n=30).to_csv(folder / "upload", index=False)
    source = Source(folder / "upload", f"{study}.csv")
    return ImportRequest(source, root / study, ColumnMapping(), study, None), folder


def test_imports_come_one_after_the_other_and_their_files_go(tmp_path: Path) -> None:
    queue = ImportQueue()
    asked = [queue.add(*upload(tmp_path, name), visitor=name) for name in ("first", "second")]
    assert queue.ahead_of(asked[1]) == 1 and asked[1].state == "waiting"
    assert all(one.wait(120) for one in asked)
    assert [one.result().n_new for one in asked] == [4, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]
    assert all(verify_study(Study(tmp_path / name)) == [] for name in ("first", "second"))
    assert (tmp_path / "first" / "catalog").is_dir(), "no page has to read the runs anew"


def test_a_file_that_is_no_table_is_refused_and_the_next_has_its_turn(tmp_path: Path) -> None:
    queue, (wrong, folder) = ImportQueue(), upload(tmp_path, "wrong")
    wrong.source.path.write_bytes(b"\x00\x01")
    asked = [queue.add(wrong, folder, "one"), queue.add(*upload(tmp_path, "right"), "one")]
    assert all(one.wait(120) for one in asked)
    with pytest.raises(PruneScopeError, match=r"\w"):
        asked[0].result()
    assert asked[1].result().n_new == 4 and [path.name for path in tmp_path.iterdir()] == ["right"]


def importing() -> list[psutil.Process]:
    """Processes that this one began, and that import by now."""
    return [child for child in psutil.Process().children() if "engine.jobs.import_process" in child.cmdline()]


def test_a_process_that_is_killed_is_a_sentence_and_nothing_is_there(tmp_path: Path) -> None:
    queue = ImportQueue()
    asked = queue.add(*upload(tmp_path, "study"), "one")
    wait_until(importing)
    for child in importing():
        child.kill()
    assert asked.wait(60)
    with pytest.raises(PruneScopeError, match="has failed: it ended with -9. Nothing was imported; try again"):
        asked.result()
    remove_left_beside(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_visitor_and_all_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    queue, (request, folder) = ImportQueue(lambda queued: None if go_on.wait(60) else None), upload(tmp_path, "study")
    for _ in range(MOST_OF_ONE):
        queue.add(request, folder, "greedy")
    with pytest.raises(PruneScopeError, match=f"{MOST_OF_ONE} of your imports are not finished"):
        queue.add(request, folder, "greedy")
    for number in range(MOST - MOST_OF_ONE):
        queue.add(request, folder, f"visitor {number}")
    with pytest.raises(PruneScopeError, match=f"{MOST} imports are waiting already"):
        queue.add(request, folder, "late")
    go_on.set()
    wait_until(lambda: not len(queue))
    monkeypatch.setenv("PRUNESCOPE_ACCESS", "demo")
    with pytest.raises(AccessError):
        queue.add(request, folder, "greedy")


def test_an_import_ends_with_its_server_and_leaves_nothing(tmp_path: Path) -> None:
    request, folder = upload(tmp_path, "study")
    server = (
        "import sys, time; from pathlib import Path\n"
        "from engine.jobs.import_process import decode_request\n"
        "from engine.jobs.import_queue import ImportQueue\n"
        f"ImportQueue().add(decode_request(sys.stdin.buffer.read()), Path({str(folder)!r}), 'one')\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", server], stdin=subprocess.PIPE, cwd=TOP) as process:
        assert process.stdin is not None
        process.stdin.write(import_queue.encode(request))
        process.stdin.close()
        wait_until(lambda: psutil.Process(process.pid).children())
        time.sleep(0.2)
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not any(child.is_running() for child in children), 20)
    remove_left_beside(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"study", folder.name}
    assert not (tmp_path / "study").exists() or verify_study(Study(tmp_path / "study")) == []


def test_how_far_an_import_is_can_be_told(tmp_path: Path) -> None:
    request, folder = upload(tmp_path, "study")
    queued = QueuedImport(request, folder, "one")
    assert queued.state == "waiting" and queued.seconds == 0 and queued.n_staged == 0
    queued.work()
    assert queued.state == "ended" and queued.seconds > 0 and not folder.exists()
