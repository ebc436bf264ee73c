"""Broken files: each gets one sentence that says where, and leaves the study as it was."""

import io
import json
import pickle
import re
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.errors import PruneScopeError
from engine.exchange.limits import Limits
from engine.exchange.sandbox import Source, import_file
from engine.store.study import Study
from tests.support.uploads import bring, long_table, study_content, wide_table

Write = Callable[[], bytes]


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def parquet(table: pd.DataFrame | pa.Table, **options: object) -> bytes:
    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer, **options)
    return buffer.getvalue()


def changed(column: str, row: int, value: object) -> Write:
    """The good table as CSV with one cell changed; row 1 is the first."""

    def write() -> bytes:
        table = long_table().astype({column: object})
        table.loc[row - 1, column] = value
        return csv(table)

    return write


def text(content: str) -> Write:
    return lambda: content.encode()


def without(column: str) -> Write:
    return lambda: csv(long_table().drop(columns=column))


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Write:
    return lambda: b"\n".join(change(csv(long_table()).splitlines())) + b"\n"


def wide(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Write:
    return lambda: csv(change(wide_table()))


def archive(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, b"0" * 1_000_000)
    return buffer.getvalue()


def twice(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table.iloc[[4]]])


def nested() -> bytes:
    rows = pa.Table.from_pandas(long_table().drop(columns="label"))
    return parquet(rows.append_column("label", pa.array([[1]] * len(rows))))


def declared_rows() -> bytes:
    """A good Parquet file whose footer says that it has ten thousand million rows."""
    content = parquet(pd.DataFrame({"example": ["a"], "label": ["x"], "prediction": ["x"], "sparsity": [0.0]}))
    size = struct.unpack("<I", content[-8:-4])[0]
    footer = content[-8 - size : -8]
    # num_rows is field 3 of FileMetaData, an i64 as a zigzag varint; 1 is written as 0x16 0x02
    at = footer.index(b"\x16\x02\x19")
    value, number = b"", 2 * 10_000_000_000
    while number > 127:
        value, number = value + bytes([number & 127 | 128]), number >> 7
    changed_footer = footer[: at + 1] + value + bytes([number]) + footer[at + 2 :]
    return content[: -8 - size] + changed_footer + struct.pack("<I", len(changed_footer)) + b"PAR1"


