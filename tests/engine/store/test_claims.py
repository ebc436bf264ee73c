"""A claim has one living owner; a dead one's is taken over."""

import json
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from engine.store import claims
from engine.store.claims import claim, living_claims, remove_dead_claims
from engine.store.process_identity import ProcessIdentity, this_process


def leave_claim(folder: Path, owner: ProcessIdentity, number: int = 1, age: float = 0.0) -> Path:
    """A claim on "run" as another process would have left it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"run.{number}"
    path.write_text(json.dumps({"token": f"of {owner.process}", **asdict(owner)}))
    os.utime(path, (time.time() - age,) * 2)
    return path


def dead_process() -> ProcessIdentity:
    """A process of this machine that is gone."""
    code = (
        "from engine.store.process_identity import this_process; own = this_process();"
        "print(own.host, own.process, own.began)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    host, process, began = said.split()
    return ProcessIdentity(host, int(process), began)


def test_a_claim_is_held_once_and_given_back(tmp_path: Path) -> None:
    with claim(tmp_path, "run") as first, claim(tmp_path, "run") as second, claim(tmp_path, "other") as other:
        assert first and not second and other
        assert living_claims(tmp_path) == {"run", "other"}
    assert living_claims(tmp_path) == set() and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_is_a_process_of_its_own() -> None:
    code = (
        "import os, time; from engine.store.process_identity import this_process; print(this_process(), flush=True);"
        "time.sleep(0.05); child = os.fork(); child and os.wait(); child or print(this_process(), flush=True)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    first, second = (re.search(r"process=(\d+), began='(\d+)'", line) for line in said.splitlines())
    assert first and second and first[1] != second[1] and int(first[2]) < int(second[2])


def test_a_claim_is_given_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), claim(tmp_path, "run"):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_a_dead_processs_claim_is_taken_over_at_once(tmp_path: Path) -> None:
    leave_claim(tmp_path, dead_process())
    assert living_claims(tmp_path) == set()
    with claim(tmp_path, "run") as ours:
        assert ours
        assert [path.name for path in tmp_path.iterdir()] == ["run.2"]


def test_a_process_number_that_is_used_again_does_not_keep_a_claim_alive(tmp_path: Path) -> None:
    me = this_process()
    leave_claim(tmp_path, ProcessIdentity(me.host, me.process, "1"))
    assert living_claims(tmp_path) == set()


@pytest.mark.parametrize(("age", "lives"), [(0.0, True), (25.0, True), (31.0, False), (-3.0, True), (-7200.0, False)])
def test_a_claim_of_another_machine_is_shown_while_it_is_fresh(tmp_path: Path, age: float, lives: bool) -> None:
    leave_claim(tmp_path, ProcessIdentity("elsewhere", 1, "2"), age=age)
    assert living_claims(tmp_path, at_a_glance=True) == ({"run"} if lives else set())
    assert claims.EXPIRY <= 60, "no run is shown as running 60 seconds after its process died"


@pytest.mark.parametrize("hours", [-2, 0.1, 2])
def test_a_claim_that_seems_old_lives_while_it_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: float
) -> None:
    """Whatever the clock of its machine says."""
    monkeypatch.setattr(claims, "EXPIRY", 3.0)
    path, stop = leave_claim(tmp_path, ProcessIdentity("elsewhere", 1, "2"), age=3600 * hours), threading.Event()

    def beat() -> None:
        while not stop.wait(0.1):
            os.utime(path, (time.time() - 3600 * hours,) * 2)

    owner = threading.Thread(target=beat)
    owner.start()
    end = time.monotonic() + 4
    while time.monotonic() < end:
        with claim(tmp_path, "run") as ours:
            assert not ours
        assert living_claims(tmp_path) == {"run"}
    stop.set()
    owner.join()
    assert living_claims(tmp_path) == {"run"}, "it has only just gone still"
    with claim(tmp_path, "run") as ours:
        assert ours


def test_a_claim_that_is_still_is_dead_once_it_was_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "EXPIRY", 0.5)
    leave_claim(tmp_path, ProcessIdentity("elsewhere", 1, "2"), age=-7200.0)
    assert living_claims(tmp_path) == {"run"}
    remove_dead_claims(tmp_path)
    time.sleep(0.6)
    assert living_claims(tmp_path) == set()
    remove_dead_claims(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_claim_of_the_first_engines_without_a_number_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "EXPIRY", 0.5)
    leave_claim(tmp_path, ProcessIdentity("elsewhere", 1, "2"), age=60).rename(tmp_path / "run")
    with claim(tmp_path, "run") as ours:
        assert ours and living_claims(tmp_path) == {"run"}
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_claim_is_dead(tmp_path: Path) -> None:
    (tmp_path / "run.1").write_bytes(b"\xff{")
    assert living_claims(tmp_path) == set()
    remove_dead_claims(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_claim_stays_fresh_while_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "HEARTBEAT", 0.05)
    with claim(tmp_path, "run"):
        path = tmp_path / "run.1"
        os.utime(path, (0, 0))
        end = time.monotonic() + 30
        while path.stat().st_mtime == 0 and time.monotonic() < end:
            time.sleep(0.02)
        assert living_claims(tmp_path) == {"run"}


def test_an_owner_that_lost_its_claim_leaves_the_new_one_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "HEARTBEAT", 1000.0)
    monkeypatch.setattr(claims, "EXPIRY", 0.5)
    with claim(tmp_path, "run") as first:
        os.utime(tmp_path / "run.1", (0, 0))  # as if it had been frozen
        taken, release = threading.Event(), threading.Event()

        def take() -> None:
            with claim(tmp_path, "run") as second:
                assert first and second
                taken.set()
                release.wait(30)

        thread = threading.Thread(target=take)
        thread.start()
        assert taken.wait(30)
    assert [path.name for path in tmp_path.iterdir()] == ["run.2"]
    release.set()
    thread.join()
    assert list(tmp_path.iterdir()) == []


def race(folder: Path, owner: ProcessIdentity, n_rounds: int) -> None:
    """Take one claim after another, dead ones among them; note in a file each time that one is held."""
    for number in range(n_rounds):
        with claim(folder, f"thing{number}") as ours:
            if ours:
                held = os.open(folder.parent / f"held-{number}", os.O_CREAT | os.O_EXCL)
                time.sleep(0.002)
                os.close(held)
                (folder.parent / f"held-{number}").unlink()


def test_racing_processes_never_hold_a_claim_together(tmp_path: Path) -> None:
    folder, owner, n_rounds = tmp_path / "claims", dead_process(), 24
    folder.mkdir()
    for number in range(0, n_rounds, 2):
        leave_claim(folder, owner).rename(folder / f"thing{number}.3")
    spawn = multiprocessing.get_context("spawn")
    racers = [spawn.Process(target=race, args=(folder, owner, n_rounds)) for _ in range(4)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [racer.exitcode for racer in racers] == [0] * 4
    assert living_claims(folder) == set()
