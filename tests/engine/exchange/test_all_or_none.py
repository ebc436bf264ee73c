"""An import is all or none, whatever ends its process, and a file is never blamed for what the machine did."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.exchange import sandbox, tasks
from engine.exchange.sandbox import Source, import_file
from engine.store import catalog
from engine.store.files import remove_left_beside
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.support.harness.crashes import CRASHED, crash_at, crash_moments
from tests.support.harness.forks import answering, exit_code, in_child
from tests.support.run_folders import files_of
from tests.support.uploads import long_table

EVERY = 1 if os.environ.get("PRUNESCOPE_FULL") else 9


def source(folder: Path, name: str, techniques: int = 1) -> Source:
    """A file of a few runs."""
    folder.mkdir(exist_ok=True)
    table = long_table(n=30, seeds=2)
    names = sorted(set(table["technique"]))
    table[table["technique"].isin(names[:techniques])].to_csv(folder / name, index=False)
    return Source(folder / name, name)


def import_here(what: Source, study: Path, n: int = 0) -> int:
    """Import without a child for reading, and with a crash at the n-th write, sync or rename, if there is to be one."""
    sandbox.ask_child = lambda request, source: tasks.perform(request)
    if n:
        crash_at(n)
    return import_file(what, Study(study)).n_new


@pytest.mark.parametrize("had_runs", [False, True], ids=["new study", "more runs"])
def test_a_crash_at_any_moment_leaves_the_study_as_it_was_or_whole(tmp_path: Path, had_runs: bool) -> None:
    few, all_of_it = source(tmp_path / "in", "few.csv"), source(tmp_path / "in", "all.csv", 9)
    calm = Study(tmp_path / "calm" / "study")
    calm.path.parent.mkdir()
    if had_runs:
        assert exit_code(in_child(lambda: import_here(few, calm.path))) == 0
    before = files_of(calm) if had_runs else {}
    assert exit_code(in_child(lambda: import_here(all_of_it, calm.path))) == 0
    expected, outcomes = files_of(calm), set()
    assert len(before) < len(expected)
    for n in crash_moments(f"import {had_runs}", EVERY):
        root = tmp_path / f"{n}"
        root.mkdir()
        if had_runs:
            assert exit_code(in_child(lambda root=root: import_here(few, root / "study"))) == 0
        ended = exit_code(in_child(lambda n=n, root=root: import_here(all_of_it, root / "study", n)))
        study = Study(root / "study")
        catalog.refresh(study)
        found = files_of(study) if study.path.exists() else {}
        assert set(found) in (set(before), set(expected)), f"{n}: {len(found)} of {len(expected)} runs"
        assert study.path.exists() or not had_runs
        outcomes.add(len(found))
        assert not study.path.exists() or verify_study(study) == []
        remove_left_beside(root)
        assert {path.name for path in root.iterdir()} <= {"study"}
        assert exit_code(in_child(lambda root=root: import_here(all_of_it, root / "study"))) == 0
        assert set(files_of(study)) == set(expected) and verify_study(study) == []
        assert not (study.path / "incoming").exists()
        if ended != CRASHED:
            break
    assert ended == 0 and outcomes == {len(before), len(expected)}


def test_two_imports_to_one_study_do_not_mix(tmp_path: Path) -> None:
    """Different examples by one name: whoever is first is whole, the other is refused."""
    first, second = (source(tmp_path / f"{n}", "same.csv", 9) for n in range(2))
    table = pd.read_csv(second.path)
    table[table["example"] != table["example"].iloc[0]].to_csv(second.path, index=False)
    root = tmp_path / "root"
    root.mkdir()

    def states(what: Source) -> str:
        try:
            return f"{import_here(what, root / 'study')} new"
        except PruneScopeError as error:
            return str(error)

    said = [answering(lambda what=what: states(what))[1] for what in (first, second)]
    answers = sorted(answer() for answer in said)
    assert "new" in answers[0] and "other" in answers[1], answers
    assert verify_study(Study(root / "study")) == [] and [path.name for path in root.iterdir()] == ["study"]


def test_a_child_does_not_outlive_its_parent(tmp_path: Path) -> None:
    code = (
        "import os, time; from engine.exchange.sandbox_child import end_with_parent; end_with_parent();"
        "print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {code!r}], stdout=subprocess.PIPE)\n"
        "print(child.stdout.readline().decode(), flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    end = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def ended_by(number: int, times: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the first so many children that read a file are ended by a signal."""
    run, left = sandbox.subprocess.run, [times]

    def interrupted(*arguments: object, **named: object) -> subprocess.CompletedProcess[bytes]:
        left[0] -= 1
        if left[0] >= 0:
            return subprocess.CompletedProcess([], -number, b"", b"")
        return run(*arguments, **named)

    monkeypatch.setattr(sandbox.subprocess, "run", interrupted)


def test_a_child_that_is_ended_once_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended_by(signal.SIGKILL, 1, tmp_path, monkeypatch)
    assert import_file(source(tmp_path / "in", "few.csv"), Study(tmp_path / "study")).n_new > 0


def test_a_file_is_not_blamed_for_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended_by(signal.SIGABRT, 2, tmp_path, monkeypatch)
    with pytest.raises(PruneScopeError, match=r"ended twice, by signal 6 \(SIGABRT\).*nothing about the file"):
        import_file(source(tmp_path / "in", "few.csv"), Study(tmp_path / "study"))
    assert not (tmp_path / "study").exists()


def test_what_a_child_said_counts_even_if_it_ends_badly(tmp_path: Path) -> None:
    from engine.exchange.messages import Preview, PreviewRequest, encode

    what = source(tmp_path / "in", "few.csv")
    request = PreviewRequest(sandbox._file_to_read(what, sandbox.ColumnMapping()), 3000, 900)
    line = encode(tasks.perform(request)) + b"\n"
    answer = sandbox._answer(subprocess.CompletedProcess([], -signal.SIGABRT, line, b""), request, what)
    assert isinstance(answer, Preview)
