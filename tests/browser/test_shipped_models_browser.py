"""In a real browser: each kind of point of the study that ships is pinned, got, downloaded, and asked for every answer.

`PRUNESCOPE_FULL=1` takes these: each computes a run again.
"""

import io
import json
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from engine.datasets.location import data_root
from engine.runs.workspace import open_workspace
from engine.shipping.model.onnx_file import onnx_answers, onnx_session
from engine.store.study import Study
from engine.training.quantization import exact_integer_products
from pages.shared.cache.catalog import Experiment
from pages.shared.names import dataset_name, network_name
from pages.shared.session.candidate import address_text
from tests.support.server import QUIET, serve
from tests.support.shipped_points import KINDS, demo_copy, portable_run

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not os.environ.get("PRUNESCOPE_FULL"), reason="computes runs again; PRUNESCOPE_FULL=1"),
]
WAIT = 3_000_000
LEVEL = 1


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
        expect(download.or_(page.get_by_text("The model was not made."))).to_be_visible(timeout=WAIT)
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
