"""A model is made in a process of its own: begun once, watched by its folder, stopped without a trace."""

import io
import json
import os
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.shipping import detached
from engine.shipping.detached import Parcel, standing, start, stop, zipped_model
from engine.shipping.model.onnx_file import onnx_answers, onnx_session
from engine.specs.checks import validate_spec
from engine.store.study import Study
from tests.support.harness.forks import wait_until

SPEC = validate_spec(
    RunSpec("digits", "lenet", "l1_structured", levels=2, share=0.4, epochs=5, learning_rate=0.1, batch_size=64)
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    made = Study(tmp_path_factory.mktemp("detached") / "study")
    run_experiment(SPEC, made, Path("unused"), "cpu")
    return made


@pytest.fixture(autouse=True)
def _own_parcels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "parcels_root", lambda: tmp_path / "parcels")


def test_a_parcel_is_begun_once_and_answers_as_recorded(study: Study) -> None:
    parcel = Parcel(study.path, SPEC.key, 2)
    assert standing(parcel.folder).word == "none" and detached.seconds_needed(study, SPEC.key, 2) > 0
    assert start(parcel).word == "running"
    first = json.loads((parcel.folder / "started.json").read_text())["process"]
    start(parcel)
    assert json.loads((parcel.folder / "started.json").read_text())["process"] == first
    with pytest.raises(PruneScopeError, match="Another model is being made"):
        start(Parcel(study.path, SPEC.key, 1))
    wait_until(lambda: standing(parcel.folder).word != "running", 240)
    assert standing(parcel.folder).word == "done", standing(parcel.folder).text
    assert start(parcel).word == "done"
    with zipfile.ZipFile(io.BytesIO(zipped_model(parcel.folder, "model"))) as archive:
        assert {"model/SHA256SUMS", "model/model.onnx", "model/README.md"} <= set(archive.namelist())
        session = onnx_session(archive.read("model/model.onnx"))
    levels, matrix = study.prediction_matrix(SPEC.key)
    images = open_workspace(SPEC, Path("unused"), "cpu").dataset.test.images
    assert np.array_equal(onnx_answers(session, images), matrix[levels == 2][0])


def test_one_that_fails_says_why_and_may_begin_again(study: Study) -> None:
    parcel = Parcel(study.path, SPEC.key, 7)
    start(parcel)
    wait_until(lambda: standing(parcel.folder).word != "running", 120)
    assert standing(parcel.folder) == detached.Standing("failed", 0.0, f"Run {SPEC.key} has no level 7; it has 0 to 2.")
    assert not (parcel.folder / "model").exists()
    with pytest.raises(PruneScopeError, match="ask for it again"):
        zipped_model(parcel.folder, "model")
    assert start(parcel).word == "running"
    stop(parcel.folder)


def test_what_is_killed_or_stopped_leaves_nothing_half_made(study: Study) -> None:
    parcel = Parcel(study.path, SPEC.key, 2)
    start(parcel)
    process = json.loads((parcel.folder / "started.json").read_text())["process"]
    wait_until(lambda: (parcel.folder / "progress.json").exists(), 120)
    os.kill(process, 9)
    wait_until(lambda: standing(parcel.folder).word != "running", 30)
    assert standing(parcel.folder).word == "failed" and not (parcel.folder / "model").exists()
    start(parcel)
    time.sleep(0.5)
    stop(parcel.folder)
    assert not parcel.folder.exists() and standing(parcel.folder).word == "none"
