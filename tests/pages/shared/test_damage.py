"""Every page opens on any damage: it names the file and leaves its run out."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.store import catalog
from engine.store.annotations import write_mark
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from pages.shared.menu import MENU
from tests.pages.conftest import OpenPage
from tests.support.harness.turns import TURN, in_turn
from tests.support.studies import make_study

FEW = {"techniques": ("l1_structured", "global_unstructured"), "treatments": ("rewind",), "levels": 2, "examples": 240}
FILES = [entry.file for entry in MENU]
KINDS = (
    "runs/*/spec.json",
    "runs/*/levels.parquet",
    "runs/*/classes.parquet",
    "runs/*/predictions.parquet",
    "examples/qmnist-writers.parquet",
    "examples/*.classes.parquet",
    "catalog/index.json",
    "catalog/classes-*",
    "marks/*/1-*.json",
    "study.toml",
)
PAGES = FILES if os.environ.get("PRUNESCOPE_FULL") else [f for f in FILES if "regression" not in f]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a catalog, marks and a description."""
    study = make_study(tmp_path_factory.mktemp("whole") / "study", **FEW, seeds=3, title="Whole")
    study.levels()
    for example in range(3):
        write_mark(study, study.example_sets()[0], example, "hard")
    assert verify_study(study) == []
    return study.path


def flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 128
    path.write_bytes(content)


def cut(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


@pytest.mark.parametrize("damage", [flip, cut] if os.environ.get("PRUNESCOPE_FULL") else [flip])
@pytest.mark.parametrize("kind", KINDS)
def test_every_page_opens_on_a_damaged_file(
    whole: Path, tmp_path: Path, open_page: OpenPage, kind: str, damage: Callable[[Path, random.Random], None]
) -> None:
    """Half of the pages each day, others for each kind; all with PRUNESCOPE_FULL."""
    study, draw = Study(shutil.copytree(whole, tmp_path / "study")), random.Random(f"{kind} {damage.__name__}")
    path = draw.choice(sorted(study.path.glob(kind)))
    damage(path, draw)
    assert verify_study(study) or kind == "study.toml", path  # what is left may be TOML
    for file in in_turn(PAGES, 2, TURN + KINDS.index(kind)):
        app = open_page(file, "study", tmp_path)
        assert not app.exception, (file, path.relative_to(study.path), app.exception)


@pytest.mark.parametrize(
    ("name", "file"), [("spec.json", "pages/frontier.py"), ("predictions.parquet", "pages/harmed.py")]
)
def test_a_run_that_turns_out_to_be_damaged_is_left_out_and_named(
    whole: Path, tmp_path: Path, open_page: OpenPage, name: str, file: str
) -> None:
    study = Study(shutil.copytree(whole, tmp_path / "study"))
    n_runs = len(catalog.refresh(study).runs)
    paths = [study.path / "runs" / key / name for key in study.runs()[:2]]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content[:-1])
    app = open_page(file, "study", tmp_path)
    assert not app.exception, app.exception
    found = catalog.refresh(study)
    assert 0 < len(found.broken) <= 2 and len(found.runs) == n_runs - len(found.broken)
    said = " ".join(caption.value for caption in app.sidebar.caption).replace("\\", "")
    assert f"runs/{next(iter(found.broken))}/{name}" in said and "Left out" in said
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    assert len(catalog.refresh(study).runs) == n_runs and not catalog.refresh(study).broken


@pytest.mark.parametrize("number", ["1e400", "-1", "1e30", "[1]", "null", "2.5"])
def test_a_mark_of_no_example_is_left_out_and_found(
    whole: Path, tmp_path: Path, open_page: OpenPage, number: str
) -> None:
    study = Study(shutil.copytree(whole, tmp_path / "study"))
    path = next(study.path.glob("marks/*/1-*.json"))
    path.write_text(path.read_text().replace('"example": 1', f'"example": {number}'))
    (fault,) = verify_study(study)
    assert fault.name == path.relative_to(study.path).as_posix()
    assert not open_page("pages/harmed.py", "study", tmp_path).exception
