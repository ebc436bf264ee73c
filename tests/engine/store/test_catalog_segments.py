"""A run more is a segment more: the others stay as they are, many become one, and a crash leaves either state."""

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from engine.store import catalog, catalog_segments
from engine.store.catalog import Catalog
from engine.store.catalog_segments import first_to_merge, read_segments
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.support.harness.crashes import CRASHED, crash_at
from tests.support.harness.forks import exit_code, in_child
from tests.support.run_folders import N_CLASSES, SPEC, made_study, write_made_run

TABLES = ("runs", "levels", "classes")


def grown_study(path: Path, n_runs: int) -> Study:
    """A study whose runs came one by one."""
    study = Study(path)
    for seed in range(n_runs):
        write_made_run(study, replace(SPEC, seed=seed))
        catalog.refresh(study)
    return study


def assert_same(one: Catalog, other: Catalog) -> None:
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))


def files_in(study: Study) -> dict[str, tuple[int, int]]:
    """The files of a catalog with what changes when one is written again."""
    found = os.scandir(study.path / "catalog")
    return {e.name: (e.inode(), e.stat().st_mtime_ns) for e in found if e.name != catalog_segments.INDEX}


def sizes(study: Study) -> list[int]:
    kept = read_segments(study.path)
    return [len(segment.keys) for segment in kept.segments] if kept else []


def test_one_more_run_adds_three_files_and_touches_no_other(tmp_path: Path) -> None:
    study = made_study(tmp_path, 5)
    catalog.refresh(study)
    before = files_in(study)
    write_made_run(study, replace(SPEC, seed=9))
    catalog.refresh(study)
    after = files_in(study)
    assert len(after) == len(before) + 3 and before.items() <= after.items()
    assert sizes(study) == [5, 1] and verify_study(study) == []


def test_many_segments_become_few_and_say_the_same(tmp_path: Path) -> None:
    n_runs = 3 * catalog_segments.MOST_SEGMENTS
    study = grown_study(tmp_path / "grown", n_runs)
    assert sum(sizes(study)) == n_runs and 1 < len(sizes(study)) <= catalog_segments.MOST_SEGMENTS
    assert_same(catalog.refresh(study), catalog.refresh(made_study(tmp_path / "whole", n_runs)))
    assert verify_study(study) == []


def test_large_segments_are_hardly_ever_written_again() -> None:
    """Growth from 5,757 runs to 50,000 one by one: few segments, and each row is written less than ten times."""
    held, n_written, most = [5_757], 0, 0
    for _ in range(50_000 - 5_757):
        held.append(1)
        start = first_to_merge(held) if len(held) > catalog_segments.MOST_SEGMENTS else len(held)
        n_written += 1 + (sum(held[start:]) if start < len(held) else 0)
        held = [*held[:start], sum(held[start:])] if start < len(held) else held
        most = max(most, len(held))
    assert sum(held) == 50_000 and most <= catalog_segments.MOST_SEGMENTS
    assert n_written / 50_000 < 10


def test_a_run_that_goes_changes_its_segment_only(tmp_path: Path) -> None:
    study = grown_study(tmp_path, 4)
    kept = read_segments(tmp_path)
    assert kept is not None
    (tmp_path / "runs" / kept.segments[1].keys[0]).rename(tmp_path / "gone")
    assert sorted(catalog.refresh(study).runs["run"]) == study.runs() and sizes(study) == [1, 1, 1]
    assert {*kept.segments[0].files.values(), *kept.segments[2].files.values()} <= set(files_in(study))


def test_a_catalog_that_was_opened_outlives_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = grown_study(tmp_path / "one", 3)
    opened, expected = catalog.refresh(study), catalog.refresh(grown_study(tmp_path / "two", 3))
    monkeypatch.setattr(catalog_segments, "MOST_SEGMENTS", 1)
    monkeypatch.setattr(catalog_segments, "UNUSED_SECONDS", -1.0)
    write_made_run(study, replace(SPEC, seed=7))
    assert len(catalog.refresh(study).levels) == 4 * 3 and sizes(study) == [4]
    assert_same(opened, expected)
    assert len(opened.rows("classes", wanted=opened.runs["seed"].to_numpy() == 2)) == 3 * N_CLASSES