GOOD = long_table()
BAD: dict[str, tuple[Write, str]] = {
    # -- not a table ----------------------------------------------------------------------------------------------
    "empty": (text(""), "The file is empty"),
    "blank": (text("\n\n \n"), "The file is empty"),
    "header only": (lambda: csv(GOOD.iloc[:0]), "a header but no rows"),
    "one column": (text("a\n1\n"), "it should name columns"),
    "prose": (text("Dear colleague\nhere are the results\n"), "it should name columns"),
    "zip": (lambda: archive("a.csv"), "a zip archive or an Excel workbook"),
    "excel renamed to csv": (lambda: archive("xl/workbook.xml"), "a zip archive or an Excel workbook"),
    "old excel": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100, "an old Excel workbook"),
    "pickle": (lambda: pickle.dumps({"a": 1}), "a pickle, which may run programs"),
    "pickle of protocol 2": (lambda: pickle.dumps([1], protocol=2), "a pickle, which may run programs"),
    "gzip": (lambda: b"\x1f\x8b\x08" + b"\0" * 20, "cannot be unpacked|unpacks to nothing"),
    "numpy": (lambda: b"\x93NUMPY\x01\0" + b"\0" * 20, "a numpy array"),
    "arrow": (lambda: b"ARROW1\0\0" + b"\0" * 20, "an Arrow file"),
    "hdf5": (lambda: b"\x89HDF\r\n\x1a\n" + b"\0" * 20, "an HDF5 file"),
    "sqlite": (lambda: b"SQLite format 3\0" + b"\0" * 20, "an SQLite database"),
    "pdf": (text("%PDF-1.7\n"), "a PDF"),
    "html": (text("<!doctype html><table><tr><td>1</td></tr></table>"), "HTML or XML"),
    "json": (text('[{"example": 1}]'), "JSON"),
    "png": (lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "an image"),
    # -- torn -----------------------------------------------------------------------------------------------------
    "csv cut in a row": (lines(lambda rows: [*rows[:-1], rows[-1][:9]]), "Row 320 has"),
    "csv cut in a letter": (lambda: csv(GOOD)[:-1] + "ü".encode()[:1], "Row 320 is cut off"),
    "a cell too many": (
        lines(lambda rows: [*rows[:5], rows[5] + b",x", *rows[6:]]),
        "Row 5 has 10 cells; the header names 9 columns",
    ),
    "a cell too few": (
        lines(lambda rows: [*rows[:7], rows[7].rsplit(b",", 1)[0], *rows[8:]]),
        "Row 7 has 8 cells; the header names 9 columns",
    ),
    "an open quote": (lines(lambda rows: [*rows[:3], b'"' + rows[3], *rows[4:]]), "cells|quote|longer"),
    "parquet cut": (lambda: parquet(GOOD)[:-100], "its end is missing"),
    "parquet footer gone": (lambda: parquet(GOOD)[:50] + b"PAR1", "The Parquet file is damaged"),
    "parquet flipped": (
        lambda: (lambda c: c[:200] + bytes(b ^ 255 for b in c[200:260]) + c[260:])(
            parquet(GOOD, write_page_checksum=True, compression="none")
        ),
        "The Parquet file is damaged",
    ),
    "parquet of nothing": (lambda: parquet(GOOD.iloc[:0]), "a header but no rows"),
    "parquet magic alone": (text("PAR1PAR1"), "The Parquet file is damaged"),
    # -- encodings ------------------------------------------------------------------------------------------------
    "latin-1": (
        lambda: csv(GOOD.replace("farm", "Höfe")).decode().encode("latin-1"),
        r"Row 2 is not UTF-8 \(byte 0xf6",
    ),
    "utf-16": (lambda: csv(GOOD).decode().encode("utf-16"), "text in UTF-16"),
    "zero byte": (lines(lambda rows: [*rows[:4], rows[4].replace(b"farm", b"fa\0m"), *rows[5:]]), "Row 4 holds a zero"),
    # -- the header -----------------------------------------------------------------------------------------------
    "no example": (without("example"), "Column example is missing"),
    "no label": (without("label"), "Column label is missing"),
    "no sparsity": (without("sparsity"), "Column sparsity is missing"),
    "no prediction": (without("prediction"), "Column prediction is missing: the class that the model says"),
    "a name twice": (
        lines(lambda rows: [rows[0].replace(b"age", b"site"), *rows[1:]]),
        "Column 'site': the name stands",
    ),
    "html in a column's name": (
        lambda: csv(GOOD.rename(columns={"place": "<img src=x onerror=alert(1)>"})),
        "Column '<img.*looks like HTML",
    ),
    "formula in a column's name": (lambda: csv(GOOD.rename(columns={"site": "=1+1"})), "Column '=1.1'.*formula"),
    "a column's name of 5000 letters": (lambda: csv(GOOD.rename(columns={"site": "s" * 5000})), "Column 's+….*longer"),
    "a million columns": (
        text(",".join(f"c{i}" for i in range(1_000_000)) + "\n1\n"),
        "longer than 4,194,304 bytes|1,000,000 columns; allowed are 2,000",
    ),
    "ten thousand columns in Parquet": (
        lambda: parquet(pa.table({f"c{i}": [1] for i in range(10_000)})),
        "10,000 columns; allowed are 2,000",
    ),
    "nested": (nested, "Column 'label': it holds list"),
    "ten thousand million rows declared": (declared_rows, "says it has 10,000,000,000 rows|damaged"),
    # -- cells ----------------------------------------------------------------------------------------------------
    "label missing": (changed("label", 3, None), "Column 'label', row 3: the cell is empty"),
    "label NA": (changed("label", 8, "NA"), "Column 'label', row 8: the cell is empty"),
    "prediction missing": (changed("prediction", 41, ""), "Column 'prediction', row 41: the cell is empty"),
    "example missing": (changed("example", 5, None), "Column 'example', row 5: the cell is empty"),
    "label differs": (
        changed("label", 50, "owl"),
        "Column 'label', row 50: 'owl' contradicts row 10, which says 'cat'",
    ),
    "group differs": (changed("site", 50, 77), "Column 'site', row 50: '77' contradicts row 10, which says '4'"),
    "attribute differs": (changed("age", 50, 77.5), "Column 'age', row 50: 77.5 contradicts row 10, which says 2.577"),
    "label unseen": (changed("prediction", 9, "cta"), "Column 'prediction', row 9: 'cta' is no example's label"),
    "sparsity in words": (changed("sparsity", 12, "high"), "Column 'sparsity', row 12: 'high' is no number"),
    "sparsity missing": (changed("sparsity", 12, None), "Column 'sparsity', row 12: the cell is empty"),
    "sparsity in percent": (changed("sparsity", 200, 90), r"Column 'sparsity', row 200: 90 .*\(a percentage"),
    "sparsity negative": (changed("sparsity", 1, -0.1), "Column 'sparsity', row 1: -0.1 is not allowed"),
    "sparsity one": (changed("sparsity", 1, 1), "Column 'sparsity', row 1: 1 is not allowed"),
    "sparsity infinite": (changed("sparsity", 2, "inf"), "Column 'sparsity', row 2: 'inf' is no number"),
    "seed a fraction": (changed("seed", 2, 0.5), "Column 'seed', row 2: 0.5 is not allowed"),
    "seed negative": (changed("seed", 2, -1), "Column 'seed', row 2: -1 is not allowed"),
    "seed a word": (changed("seed", 2, "first"), "Column 'seed', row 2: 'first' is no number"),
    "attribute of mixed types": (
        changed("age", 6, "old"),
        "Column 'age', row 46: '1.654' contradicts row 6, which says 'old'",
    ),
    "formula": (changed("place", 4, "=HYPERLINK(1)"), r"Column 'place', row 4: '=HYPERLINK\(1\)' begins like a spread"),
    "formula with plus": (changed("place", 4, "+cmd|' /C calc'!A0"), "Column 'place', row 4: .*formula"),
    "formula with at": (changed("technique", 4, "@SUM(A1)"), "Column 'technique', row 4: .*formula"),
    "html in a technique": (
        changed("technique", 50, "<script>alert(1)</script>"),
        "Column 'technique', row 50: .*HTML",
    ),
    "html in a label": (changed("label", 50, "<b onclick=x>"), "Column 'label', row 50: .*HTML"),
    "a control letter": (changed("place", 4, "fa\x07rm"), "Column 'place', row 4: .*cannot be printed"),
    "text turned around": (changed("place", 4, "fa\u202erm"), "Column 'place', row 4: .*cannot be printed"),
    "a cell of ten thousand letters": (changed("place", 4, "x" * 10_000), "Column 'place', row 4: .*10,000 letters"),
    "three columns missing": (
        lambda: csv(GOOD[["example", "place", "site"]]),
        r"3 columns are missing: label \(.*prediction \(.*sparsity \(",
    ),
    "a model of two sizes": (
        lambda: csv(GOOD.assign(macs=range(len(GOOD)))),
        "Column 'macs', row 2: 1 is not the 0 of",
    ),
    "negative bytes": (lambda: csv(GOOD.assign(bytes=-5)), "Column 'bytes', row 1: -5 is not allowed"),
    # -- rows -----------------------------------------------------------------------------------------------------
    "an example twice": (
        lambda: csv(twice(GOOD)),
        "Column 'prediction', row 321: example 'img004' stands twice .* row 5",
    ),
    "two models by one name": (
        lambda: csv(GOOD.assign(technique="one", sparsity=0.5)),
        "Column 'prediction', row 41: example 'img000' stands twice .* the first time is row 1",
    ),
    "an example missing": (lambda: csv(GOOD.drop(index=45)), "Column 'prediction': the model technique .* 'img005'"),
    "probability above 1": (
        lambda: csv(GOOD.assign(probability=1.5)),
        "Column 'probability', row 1: 1.5 is not allowed",
    ),
    "data set with a path": (
        lambda: csv(GOOD.assign(dataset="../../etc")),
        "Column 'dataset', row 1: '../../etc' is no",
    ),
    "data set empty": (lambda: csv(GOOD.assign(dataset="")), "Column 'dataset', row 1: the cell is empty"),
    "two models on a level": (
        lambda: csv(GOOD.assign(level=lambda t: (t["sparsity"] > 0).astype(int))),
        "Column 'level': 1 stands for two models",
    ),
    "level a thousand and one": (lambda: csv(GOOD.assign(level=1001)), "Column 'level', row 1: 1001 is not allowed"),
    # -- wide -----------------------------------------------------------------------------------------------------
    "wide with a hole": (
        wide(lambda t: t.astype(object).where(~((t.index == 2).reshape(-1, 1) & (t.columns == "random@0.9#1")), None)),
        "Column 'random@0.9#1', row 3: the cell is empty",
    ),
    "wide with an example twice": (wide(twice), "row 41: example 'img004' stands twice"),
    "wide with a strange class": (
        wide(lambda t: t.assign(**{"dense#0": ["cat"] * 9 + ["horse"] + ["cat"] * 30})),
        "row 10: 'horse' is no example's label",
    ),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("bad")
    (folder / "good.csv").write_bytes(csv(GOOD))
    study = Study(folder / "study")
    bring(folder / "good.csv", study, {"constants": {"dataset": "animals"}})
    return study


