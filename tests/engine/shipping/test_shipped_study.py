"""Points of the study that ships come out as their networks: every answer as it was recorded.

Only runs whose record says that they come out the same on every x86-64 processor can be computed again to the last
answer; a kind of which the study has none yet is skipped, and named.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import prunescope as ps
from engine.datasets.location import data_root
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.runs.workspace import open_workspace
from engine.shipping.model.onnx_file import onnx_answers, onnx_session

DEMO = Path(__file__).resolve().parents[3] / "data" / "demo"
FULL = os.environ.get("PRUNESCOPE_FULL") == "1"


def is_plain(spec: RunSpec) -> bool:
    return spec.mitigation == "none" and not TECHNIQUES[spec.technique].quantizes and spec.technique != "unpruned"


KINDS: dict[str, Callable[[RunSpec], bool]] = {
    "structured": lambda spec: is_plain(spec) and "_structured" in spec.technique,
    "unstructured": lambda spec: is_plain(spec) and "unstructured" in spec.technique and spec.treatment == "rewind",
    "int8": lambda spec: bool(TECHNIQUES[spec.technique].quantizes),
    "finetuned": lambda spec: is_plain(spec) and "unstructured" in spec.technique and spec.treatment == "finetune",
    "mitigated": lambda spec: spec.mitigation != "none",
}
THERE = {"structured", "unstructured", "finetuned"}
"""Kinds that the study has for sure."""


@pytest.fixture
def study(tmp_path: Path) -> ps.Study:
    """The study that ships, so that nothing is written into it."""
    (tmp_path / "demo").mkdir()
    for path in DEMO.iterdir():
        (tmp_path / "demo" / path.name).symlink_to(path)
    return ps.Study(tmp_path / "demo")


def portable_run(study: ps.Study, kind: str) -> str | None:
    """A run of this kind that comes out the same on every processor, the quickest one."""
    found = []
    for key in study.runs():
        record = study.run_record(key)
        if KINDS[kind](record.spec) and str(record.provenance.get("processor", "")).endswith("portable"):
            found.append((float(record.provenance["seconds"]), key))
    return min(found)[1] if found else None


@pytest.mark.parametrize("kind", KINDS)
def test_the_study_has_a_run_that_can_be_computed_again(study: ps.Study, kind: str) -> None:
    key = portable_run(study, kind)
    assert key is not None or kind not in THERE


@pytest.mark.skipif(not FULL, reason="computes five runs again; PRUNESCOPE_FULL=1")
@pytest.mark.parametrize("kind", KINDS)
def test_a_point_ships_with_all_answers_equal(study: ps.Study, tmp_path: Path, kind: str) -> None:
    key = portable_run(study, kind)
    if key is None:
        pytest.skip(f"no {kind} run of the study that ships was computed to come out the same everywhere")
    shipped = study.ship(key, 1, tmp_path / "out")
    assert shipped.n_equal == shipped.n_equal_torch == shipped.n_answers > 10_000
    spec = study.run_record(key).spec
    images = open_workspace(spec, data_root(), "cpu").dataset.test.images
    levels, matrix = study.prediction_matrix(key)
    if (tmp_path / "out" / "model.onnx").exists():
        session = onnx_session((tmp_path / "out" / "model.onnx").read_bytes())
        assert (onnx_answers(session, images) == matrix[levels == 1][0]).all()
