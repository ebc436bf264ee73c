"""What a file says does not depend on how it is read: in batches of any size, its cells as text or as numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import PruneScopeError
from engine.exchange import table_file
from engine.exchange.cells import Texts, encoded, numbers
from engine.store import parquet
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.engine.exchange.test_several_files import bring_all, said
from tests.support.uploads import long_table


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Rows in no order, so that examples, models and groups come first in any batch."""
    return long_table(n=30, seeds=2).sample(frac=1, random_state=0)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_batches_of_any_size_say_the_same(
    size: int, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.to_parquet(tmp_path / "all.parquet", index=False)
    bring_all([tmp_path / "all.parquet"], whole := Study(tmp_path / "whole"))
    monkeypatch.setattr(table_file, "BATCH", size)
    bring_all([tmp_path / "all.parquet"], study := Study(tmp_path / "study"))
    assert said(study) == said(whole)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("label", "wolf!", "row 77: 'wolf!' contradicts row"),
        ("example", "<b>", "Column 'example', row 77: '<b>' looks like HTML"),
        ("prediction", "wolf", "Column 'prediction', row 77: 'wolf' is no example's label"),
        ("sparsity", 2.0, "Column 'sparsity', row 77: 2 is not allowed"),
    ],
)
def test_a_refusal_names_the_row_of_the_file_not_of_the_batch(
    column: str, value: object, words: str, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_file, "BATCH", 10)
    rows = table.reset_index(drop=True)
    rows.loc[76, column] = value
    rows.to_parquet(tmp_path / "all.parquet", index=False)
    with pytest.raises(PruneScopeError, match=words):
        bring_all([tmp_path / "all.parquet"], Study(tmp_path / "study"))


@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.integers(-(10**16), 10**16).map(str),
            st.sampled_from(["", "NA", " 2", "3.0", ".5", "5.", "+1", "1e5", "-0", "007", "'-3"]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_numbers_written_as_text_are_what_python_reads(texts: list[str]) -> None:
    expected = [np.nan if t in ("", "NA") else float(t.removeprefix("'")) for t in texts]
    np.testing.assert_array_equal(numbers(pa.array(texts), "x", 1), expected)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "3", "3.0", "", None]), min_size=1), min_size=1, max_size=4))
def test_texts_of_many_batches_are_those_of_one(batches: list[list[str | None]]) -> None:
    seen = Texts()
    codes = np.concatenate([seen.codes(pa.array(batch, pa.string()), "x", 1) for batch in batches])
    whole, texts = encoded(pa.array([cell for batch in batches for cell in batch], pa.string()), "x", 1)
    assert seen.all == texts and codes.tolist() == whole.tolist()


def test_a_column_that_changes_its_type_keeps_its_texts() -> None:
    seen = Texts()
    kinds = (pa.array([1, 2]), pa.array([True, False]), pa.array([1.0, 2.5]), pa.array(["True", "2.5"]))
    assert [seen.codes(cells, "x", 1).tolist() for cells in kinds] == [[0, 1], [2, 3], [0, 4], [2, 4]]
    assert seen.all == ["1", "2", "True", "False", "2.5"]


def test_a_study_whose_small_tables_are_packed_is_the_same_study(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.to_csv(tmp_path / "all.csv", index=False)
    bring_all([tmp_path / "all.csv"], plain := Study(tmp_path / "plain"))
    with monkeypatch.context() as patch:
        patch.setattr(parquet, "_TINY", 0)  # as engines before this one wrote them
        bring_all([tmp_path / "all.csv"], packed := Study(tmp_path / "packed"))
    assert verify_study(packed) == verify_study(plain) == []
    key = packed.runs()[0]
    assert packed.run_record(key).files["predictions.parquet"] != plain.run_record(key).files["predictions.parquet"]
    pd.testing.assert_frame_equal(packed.classes(), plain.classes())
    again = bring_all([tmp_path / "all.csv"], packed)
    assert (again.n_new, again.n_present) == (0, len(packed.runs()))
