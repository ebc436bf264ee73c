"""The catalog is what the runs say, however it came to be; a broken run is left out and named."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.store import catalog, catalog_segments
from engine.store.study import Study
from tests.support.run_folders import N_CLASSES, SPEC, made_study, made_tables, write_made_run


def tables_of(study: Study) -> dict[str, pd.DataFrame]:
    found = catalog.refresh(study)
    return {"runs": found.runs, "levels": found.levels, "classes": found.classes}


def assert_same(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> None:
    for kind in one:
        pd.testing.assert_frame_equal(one[kind], other[kind])


def read_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the runs whose records are read from now on."""
    keys, record = [], Study.run_record

    def noted(self: Study, key: str) -> object:
        keys.append(key)
        return record(self, key)

    monkeypatch.setattr(Study, "run_record", noted)
    return keys


def test_a_catalog_has_the_rows_of_its_runs(tmp_path: Path) -> None:
    study = made_study(tmp_path, 3)
    levels, classes = study.levels(), study.classes()
    assert len(levels) == 3 * 3 and len(classes) == 3 * 3 * N_CLASSES
    for seed in range(3):
        tables, key = made_tables(replace(SPEC, seed=seed)), replace(SPEC, seed=seed).key
        ours = levels[levels["run"] == key].reset_index(drop=True)
        pd.testing.assert_frame_equal(ours[tables.levels.columns], tables.levels)
        assert set(ours["seed"]) == {seed} and set(ours["technique"].astype(str)) == {SPEC.technique}
        of_classes = classes[classes["run"] == key]
        assert of_classes["correct"].tolist() == tables.classes["correct"].tolist()
        sparsity = dict(zip(tables.levels["level"], tables.levels["sparsity"], strict=True))
        assert of_classes["sparsity"].tolist() == [sparsity[level] for level in of_classes["level"]]


def test_growing_run_by_run_gives_the_same_as_all_at_once(tmp_path: Path) -> None:
    grown = Study(tmp_path / "grown")
    for seed in (4, 1, 3, 0, 2):
        write_made_run(grown, replace(SPEC, seed=seed))
        catalog.refresh(grown)
    assert_same(tables_of(grown), tables_of(made_study(tmp_path / "whole", 5)))


def test_only_new_runs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = made_study(tmp_path, 3)
    study.levels()
    keys = read_runs(monkeypatch)
    study.levels()
    assert keys == []
    key = write_made_run(study, replace(SPEC, seed=7))
    assert study.levels()["run"].nunique() == 4 and keys == [key]


def test_a_run_that_goes_leaves_the_catalog(tmp_path: Path) -> None:
    study = made_study(tmp_path, 3)
    study.levels()
    shutil.rmtree(tmp_path / "runs" / SPEC.key)
    assert SPEC.key not in set(study.levels()["run"]) and len(study.classes()) == 2 * 3 * N_CLASSES
    assert catalog.refresh(study).runs["run"].tolist() == study.runs()


@pytest.mark.parametrize("name", ["index.json", "runs-*", "levels-*", "classes-*"])
def test_a_damaged_catalog_is_made_anew(tmp_path: Path, name: str) -> None:
    study = made_study(tmp_path, 2)
    before = tables_of(study)
    file = next((tmp_path / "catalog").glob(name))
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 4
    file.write_bytes(content)
    assert_same(tables_of(study), before)
    assert file.read_bytes() != bytes(content)
    (tmp_path / "catalog" / "index.json").write_text(json.dumps({"engine": "another"}))
    assert_same(tables_of(study), before)


def test_a_broken_run_is_named_and_looked_at_again_only_once_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made_study(tmp_path, 3)
    file = tmp_path / "runs" / SPEC.key / "levels.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    found = catalog.refresh(study)
    assert list(found.broken) == [SPEC.key] and "levels.parquet is damaged" in found.broken[SPEC.key]
    assert found.runs["run"].nunique() == 2
    keys = read_runs(monkeypatch)
    assert catalog.refresh(study).broken == found.broken and keys == []
    file.write_bytes(whole)
    assert catalog.refresh(study).broken == {} and keys == [SPEC.key]
    assert catalog.refresh(study).runs["run"].nunique() == 3


def test_tables_that_do_not_fit_each_other_are_broken(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    odd, tables = replace(SPEC, seed=8), made_tables(SPEC)
    study.write_run(odd, replace(tables, levels=tables.levels.iloc[:2]), {})
    assert "levels that its levels lack" in catalog.refresh(study).broken[odd.key]
    odd = replace(SPEC, seed=9)
    study.write_run(odd, replace(tables, levels=tables.levels.drop(columns="accuracy")), {})
    assert odd.key in catalog.refresh(study).broken
    assert study.levels()["run"].nunique() == 1


def test_reading_nothing_writes_nothing(tmp_path: Path) -> None:
    assert Study(tmp_path / "absent").levels().empty
    assert not (tmp_path / "absent").exists()


def test_a_study_that_cannot_be_written_to_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = made_study(tmp_path, 2)

    def refuse(*arguments: object) -> None:
        raise PruneScopeError("The disk is full.")

    monkeypatch.setattr(catalog_segments, "write_file", refuse)
    assert len(study.levels()) == 6
    assert not (tmp_path / "catalog").exists()


def test_one_seed_counts_once_whatever_its_runs_keep(tmp_path: Path) -> None:
    study = made_study(tmp_path, 2)
    plain = catalog.refresh(study)
    n_rows = len(plain.levels), len(plain.classes)
    poorer = write_made_run(study, replace(SPEC, keep_scores=False))
    fuller = write_made_run(study, replace(SPEC, keep_checkpoints=True))
    diagnosed = write_made_run(study, replace(SPEC, diagnose=("class",)))
    found = catalog.refresh(study)
    assert (len(found.levels), len(found.classes)) == n_rows and found.is_repeat.sum() == 3
    counted = set(found.levels["run"].astype(str))
    assert diagnosed in counted and not {SPEC.key, poorer, fuller} & counted
    shutil.rmtree(study.path / "runs" / diagnosed)
    assert fuller in set(catalog.refresh(study).levels["run"].astype(str))


def test_runs_that_differ_in_any_setting_of_the_training_count_each(tmp_path: Path) -> None:
    study = made_study(tmp_path, 2)
    for changes in ({"epochs": 7}, {"momentum": 0.5}, {"mitigation": "after"}, {"imbalance": 3}, {"weight_decay": 0.1}):
        write_made_run(study, replace(SPEC, **changes))
    found = catalog.refresh(study)
    assert not found.is_repeat.any() and found.levels["run"].nunique() == 7