def test_there_are_at_least_sixty() -> None:
    assert len(BAD) >= 60


@pytest.mark.parametrize("name", BAD)
def test_a_broken_file_is_refused_in_a_sentence(name: str, study: Study, tmp_path: Path) -> None:
    write, pattern = BAD[name]
    before = study_content(study)
    path = tmp_path / "broken.csv"
    path.write_bytes(write())
    with pytest.raises(PruneScopeError) as refusal:
        bring(path, study, {"constants": {"network": "other"}})
    sentence = str(refusal.value)
    assert re.search(pattern, sentence), sentence
    assert "\n" not in sentence and len(sentence) < 400 and sentence.endswith(".") and "Traceback" not in sentence
    assert study_content(study) == before
    assert [p.name for p in study.path.parent.iterdir() if p.name.endswith(".tmp")] == []


SIDECARS = {
    "no json": (b"{", "The sidecar is no JSON"),
    "no object": (b"[]", "The mapping should be an object"),
    "unknown part": (b'{"colums": {}}', "did you mean 'columns'"),
    "unknown role": (b'{"columns": {"lable": "label"}}', "did you mean 'label'"),
    "unknown column": (b'{"columns": {"label": "lable"}}', "There is no column 'lable'"),
    "column a number": (b'{"columns": {"label": 3}}', "should be a name"),
    "groups a word": (b'{"groups": "site"}', "should be a list of columns"),
    "used twice": (b'{"groups": ["label"], "columns": {"label": "label"}}', "Column 'label': it is used twice"),
    "model with a strange fact": (b'{"models": {"age": {"colour": 1}}}', "Column 'age': a model may say"),
    "a class twice": (b'{"classes": ["cat", "cat", "dog", "owl"]}', "A class stands twice"),
    "a class unnamed": (b'{"classes": ["cat", "dog"]}', "row 3: 'owl' is none of the classes"),
    "data set with a path": (b'{"constants": {"dataset": "../x"}}', "'../x' is no name for a data set"),
    "layout": (b'{"layout": "tall"}', "The layout is 'tall'"),
    "deep": (b"[" * 100_000, "The sidecar is no JSON"),
    "latin-1": ('{"title": "Größe"}'.encode("latin-1"), "The sidecar is no JSON"),
}


