"""Damage to every kind of file of a finished study: it is found or made again, no result differs, every page opens."""

import random
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from engine.errors import PruneScopeError
from engine.jobs.job_request import JobRequest
from engine.specs.preset import Preset
from engine.store import catalog
from engine.store.analyses import KeptAnalysis, write_analysis
from engine.store.annotations import write_mark
from engine.store.files import write_file
from engine.store.images import write_images
from engine.store.records.decisions import approve, propose
from engine.store.records.measures import COLUMNS, write_measures
from engine.store.study import Study
from engine.store.verification.found_whole import keep_whole, run_stamps
from engine.store.verification.verify import verify_study
from engine.sweeps.worker import note_failure
from tests.fuzz.addresses import PAGES
from tests.fuzz.conftest import Session
from tests.support.harness.damage import DAMAGES, Damage, cut, delete, flip, swap
from tests.support.harness.seed import seeded
from tests.support.harness.turns import FULL, TURN, in_turn
from tests.support.run_folders import made_study
from tests.support.studies import make_study

KINDS = (
    "runs/*/spec.json",
    "runs/*/levels.parquet",
    "runs/*/classes.parquet",
    "runs/*/predictions.parquet",
    "runs/*/validation.parquet",
    "runs/*/losses.parquet",
    "runs/*/checkpoints/*",
    "examples/*official.parquet",
    "examples/*.classes.parquet",
    "examples/*-train.parquet",
    "images/*.parquet",
    "analyses/*.json",
    "analyses/*.parquet",
    "measures.parquet",
    "marks/*/*.json",
    "decisions/*/record.json",
    "decisions/*/event-*.json",
    "decisions/*/steps.json",
    "decisions/*/rivals.csv",
    "failures/*.json",
    "jobs/*/request.json",
    "journal.jsonl",
    "catalog/index.json",
    "catalog/*.parquet",
    "catalog/verified.json",
)
MADE_AGAIN = ("catalog", "images", "analyses", "measures.parquet", "failures", "jobs")
"""What can be asked for again when it is gone: nothing else says that it was there."""
TIMES = 4 if FULL else 1
CASES = list(product(KINDS, DAMAGES, range(TIMES)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with every kind of file that a finished one may have."""
    study = made_study(tmp_path_factory.mktemp("whole") / "study", 3)
    make_study(study.path, examples=120, levels=2, seeds=2, treatments=("rewind",), writers=12)
    name = "digits-official"
    write_images(study, name, np.zeros((60, 1, 8, 8), np.uint8), study.examples(name)["label"].to_numpy())
    for question in ("one", "two"):
        table = study.levels()[["level", "accuracy"]].assign(question=question)
        write_analysis(study, KeptAnalysis({"question": question}, table, {"n": 1}, []))
    write_measures(study, [dict(zip(COLUMNS, ("a", 1, 1, "cpu", 1.0, 0.9, 1.1, 2.0, "today"), strict=True))])
    for example in range(3):
        write_mark(study, name, example, "hard", "a note")
    for who in ("Ada", "Bob"):
        approve(study, propose(study, {"title": who}, who, files={"rivals.csv": b"a,b\n1,2\n"}), "Grace")
    for number, run in enumerate(study.runs()[:2]):
        note_failure(study, f"{number:012}", f"it diverged like {run}")
        request = JobRequest(Preset("p", "", "", (study.run_record(run).spec,)), "")
        write_file(study.path / "jobs" / f"job{number}" / "request.json", request.content(f"job{number}"))
    catalog.refresh(study)
    keep_whole(study, run_stamps(study))
    assert verify_study(study) == []
    return study.path


def results(study: Study) -> dict[str, object]:
    """What every run says that can be read, and what the catalog says of those that it has."""
    read: dict[str, object] = {}
    for key in study.runs():
        try:
            read[key] = study.predictions(key).to_csv()
        except PruneScopeError:
            continue
    levels = catalog.refresh(study).levels.astype({"run": str}).sort_values(["run", "level"])
    return read | {f"{run} in the catalog": rows.to_csv(index=False) for run, rows in levels.groupby("run")}


@pytest.mark.timeout(300 + 5 * len(in_turn(CASES, 6)))
def test_damage_is_found_or_made_again_and_no_result_differs(whole: Path, tmp_path: Path) -> None:
    """A sixth of the kinds with every damage each day; with PRUNESCOPE_FULL all, 400 of them."""
    before, unseen = results(Study(shutil.copytree(whole, tmp_path / "calm"))), []
    for kind, damage, time in in_turn(CASES, 6):
        study = Study(shutil.copytree(whole, tmp_path / "study"))
        path = damaged(study, kind, damage, time)
        gone_and_made_again = damage is delete and kind.split("/")[0] in MADE_AGAIN
        if not gone_and_made_again and not kind.endswith("verified.json") and not verify_study(study):
            unseen.append((kind, damage.__name__, time, path.name))
        after = results(Study(study.path))
        assert {key: before.get(key) for key in after} == after, (kind, damage.__name__, time)
        shutil.rmtree(study.path)
    assert not unseen, "\n".join(map(str, unseen))


def damaged(study: Study, kind: str, damage: Damage, time: int) -> Path:
    """A file of this kind, now damaged; the same one each time."""
    draw = seeded(f"{kind} {damage.__name__} {time}")
    there = sorted(study.path.glob(kind))
    assert there, kind
    path = draw.choice(there)
    before = path.read_bytes()
    damage(path, draw)
    if damage is swap and path.read_bytes() == before:
        flip(path, draw)
    return path


@pytest.mark.timeout(1200 if FULL else 300)
@pytest.mark.parametrize("number", range(60 if FULL else 2))
def test_every_page_opens_on_a_damaged_study(whole: Path, tmp_path: Path, session: Session, number: int) -> None:
    """Four pages on two studies each day; with PRUNESCOPE_FULL all pages on 60."""
    draw = random.Random(f"{0 if FULL else TURN} {number}")
    study = Study(shutil.copytree(whole, tmp_path / "study"))
    hurt = [
        damaged(study, draw.choice(KINDS), draw.choice((flip, cut, delete)), number)
        for _ in range(draw.choice((1, 1, 3)))
    ]
    for file in in_turn(PAGES, 4, TURN + number):
        app = session(file, {"study": "study"}, tmp_path)
        assert not app.exception, (file, [p.name for p in hurt], app.exception[0].message)
