"""A job is what its folder says: it outlives who started it, ends when told, goes on to the same tables."""

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import PruneScopeError
from engine.jobs.job import Job, find_job, jobs_of, live_job
from engine.jobs.start_job import go_on, start_job
from engine.jobs.stop_job import stop_job
from engine.store.people.journal import deeds
from engine.store.study import Study
from engine.sweeps.sweep import run_sweep
from engine.sweeps.worker import RunContext
from tests.support.harness.forks import wait_until
from tests.support.jobs import alive, assert_same_tables, processes_of, small_request

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs by a sweep that nothing happened to."""
    study = tmp_path_factory.mktemp("undisturbed") / "study"
    request = small_request(study, epochs=40, levels=5)
    run_sweep(request.preset, RunContext(study, study, "cpu"), 2, lambda event: None)
    return study


def at_level(job: Job, level: int) -> bool:
    """Whether some run of the job has got so far."""
    return any(run["level"] >= level for run in job.progress().get("runs", []))


def test_paused_killed_and_gone_on_with_it_leaves_the_tables_of_an_undisturbed_sweep(
    tmp_path: Path, undisturbed: Path
) -> None:
    study = tmp_path / "study"
    job = start_job(study, small_request(tmp_path, epochs=40, levels=5))
    assert job.state().word == "running" and live_job(study) == job
    with pytest.raises(PruneScopeError, match="being computed already"):
        start_job(study, small_request(tmp_path, epochs=40, levels=5))
    with pytest.raises(PruneScopeError, match="Another job works on study"):
        start_job(study, small_request(tmp_path, epochs=1))
    wait_until(lambda: at_level(job, 2))
    pids = processes_of(study)
    begun = time.monotonic()
    stop_job(job, "pause")
    assert time.monotonic() - begun < 20 and alive(pids) == []
    assert job.state().word == "stopped" and "paused" in job.state().reason
    assert list((study / "work").iterdir()), "finished levels are kept"
    go_on(job)
    wait_until(lambda: at_level(job, 3) or Study(study).runs())
    pids = processes_of(study)
    os.kill(job.process().process, signal.SIGKILL)  # type: ignore[union-attr]
    wait_until(lambda: job.state().word == "stopped", 60)
    assert "killed" in job.state().reason
    wait_until(lambda: not alive(pids), 60)
    go_on(job)
    wait_until(lambda: not job.is_live(), 300)
    assert job.state().word == "done", job.log()
    assert_same_tables(study, undisturbed)
    assert [deed.act for deed in deeds(study)] == ["started a job", "paused a job", *["went on with a job"] * 2]
    with pytest.raises(PruneScopeError, match="All 2 runs are there already"):
        go_on(job)
    assert "2/2" in job.log() and job.progress()["n_done"] + job.progress()["n_there"] == 2


def test_cancel_leaves_neither_processes_nor_half_finished_runs(tmp_path: Path) -> None:
    study = tmp_path / "study"
    job = start_job(study, small_request(tmp_path, epochs=40, levels=20, workers=2))
    wait_until(lambda: at_level(job, 1))
    pids = processes_of(study)
    assert len(pids) >= 3
    stop_job(job, "cancel")
    assert alive(pids) == [] and job.state().can_go_on and "cancelled" in job.state().reason
    assert not list((study / "work").glob("*")) and not list((study / "claims").glob("*"))


def test_a_job_stops_itself_when_its_time_is_used_up(tmp_path: Path) -> None:
    job = start_job(tmp_path / "study", replace(small_request(tmp_path, epochs=40, levels=20), hours=4 / 3600))
    wait_until(lambda: not job.is_live())
    assert job.state().word == "stopped" and "hours are used up" in job.state().reason


def test_a_job_without_its_data_fails_with_the_reason_and_goes_on_once_they_are_there(tmp_path: Path) -> None:
    request = small_request(tmp_path)
    specs = tuple(replace(spec, dataset="mnist", split="official", seed=0) for spec in request.preset.specs[:1])
    job = start_job(tmp_path / "study", replace(request, preset=replace(request.preset, specs=specs)))
    wait_until(lambda: not job.is_live())
    assert job.state().word == "failed" and job.state().can_go_on
    assert "1 run failed" in job.state().reason and "mnist" in job.state().reason.lower()


def test_a_process_that_hears_nothing_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys
    from dataclasses import asdict

    from engine.jobs import stop_job as stopping
    from engine.store.process_identity import process_here

    monkeypatch.setattr(stopping, "GRACE", 1.0)
    job = Job(tmp_path / "study", "deaf")
    job.folder.mkdir(parents=True)
    (job.folder / "request.json").write_bytes(small_request(tmp_path).content())
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(1, flush=True); time.sleep(99)"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        (job.folder / "owner.json").write_text(json.dumps(asdict(process_here(process.pid))))
        assert job.state().word == "running"
        stopping.stop_job(job, "pause")
        assert process.wait(5) == -signal.SIGKILL and job.state().word == "stopped"


def test_a_job_of_another_machine_is_live_while_it_is_heard_of(tmp_path: Path) -> None:
    study = tmp_path / "study"
    job = Job(study, "far")
    job.folder.mkdir(parents=True)
    (job.folder / "request.json").write_bytes(small_request(tmp_path).content())
    (job.folder / "owner.json").write_text(json.dumps({"host": "elsewhere", "process": 1, "began": "1"}))
    assert job.state().word == "running" and find_job(study, "far") == job
    with pytest.raises(PruneScopeError, match="Wait until it is done"):
        start_job(study, small_request(tmp_path))
    with pytest.raises(PruneScopeError, match="another machine"):
        stop_job(job, "pause")
    os.utime(job.folder / "owner.json", (time.time() - 60,) * 2)
    assert job.state().word == "stopped" and jobs_of(study) == [job]
