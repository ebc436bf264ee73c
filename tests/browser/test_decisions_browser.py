"""In a real browser: propose on the Frontier, approve by another name, get the model and compare what it answers."""

import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.shipping.model.onnx_file import onnx_answers, onnx_session
from engine.specs.checks import validate_spec
from engine.store.records.decisions import read_decisions
from engine.store.study import Study
from tests.browser.conftest import Watched
from tests.support.server import Served, serve

SPEC = validate_spec(
    RunSpec("digits", "lenet", "l1_structured", levels=2, share=0.4, epochs=5, learning_rate=0.1, batch_size=64)
)
WAIT = 240_000


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
