"""Generated tables of predictions: each is imported as it stands, or refused in one sentence and leaves nothing.

`PRUNESCOPE_FULL=1` draws 10,000.
"""

import io
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import PruneScopeError
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.fuzz.odd_values import ODD_VALUES
from tests.support.harness.turns import FULL
from tests.support.uploads import bring

LONGEST = 600
"""Letters of a refusal."""

MODEL = ["technique", "sparsity", "seed"]
LABELS = ("cat", "dog", "owl")
ODD_CELLS = (
    *(value for value in ODD_VALUES if isinstance(value, str)),
    " cat",
    "CAT",
    "-0",
    "0x10",
    "1,5",
    "=1+1",
    "\ufeff",
    "cat\x00",
)
TWISTS = ("none", "shuffle", "swap columns", "extra column", "odd cell", "drop a row", "double a row", "drop a column")


@dataclass(frozen=True)
class Table:
    """Rows as somebody may bring them, whether they mean what they meant before they were twisted, and their format."""

    rows: pd.DataFrame
    is_plain: bool
    ending: str


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A few models on a few examples, mostly whole, twisted once or twice, in one of the formats."""
    labels = draw(st.permutations(LABELS)) + draw(st.lists(st.sampled_from(LABELS), max_size=3))
    n = len(labels)
    techniques = draw(st.lists(st.sampled_from(("magnitude", "random", "chip")), min_size=1, max_size=2, unique=True))
    seeds = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True))
    sparsities = draw(st.lists(st.sampled_from((0.1, 0.5, 0.9, 0.97)), min_size=1, max_size=3, unique=True))
    models = [("dense", 0.0, seed) for seed in seeds]
    models += [(name, sparsity, seed) for name in techniques for sparsity in sparsities for seed in seeds]
    answers = st.lists(st.sampled_from(LABELS), min_size=n, max_size=n)
    parts = [
        pd.DataFrame({"example": [f"img{i}" for i in range(n)], "label": labels, "prediction": draw(answers)}).assign(
            technique=name, sparsity=sparsity, seed=seed
        )
        for name, sparsity, seed in models
    ]
    rows = pd.concat(parts, ignore_index=True).astype(object)
    is_plain = True
    for twist in draw(st.lists(st.sampled_from(TWISTS), max_size=2)):
        rows, kept = twisted(draw, rows, twist)
        is_plain &= kept
    return Table(rows, is_plain, draw(st.sampled_from((".csv", ".tsv", ".jsonl", ".parquet"))))


def twisted(draw: st.DrawFn, rows: pd.DataFrame, twist: str) -> tuple[pd.DataFrame, bool]:
    """The rows with something done to them, and whether they still mean the same."""
    row = draw(st.integers(0, len(rows) - 1))
    column = draw(st.sampled_from(list(rows.columns)))
    if twist == "shuffle":
        return rows.sample(frac=1, random_state=row).reset_index(drop=True), True
    if twist == "swap columns":
        return rows[draw(st.permutations(list(rows.columns)))], True
    if twist == "extra column":
        return rows.assign(place=[f"p{number % 2}" for number in rows["example"].str[-1].astype(int)]), True
    if twist == "odd cell":
        rows.loc[row, column] = draw(st.sampled_from(ODD_CELLS))
        return rows, False
    if twist == "drop a row" and len(rows) > 1:
        return rows.drop(index=row).reset_index(drop=True), False
    if twist == "double a row":
        return pd.concat([rows, rows.iloc[[row]]], ignore_index=True), False
    if twist == "drop a column" and len(rows.columns) > 1:
        return rows.drop(columns=column), False
    return rows, True


def written(table: Table) -> bytes:
    """The bytes of its file."""
    if table.ending == ".parquet":
        buffer = io.BytesIO()
        table.rows.astype(str).to_parquet(buffer, index=False)
        return buffer.getvalue()
    if table.ending == ".jsonl":
        return table.rows.to_json(orient="records", lines=True).encode()
    return table.rows.to_csv(index=False, sep="," if table.ending == ".csv" else "\t").encode("utf-8", "surrogatepass")


def accuracies(rows: pd.DataFrame) -> dict[tuple[Any, ...], float]:
    """Of every model by plain counting; what is dense counts for every technique of its seed."""
    right: dict[tuple[Any, ...], list[bool]] = {}
    for row in rows.itertuples():
        right.setdefault((row.technique, row.sparsity, row.seed), []).append(row.label == row.prediction)
    counted = {model: sum(answers) / len(answers) for model, answers in right.items()}
    named = {(name, seed) for name, _, seed in counted if name != "dense"}
    dense = {(name, 0.0, seed): counted["dense", 0.0, seed] for name, seed in named}
    return dense | {model: share for model, share in counted.items() if model[0] != "dense"}


@pytest.mark.timeout(7200 if FULL else 300)
@settings(max_examples=10_000 if FULL else 60, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=tables())
def test_a_table_is_imported_as_it_stands_or_refused_in_one_sentence(table: Table) -> None:
    folder = Path(tempfile.mkdtemp(prefix="prunescope-table-"))
    try:
        path, study = folder / f"brought{table.ending}", Study(folder / "study")
        path.write_bytes(written(table))
        try:
            bring(path, study)
        except PruneScopeError as error:
            said = str(error)
            assert not table.is_plain, said
            assert 0 < len(said) <= LONGEST and "\n" not in said and said.endswith("."), said
            assert [left.name for left in folder.iterdir()] == [path.name], "it left something"
            return
        assert verify_study(study) == []
        if table.is_plain:
            levels = study.levels()
            found = {
                (str(row.technique), round(float(row.sparsity), 6), int(row.seed)): float(row.accuracy)
                for row in levels.itertuples()
            }
            assert found == pytest.approx(accuracies(table.rows))
    finally:
        shutil.rmtree(folder)
