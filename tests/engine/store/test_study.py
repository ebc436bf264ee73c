"""What a study holds: written whole, read as it was written, refused where it was not."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.store.parquet import from_parquet, seal_of, to_parquet
from engine.store.study import Study, examples_name
from tests.support.run_folders import LABELS, N_CLASSES, PROVENANCE, SPEC, made_study, made_tables


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    study, tables = made_study(tmp_path, 1), made_tables(SPEC)
    assert study.runs() == [SPEC.key] and study.has_run(SPEC.key)
    record = study.run_record(SPEC.key)
    assert record.spec == SPEC and record.provenance == PROVENANCE
    pd.testing.assert_frame_equal(study.run_table(SPEC.key, "levels"), tables.levels)
    pd.testing.assert_frame_equal(study.run_table(SPEC.key, "classes"), tables.classes)
    levels, said = study.prediction_matrix(SPEC.key)
    assert levels.tolist() == [0, 1, 2] and said.shape == (3, len(LABELS))
    np.testing.assert_allclose((said == LABELS).mean(1), tables.levels["accuracy"])
    assert study.predictions(SPEC.key).columns.tolist() == ["level", "example", "prediction", "probability", "margin"]


def test_the_first_result_stays(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    before = study.run_record(SPEC.key)
    assert not study.write_run(SPEC, made_tables(replace(SPEC, seed=9)), PROVENANCE)
    assert study.run_record(SPEC.key) == before
    assert list((tmp_path / "work").iterdir()) == []


def test_more_than_256_classes_widen_the_type(tmp_path: Path) -> None:
    from engine.store.run_tables import decode, encode

    labels = np.arange(300)
    said = (labels * 7) % 300
    packed = encode(said, labels, 300)
    assert packed.dtype.itemsize == 2
    np.testing.assert_array_equal(decode(packed.tobytes(), labels, 300), said)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values.update(schema=2), "schema version 2"),
        (lambda values: values["settings"].update(seed=5), "checksum differs"),
        (lambda values: values["provenance"].update(seconds=9.0), "checksum differs"),
        (lambda values: values.pop("files"), "damaged"),
        (lambda values: values.update(more=1), "checksum differs"),
    ],
)
def test_a_spec_that_was_changed_is_refused(tmp_path: Path, change: object, message: str) -> None:
    study = made_study(tmp_path, 1)
    file = tmp_path / "runs" / SPEC.key / "spec.json"
    values = json.loads(file.read_text())
    change(values)
    file.write_text(json.dumps(values, indent=1))
    with pytest.raises(PruneScopeError, match=message):
        study.run_record(SPEC.key)


def test_a_run_in_anothers_folder_is_refused(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    (tmp_path / "runs" / SPEC.key).rename(tmp_path / "runs" / "0123456789ab")
    with pytest.raises(PruneScopeError, match=f"the settings of run {SPEC.key}"):
        study.run_record("0123456789ab")


def test_files_of_the_first_engines_without_seals_are_read(tmp_path: Path) -> None:
    """Their spec.json and examples had no checksum of their own."""
    study = made_study(tmp_path, 1)
    file = tmp_path / "runs" / SPEC.key / "spec.json"
    values = json.loads(file.read_text())
    del values["sha256"]
    file.write_text(json.dumps(values, indent=1))
    for path in (tmp_path / "examples").iterdir():
        path.write_bytes(to_parquet(from_parquet(path.read_bytes(), "it"), "examples"))
    assert study.run_record(SPEC.key).spec == SPEC
    assert len(study.levels()) == 3
    before = study.examples("digits-official")
    assert len(study.seal_examples()) == 3 and study.seal_examples() == []
    pd.testing.assert_frame_equal(study.examples("digits-official"), before)
    assert all(seal_of(path.read_bytes()) for path in (tmp_path / "examples").iterdir())


def test_a_damaged_file_is_refused_when_it_is_read(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    for name in ("runs/" + SPEC.key + "/predictions.parquet", "examples/digits-official.parquet"):
        content = bytearray((tmp_path / name).read_bytes())
        content[len(content) // 2] ^= 1
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PruneScopeError, match="damaged"):
            study.prediction_matrix(SPEC.key) if name.startswith("runs") else study.examples("digits-official")


def test_examples_are_found_by_the_name_of_their_set(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    assert study.example_sets() == ["digits-official"]
    assert len(study.class_facts("digits-official")) == N_CLASSES
    with pytest.raises(PruneScopeError, match="there is digits-official"):
        study.examples("mnist")
    assert study.example_sets() == [examples_name(SPEC)]


def test_a_study_toml_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("title = ")
    with pytest.raises(PruneScopeError, match="study.toml cannot be read"):
        assert Study(tmp_path).info