@pytest.mark.parametrize("name", SIDECARS)
def test_a_broken_sidecar_is_refused_in_a_sentence(name: str, study: Study, tmp_path: Path) -> None:
    content, pattern = SIDECARS[name]
    before = study_content(study)
    (tmp_path / "file.csv").write_bytes(csv(GOOD))
    (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(PruneScopeError, match=pattern):
        bring(tmp_path / "file.csv", study, sidecar=tmp_path / "file.json")
    assert study_content(study) == before


def test_settings_of_a_run_that_do_not_fit_are_refused(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_bytes(csv(GOOD[GOOD["technique"] == "random"].assign(run="r", seed=0)[:40]))
    for settings, pattern in (
        ({"dataset": "x", "network": "model", "technique": "random"}, "Column 'dataset'|Column 'treatment'"),
        ({"dataset": "imported", "network": "model", "technique": "random", "epochs": "many"}, "The setting epochs"),
        ({"dataset": "imported", "colour": 1}, "Unknown setting 'colour'"),
    ):
        (tmp_path / "file.json").write_text(json.dumps({"runs": {"r": settings}}))
        with pytest.raises(PruneScopeError, match=pattern):
            bring(tmp_path / "file.csv", study, sidecar=tmp_path / "file.json")


def bomb(path: Path, megabytes: int) -> None:
    """A Parquet file of a few kilobytes whose one column expands to so many megabytes."""
    cell = "x" * 1_000_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(megabytes, np.int32)), pa.array([cell]))
    table = pa.table(
        {"example": column, "label": column, "prediction": column, "sparsity": pa.array([0.0] * megabytes)}
    )
    pq.write_table(table, path, compression="zstd", row_group_size=megabytes, store_schema=False)
    assert path.stat().st_size < 1_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are those of Linux")
def test_a_bomb_is_refused_and_the_server_stays_small(tmp_path: Path) -> None:
    bomb(tmp_path / "bomb.parquet", 10_000)
    before = psutil.Process().memory_info().rss
    with pytest.raises(PruneScopeError, match="MB of memory|letters"):
        import_file(
            Source(tmp_path / "bomb.parquet", "bomb.parquet"), Study(tmp_path / "study"), limits=Limits(megabytes=2000)
        )
    assert psutil.Process().memory_info().rss - before < 50e6
    assert not (tmp_path / "study").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits on time are those of Linux")
def test_a_file_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    n = 400_000
    table = pd.DataFrame({"example": np.arange(n), "label": "a", "prediction": "a", "sparsity": 0.5})
    (tmp_path / "slow.csv").write_bytes(csv(table))
    with pytest.raises(PruneScopeError, match="takes more than 1 seconds of processor time"):
        import_file(Source(tmp_path / "slow.csv", "slow.csv"), Study(tmp_path / "study"), limits=Limits(seconds=1))
    assert not (tmp_path / "study").exists()


def test_a_study_must_have_a_name_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_bytes(csv(GOOD))
    with pytest.raises(PruneScopeError, match="is no name for a study"):
        import_file(Source(tmp_path / "file.csv", "file.csv"), Study(tmp_path / "<b>"))
