"""A sweep from the browser: started, watched, its server killed, stopped, gone on with, killed; nothing is lost."""

import os
import shutil
import signal
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from engine.datasets.dataset_table import data_root
from engine.datasets.on_disk import is_on_disk
from engine.jobs.job import Job, jobs_of
from engine.run_spec import RunSpec
from engine.store.study import Study
from engine.sweeps.sweep import run_sweep
from engine.sweeps.worker import RunContext
from pages.shared.menu import MENU
from pages.shared.names import dataset_name, network_name
from pages.views.run.form import more_seeds
from tests.support.harness.forks import wait_until
from tests.support.jobs import PRESET, alive, assert_same_tables, processes_of, small_request
from tests.support.server import QUIET, TOP, Served, serve

pytestmark = [pytest.mark.quiet, pytest.mark.timeout(1200)]
FULL = pytest.mark.skipif(not os.environ.get("PRUNESCOPE_FULL"), reason="minutes; PRUNESCOPE_FULL=1 takes them")
FEW = PRESET.format(epochs=50, levels=20)


def open_run(page: Page, home: str, study: str = "empty", what: str = "") -> None:
    """Open the Run page on a study."""
    page.goto(f"{home}/run?study={study}{what}")
    expect(page.get_by_text("Run something")).to_be_visible()
    expect(page.get_by_test_id("stRadio").or_(page.get_by_text("What to run")).first).to_be_visible()


def has_level(job: Job, level: int) -> bool:
    """Whether some run of the job has come so far."""
    return any(run["level"] >= level for run in job.progress().get("runs", []))


def assert_on_every_page(page: Page, served: Served) -> None:
    """Refuse a page that opens without the study's runs."""
    for entry in MENU:
        page.goto(f"{served.address}/{'' if entry.file == 'app.py' else Path(entry.file).stem}?study=empty")
        expect(page).to_have_title(f"{entry.label} · PruneScope")
        expect(page.locator(QUIET)).to_be_visible()
        expect(page.get_by_text("no finished run")).to_have_count(0)
    assert "Traceback" not in served.said()


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
        assert_on_every_page(page, served)
    undisturbed = tmp_path / "undisturbed"
    request = small_request(tmp_path, epochs=50, levels=20)
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


@FULL
@pytest.mark.timeout(3600)
def test_the_preset_quick_outlives_its_server_and_is_on_every_page(page: Page, tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    study = studies / "empty"
    (study / "runs").mkdir(parents=True)
    with serve(studies, tmp_path / "first.log") as served:
        open_run(page, served.address)
        expect(page.get_by_text("18 runs, 234 models to compute.")).to_be_visible()
        begun = time.monotonic()
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("is running in empty")).to_be_visible()
        (job,) = jobs_of(study)
        wait_until(lambda: job.progress().get("n_done", 0) >= 1, 600)
        expect(page.get_by_text("models a minute")).to_be_visible()
        os.kill(served.process, signal.SIGKILL)
    assert job.is_live(), "it outlives its server"
    with serve(studies, tmp_path / "second.log") as served:
        open_run(page, served.address)
        expect(page.get_by_text("is running in empty")).to_be_visible()
        expect(page.get_by_text("is done: all 18 runs are in empty")).to_be_visible(timeout=3_000_000)
        print(f"quick took {time.monotonic() - begun:.0f} s")
        assert len(Study(study).runs()) == 18 and not processes_of(study)
        assert_on_every_page(page, served)


def cheapest_experiment(study: Study) -> tuple[dict[str, str], list[RunSpec]]:
    """The experiment of QMNIST whose next seed takes the fewest seconds: its pickers' values, and its runs."""
    levels = study.levels()
    levels = levels[(levels["dataset"] == "qmnist") & (levels["level"] == 0)]
    found = []
    for (split, network, protocol), rows in levels.groupby(["split", "network", "protocol"], observed=True):
        records = [study.run_record(str(key)) for key in rows["run"]]
        seconds = sum(record.provenance["seconds"] for record in records) / rows["seed"].nunique()
        named = {"dataset": dataset_name("qmnist", str(split)), "network": network_name(str(network))}
        found.append((seconds, named | {"protocol": str(protocol)}, [record.spec for record in records]))
    _, named, specs = min(found, key=lambda one: one[0])
    return named, specs


def shares(page: Page, address: str) -> list[str]:
    """How often each network wins when seeds are redrawn, as the Frontier's table has it."""
    page.goto(address)
    expect(page.locator(QUIET)).to_be_visible()
    page.get_by_text("How sure is this?").click()
    table = page.get_by_test_id("stDataFrame").filter(has=page.locator("th", has_text="told from the best"))
    expect(table.locator("td").first).to_be_attached()
    return [str(text) for text in table.locator("tbody tr").all_text_contents()]


@FULL
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not is_on_disk("qmnist", data_root()), reason="needs QMNIST: prunescope data get qmnist")
def test_a_seed_more_of_the_shipped_studys_smallest_experiment_changes_the_shares(page: Page, tmp_path: Path) -> None:
    studies = tmp_path / "studies"
    shutil.copytree(TOP / "data" / "demo", studies / "demo")
    named, specs = cheapest_experiment(Study(studies / "demo"))
    n_there, n_new = len(Study(studies / "demo").runs()), len(more_seeds(specs, [0]))
    link = urlencode({"study": "demo", **named})
    with serve(studies, tmp_path / "server.log") as served:
        before = shares(page, f"{served.address}/frontier?{link}")
        page.goto(f"{served.address}/run?{link}&what=More+seeds&more=1")
        expect(page.get_by_text("would join them")).to_be_visible()
        expect(page.get_by_text(f"{n_new} runs, ")).to_be_visible()
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("is running in demo")).to_be_visible()
        expect(page.get_by_text("is done: all")).to_be_visible(timeout=7_000_000)
        assert len(Study(studies / "demo").runs()) == n_there + n_new
        after = shares(page, f"{served.address}/frontier?{link}")
        print(f"before: {before}\nafter:  {after}")
        assert before != after and "Traceback" not in served.said()
