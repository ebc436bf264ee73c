"""A sweep from the browser: started, watched, its server killed, stopped, gone on with, killed; nothing is lost."""

import os
import signal
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from engine.jobs.job import Job, jobs_of
from engine.store.study import Study
from engine.sweeps.sweep import run_sweep
from engine.sweeps.worker import RunContext
from pages.shared.menu import MENU
from tests.support.harness.forks import wait_until
from tests.support.jobs import PRESET, alive, assert_same_tables, processes_of, small_request
from tests.support.server import QUIET, serve

pytestmark = [pytest.mark.quiet, pytest.mark.timeout(1200)]
FEW = PRESET.format(epochs=25, levels=20)


def open_run(page: Page, home: str, study: str = "empty", what: str = "") -> None:
    """Open the Run page on a study."""
    page.goto(f"{home}/run?study={study}{what}")
    expect(page.get_by_text("Run something")).to_be_visible()
    expect(page.get_by_test_id("stRadio").or_(page.get_by_text("What to run")).first).to_be_visible()


def has_level(job: Job, level: int) -> bool:
    """Whether some run of the job has come so far."""
    return any(run["level"] >= level for run in job.progress().get("runs", []))


def test_a_job_outlives_its_server_and_is_paused_killed_and_gone_on_with(page: Page, tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    study = studies / "empty"
    (study / "runs").mkdir(parents=True)
    with serve(studies, tmp_path / "first.log") as served:
        open_run(page, served.address, what="&preset=a+file+of+mine")
        preset = tmp_path / "few.toml"
        preset.write_text(FEW.replace("levels", "levles"))
        page.get_by_test_id("stFileUploader").locator("input").set_input_files(preset)
        expect(page.get_by_text("did you mean 'levels'")).to_be_visible()
        preset = tmp_path / "right.toml"
        preset.write_text(FEW)
        page.get_by_test_id("stFileUploader").locator("input").set_input_files(preset)
        expect(page.get_by_text("2 runs, 42 models to compute.")).to_be_visible()
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("is running in empty")).to_be_visible()
        (job,) = jobs_of(study)
        wait_until(lambda: has_level(job, 1))
        expect(page.get_by_text("models a minute")).to_be_visible()
        os.kill(served.process, signal.SIGKILL)
    assert job.is_live(), "it outlives its server"
    with serve(studies, tmp_path / "second.log") as served:
        open_run(page, served.address)
        expect(page.get_by_text("is running in empty")).to_be_visible()
        pids = processes_of(study)
        assert pids
        page.get_by_role("button", name="Pause").click()
        begun = time.monotonic()
        wait_until(lambda: not alive(pids), 20)
        print(f"paused in {time.monotonic() - begun:.1f} s")
        expect(page.get_by_text("It was paused.")).to_be_visible()
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_text("is running in empty")).to_be_visible()
        wait_until(lambda: has_level(job, 2) or Study(study).runs())
        killed = job.process()
        assert killed is not None
        os.kill(killed.process, signal.SIGKILL)
        expect(page.get_by_text("Its process is gone")).to_be_visible(timeout=10_000)
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_text("A few digits is done")).to_be_visible(timeout=400_000)
        for entry in MENU:
            page.goto(f"{served.address}/{'' if entry.file == 'app.py' else Path(entry.file).stem}?study=empty")
            expect(page).to_have_title(f"{entry.label} · PruneScope")
            expect(page.locator(QUIET)).to_be_visible()
            expect(page.get_by_text("no finished run")).to_have_count(0)
        assert "Traceback" not in served.said()
    undisturbed = tmp_path / "undisturbed"
    request = small_request(tmp_path, epochs=25, levels=20)
    run_sweep(request.preset, RunContext(undisturbed, tmp_path, "cpu"), 2, lambda event: None)
    assert_same_tables(study, undisturbed)


def test_cancel_leaves_no_process(page: Page, tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    study = studies / "empty"
    (study / "runs").mkdir(parents=True)
    with serve(studies, tmp_path / "server.log") as served:
        open_run(page, served.address)  # the preset `quick` is what the form begins with
        expect(page.get_by_text("18 runs, 234 models to compute.")).to_be_visible()
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("is running in empty")).to_be_visible()
        (job,) = jobs_of(study)
        wait_until(lambda: job.progress().get("models_done", 0) > 0)
        pids = processes_of(study)
        page.get_by_role("button", name="Cancel").click()
        begun = time.monotonic()
        wait_until(lambda: not alive(pids), 20)
        print(f"cancelled in {time.monotonic() - begun:.1f} s")
        expect(page.get_by_text("It was cancelled.")).to_be_visible()
        assert not processes_of(study) and "Traceback" not in served.said()
