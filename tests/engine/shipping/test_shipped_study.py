"""Points of the study that ships come out as their networks: every answer as it was recorded.

Only runs whose record says that they come out the same on every x86-64 processor can be computed again to the last
answer; a kind of which the study has none yet is skipped, and named.
"""

import os
from pathlib import Path

import pytest

import prunescope as ps
from engine.datasets.location import data_root
from engine.errors import PruneScopeError
from engine.runs.workspace import open_workspace
from engine.shipping.model.onnx_file import onnx_answers, onnx_session
from tests.support.shipped_points import KINDS, demo_copy, portable_run

FULL = os.environ.get("PRUNESCOPE_FULL") == "1"
THERE = {"structured", "unstructured", "finetuned", "mitigated"}
"""Kinds that the study has for sure."""


@pytest.fixture
def study(tmp_path: Path) -> ps.Study:
    """The study that ships, so that nothing is written into it."""
    return ps.Study(demo_copy(tmp_path / "demo").path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_study_has_a_run_that_can_be_computed_again(study: ps.Study, kind: str) -> None:
    key = portable_run(study, kind)
    assert key is not None or kind not in THERE


@pytest.mark.parametrize(
    ("dataset", "remedy"),
    [("qmnist", "python -m engine data get qmnist"), ("utkface", "aligned and cropped JPEGs of UTKFace")],
)
def test_without_its_data_a_run_says_what_to_do(study: ps.Study, tmp_path: Path, dataset: str, remedy: str) -> None:
    key = next(run for run in study.runs() if study.run_record(run).spec.dataset == dataset)
    with pytest.raises(PruneScopeError, match=remedy):
        ps.Study(study.path, data=tmp_path / "none").ship(key, 1, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not FULL, reason="computes five runs again; PRUNESCOPE_FULL=1")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_a_point_ships_with_all_answers_equal(study: ps.Study, tmp_path: Path, kind: str) -> None:
    key = portable_run(study, kind)
    if key is None:
        pytest.skip(f"no {kind} run of the study that ships was computed to come out the same everywhere")
    shipped = study.ship(key, 1, tmp_path / "out")
    levels, matrix = study.prediction_matrix(key)
    assert shipped.n_equal == shipped.n_equal_torch == shipped.n_answers == matrix.shape[1]
    spec = study.run_record(key).spec
    images = open_workspace(spec, data_root(), "cpu").dataset.test.images
    if (tmp_path / "out" / "model.onnx").exists():
        session = onnx_session((tmp_path / "out" / "model.onnx").read_bytes())
        assert (onnx_answers(session, images) == matrix[levels == 1][0]).all()
