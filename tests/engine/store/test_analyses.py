"""Analyses kept in a study: found by their question, refused where they are not what was written."""

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.store.analyses import (
    KeptAnalysis,
    analysis_key,
    mixed_logit_spec,
    predictions_digest,
    read_analysis,
    write_analysis,
)
from engine.store.files import leftovers
from engine.store.study import Study
from engine.store.verification.verify import set_aside, verify_study

BEFORE, AFTER = np.array([[0, 1], [1, 1]]), np.array([[0, 0], [1, 0]])


def spec(attribute: str | None = "abs_tilt") -> dict[str, object]:
    return mixed_logit_spec("digits", ("writer", attribute, None), BEFORE, AFTER)


def kept() -> KeptAnalysis:
    return KeptAnalysis(spec(), pd.DataFrame({"member": [1, 2], "loss": [0.1, 0.2]}), {"p": 0.5}, {"level": 3})


def test_what_is_kept_is_found_by_its_question(tmp_path: Path) -> None:
    study = Study(tmp_path)
    assert read_analysis(study, spec()) is None
    key = write_analysis(study, kept())
    got = read_analysis(study, spec())
    assert got is not None and key == analysis_key(spec()) and (got.facts, got.notes) == ({"p": 0.5}, {"level": 3})
    pd.testing.assert_frame_equal(got.table, kept().table)
    assert read_analysis(study, spec("tilt")) is None and leftovers(tmp_path) == []


def test_pairs_of_networks_are_told_apart_whatever_their_order_and_type() -> None:
    same = predictions_digest(BEFORE[::-1].astype(np.uint8), AFTER[::-1].astype(np.int64))
    assert same == predictions_digest(BEFORE, AFTER) != predictions_digest(AFTER, BEFORE)


@pytest.mark.parametrize(("ending", "reason"), [("json", "damaged"), ("parquet", "damaged")])
def test_what_was_changed_is_refused(ending: str, reason: str, tmp_path: Path) -> None:
    study = Study(tmp_path)
    file = tmp_path / "analyses" / f"{write_analysis(study, kept())}.{ending}"
    file.write_bytes(file.read_bytes().replace(b"0.5", b"0.6") if ending == "json" else file.read_bytes() + b"x")
    with pytest.raises(PruneScopeError, match=reason):
        read_analysis(study, spec())


def test_half_an_analysis_is_none(tmp_path: Path) -> None:
    study = Study(tmp_path)
    key = write_analysis(study, kept())
    (tmp_path / "analyses" / f"{key}.json").unlink()
    assert read_analysis(study, spec()) is None
    (fault,) = verify_study(study)
    assert fault.name == f"analyses/{key}" and "is missing" in fault.reason
    assert "`analyse` makes it again" in set_aside(study, fault) and verify_study(study) == []


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_torn_and_flipped_bytes_are_found(ending: str, tmp_path: Path) -> None:
    study, draw = Study(tmp_path), random.Random(ending)
    key = write_analysis(study, kept())
    file = tmp_path / "analyses" / f"{key}.{ending}"
    whole = file.read_bytes()
    assert verify_study(study) == []
    for number in range(20):
        place = draw.randrange(len(whole))
        flipped = whole[:place] + bytes([whole[place] ^ draw.randrange(1, 256)]) + whole[place + 1 :]
        file.write_bytes(whole[:place] if number % 2 else flipped)
        assert [fault.name for fault in verify_study(study)] == [f"analyses/{key}"], f"byte {place} of {len(whole)}"


def test_an_analysis_under_another_name_is_found(tmp_path: Path) -> None:
    study = Study(tmp_path)
    key = write_analysis(study, kept())
    for file in (tmp_path / "analyses").glob(f"{key}.*"):
        file.rename(file.with_stem("0123456789ab"))
    assert [fault.name for fault in verify_study(study)] == ["analyses/0123456789ab"]
