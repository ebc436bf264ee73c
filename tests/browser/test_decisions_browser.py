"""In a real browser: propose on the Frontier, approve by another name, get the model and compare what it answers.

`PRUNESCOPE_FULL=1` gets a model of each kind of the study that ships, too: each computes a run again.
"""

import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from engine.datasets.location import data_root
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.shipping.model.onnx_file import onnx_answers, onnx_session
from engine.specs.checks import validate_spec
from engine.store.records.decisions import read_decisions
from engine.store.study import Study
from engine.training.quantization import exact_integer_products
from pages.shared.cache.catalog import Experiment
from pages.shared.names import dataset_name, network_name
from pages.shared.session.candidate import address_text
from tests.browser.conftest import Watched
from tests.support.server import QUIET, Served, serve
from tests.support.shipped_points import KINDS, demo_copy, portable_run

SPEC = validate_spec(
    RunSpec("digits", "lenet", "l1_structured", levels=2, share=0.4, epochs=5, learning_rate=0.1, batch_size=64)
)
WAIT = 240_000
FULL, LONG_WAIT = bool(os.environ.get("PRUNESCOPE_FULL")), 3_000_000
LEVEL = 1


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one study of one real run, no weights kept."""
    root = tmp_path_factory.mktemp("decided")
    run_experiment(SPEC, Study(root / "real"), Path("unused"), "cpu")
    return root


@pytest.fixture
def served(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The dashboard over it, with temporary files of its own."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    with serve(home, tmp_path / "server.log") as running:
        yield running


def fill(page: Page, key: str, text: str) -> None:
    page.locator(f".st-key-{key}").locator("input, textarea").first.fill(text)


def saved(page: Page, button: str, name: str) -> bytes:
    with page.expect_download(timeout=60_000) as coming:
        page.get_by_role("button", name=button, exact=True).click()
    assert coming.value.suggested_filename.endswith(name)
    return Path(coming.value.path()).read_bytes()


def test_propose_approve_get_the_model_and_compare_its_answers(
    visit: Callable[..., Watched], served: Served, home: Path
) -> None:
    watched = visit()
    page = watched.open("/frontier?study=real&threshold=0&weight=0.01")
    policy = saved(page, "Policy for CI", "policy.toml").decode()
    assert 'measure = "accuracy"' in policy and "at_least = 0.0" in policy
    page.get_by_text("Propose this decision").click()
    fill(page, "propose-who", "Ada")
    fill(page, "propose-use", "Sorting letters")
    watched.rerun_by(page.get_by_role("button", name="Propose", exact=True).click)
    expect(page.get_by_text(re.compile("^Proposed as "))).to_be_visible()
    page.get_by_role("link", name="Open the decision").click()
    expect(page).to_have_title("Decisions · PruneScope")
    watched.settle()
    study = Study(home / "real")
    (decision,) = read_decisions(study)
    expect(page.get_by_role("link", name="Link to this decision")).to_have_attribute("href", re.compile(decision.id))

    fill(page, f"approve-who-{decision.id}", "ada")
    watched.rerun_by(page.get_by_role("button", name="Approve", exact=True).click)
    expect(page.get_by_text("somebody else has to approve it").last).to_be_visible()
    assert read_decisions(study)[0].status == "proposed"
    fill(page, f"approve-who-{decision.id}", "Grace")
    watched.rerun_by(page.get_by_role("button", name="Approve", exact=True).click)
    expect(page.get_by_text(re.compile("^Approved"))).to_be_visible()
    assert read_decisions(study)[0].status == "approved"

    page.get_by_role("button", name="Get this model").click()
    expect(page.get_by_test_id("stProgress")).to_be_visible()
    expect(page.get_by_role("button", name="Download the model")).to_be_visible(timeout=WAIT)
    watched.settle()
    content = saved(page, "Download the model", ".zip")
    check_model(content, study, decision.id, decision.record)

    record = saved(page, "Record, HTML", ".html").decode()
    assert "Grace" in record and "Sorting letters" in record
    shutil.rmtree(home / "real" / "decisions")


def check_model(content: bytes, study: Study, key: str, record: dict[str, Any]) -> None:
    """The downloaded files answer the test set as the study has recorded, and carry the approved decision."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {Path(name).name: archive.read(name) for name in archive.namelist()}
    ships = record["ships"]
    assert ships["run"] == SPEC.key and ships["level"] > 0
    levels, matrix = study.prediction_matrix(SPEC.key)
    images = open_workspace(SPEC, Path("unused"), "cpu").dataset.test.images
    recorded = matrix[levels == ships["level"]][0]
    assert np.array_equal(onnx_answers(onnx_session(files["model.onnx"]), images), recorded)
    assert json.loads(files["decision.json"])["decision"]["status"] == "approved"
    shipped = json.loads(files["shipped.json"])
    assert shipped["decision"] == key and shipped["n_equal"] == shipped["n_answers"] == len(recorded)