def test_a_run_taken_in_is_there_without_a_look_at_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = made_study(tmp_path, 3)
    catalog.refresh(study)
    with monkeypatch.context() as patched:
        patched.setattr(Study, "run_names", lambda self: pytest.fail("looked at all runs"))
        for seed in range(10, 40):
            catalog.take_in(study, [write_made_run(study, replace(SPEC, seed=seed))])
    assert sum(sizes(study)) == 33 and len(sizes(study)) <= catalog_segments.MOST_SEGMENTS
    keys, record = [], Study.run_record
    monkeypatch.setattr(Study, "run_record", lambda self, key: (keys.append(key), record(self, key))[1])
    assert catalog.refresh(study).runs["run"].tolist() == study.runs() and keys == []
    assert verify_study(study) == []


@pytest.mark.parametrize("n_more", [0, 20])
def test_a_run_taken_in_twice_is_there_once_as_it_is_now(tmp_path: Path, n_more: int) -> None:
    study = made_study(tmp_path / "one", 3)
    catalog.refresh(study)
    for _ in range(2):
        catalog.take_in(study, [SPEC.key])
    for seed in range(10, 10 + n_more):
        catalog.take_in(study, [write_made_run(study, replace(SPEC, seed=seed)), SPEC.key])
    shutil.copytree(study.path / "runs", tmp_path / "two" / "runs")
    assert_same(catalog.refresh(study), catalog.refresh(Study(tmp_path / "two")))
    assert verify_study(study) == []


def test_a_run_that_is_broken_when_taken_in_is_named(tmp_path: Path) -> None:
    study = made_study(tmp_path, 2)
    catalog.refresh(study)
    key = write_made_run(study, replace(SPEC, seed=8))
    (tmp_path / "runs" / key / "levels.parquet").write_bytes(b"")
    catalog.take_in(study, [key])
    assert list(catalog.refresh(study).broken) == [key]


@pytest.mark.parametrize("kind", TABLES)
def test_of_a_damaged_segment_only_its_runs_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    study = grown_study(tmp_path / "one", 4)
    expected, kept = catalog.refresh(grown_study(tmp_path / "two", 4)), read_segments(study.path)
    assert kept is not None
    file = study.path / "catalog" / kept.segments[2].files[kind]
    content = bytearray(file.read_bytes())
    content[random.Random(kind).randrange(len(content))] ^= 4
    file.write_bytes(content)
    assert "catalog" in [fault.name for fault in verify_study(study)]
    keys, record = [], Study.run_record
    monkeypatch.setattr(Study, "run_record", lambda self, key: (keys.append(key), record(self, key))[1])
    assert_same(catalog.refresh(study), expected)
    assert set(keys) == set(kept.segments[2].keys)
    assert verify_study(study) == []


def test_files_that_the_index_no_longer_names_go_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_segments, "MOST_SEGMENTS", 1)
    study = grown_study(tmp_path, 3)
    old = tmp_path / "catalog" / "runs-0123456789ab.parquet"
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    write_made_run(study, replace(SPEC, seed=7))
    catalog.refresh(study)
    named = len(files_in(study))
    assert not old.exists() and named > 3  # of the last minute
    monkeypatch.setattr(catalog_segments, "UNUSED_SECONDS", -1.0)
    write_made_run(study, replace(SPEC, seed=8))
    catalog.refresh(study)
    assert len(files_in(study)) == 3


@pytest.mark.parametrize("most", [16, 2], ids=["added", "merged"])
def test_a_crash_leaves_the_catalog_before_or_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(catalog_segments, "MOST_SEGMENTS", most)
    expected, states = catalog.refresh(grown_study(tmp_path / "calm", 4)), []
    for n in range(1, 40):
        study = grown_study(tmp_path / f"{n}", 3)
        before = sizes(study)
        write_made_run(study, replace(SPEC, seed=3))
        crashed = exit_code(in_child(lambda n=n, study=study: (crash_at(n), catalog.refresh(study)))) == CRASHED
        states.append(sizes(study))
        assert states[-1] == before or sum(states[-1]) == 4
        assert verify_study(study) == []
        assert_same(catalog.refresh(study), expected)
        if not crashed:
            break
    assert not crashed and states[0] != states[-1] and states.count(states[0]) > 5