# -- the study that ships ---------------------------------------------------------------------------------------------


def address(study: Study, key: str) -> str:
    """The Frontier on the run's experiment, with its first pruned point pinned and no floor."""
    levels = study.levels()
    row = levels[(levels["run"].astype(str) == key) & (levels["level"] == LEVEL)].iloc[0]
    experiment = Experiment(*(str(row[name]) for name in ("dataset", "split", "network", "schedule", "protocol")))
    frame = SimpleNamespace(name=study.path.name, experiment=experiment)
    asked = {
        "study": study.path.name,
        "dataset": dataset_name(experiment.dataset, experiment.split),
        "network": network_name(experiment.network),
        "protocol": experiment.protocol,
        "threshold": "0",
        "candidate": address_text(frame, row.to_dict(), "a test"),
    }
    return f"/frontier?{urlencode(asked)}"


@pytest.mark.skipif(not FULL, reason="computes runs again; PRUNESCOPE_FULL=1")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_a_point_of_the_study_that_ships_is_got_and_answers_as_recorded(kind: str, page: Page, tmp_path: Path) -> None:
    study = demo_copy(tmp_path / "studies" / "demo")
    key = portable_run(study, kind)
    if key is None:
        pytest.skip(f"no {kind} run of the study that ships was computed to come out the same everywhere")
    (tmp_path / "tmp").mkdir()
    with serve(study.path.parent, tmp_path / "log", TMPDIR=str(tmp_path / "tmp")) as served:
        page.goto(f"{served.address}{address(study, key)}")
        expect(page.locator(QUIET)).to_be_visible()
        expect(page.locator(".st-key-candidate-card")).to_contain_text("a test")
        page.get_by_role("button", name="Get this model").click()
        download = page.get_by_role("button", name="Download the model")
        expect(download.or_(page.get_by_text("The model was not made."))).to_be_visible(timeout=LONG_WAIT)
        with page.expect_download() as coming:
            download.click()
        with zipfile.ZipFile(coming.value.path()) as archive:
            files = {Path(name).name: archive.read(name) for name in archive.namelist()}
        assert "Traceback" not in served.said(), served.said()
    shipped = json.loads(files["shipped.json"])
    record = study.run_record(shipped["run"])
    assert KINDS[kind](record.spec) and shipped["level"] == LEVEL
    levels, matrix = study.prediction_matrix(shipped["run"])
    recorded = matrix[levels == LEVEL][0]
    images = open_workspace(record.spec, data_root(), "cpu").dataset.test.images
    n_equal = int((answers(files, images) == recorded).sum())
    print(f"{kind}: run {shipped['run']} level {LEVEL}: {n_equal:,} of {len(recorded):,} equal")
    assert n_equal == len(recorded) == shipped["n_equal"]


def answers(files: dict[str, bytes], images: np.ndarray) -> np.ndarray:
    """What the ONNX file answers, or torch's own where eight bits have none."""
    if "model.onnx" in files:
        return onnx_answers(onnx_session(files["model.onnx"]), images)
    network = torch.export.load(io.BytesIO(files["model.pt2"])).module()
    with torch.no_grad(), exact_integer_products():
        return np.concatenate([network(part).argmax(1).numpy() for part in torch.from_numpy(images).split(500)])
