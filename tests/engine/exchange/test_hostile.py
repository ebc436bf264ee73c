"""Hostile files and folders, as the command line meets them: one sentence each, and nothing is written."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.commands import main
from engine.exchange import sandbox
from tests.engine.exchange.test_refusals import BAD
from tests.support.uploads import answer_here, long_table

GOOD = long_table(n=12, seeds=1)
ANSWERS = GOOD[["example", "label", "prediction", "sparsity", "technique", "seed"]]
Lay = Callable[[Path], None]


def file(name: str, content: Callable[[], bytes]) -> Lay:
    """A folder with this one file."""
    return lambda folder: (folder / name).write_bytes(content()) and None


def table(name: str = "a.csv", **columns: object) -> Lay:
    """A folder with the good table in which some columns are others."""
    return file(name, lambda: text_of(GOOD.assign(**columns)))


def cell(column: str, value: object) -> Lay:
    """A folder with the good table in which the fifth row has another cell."""

    def lay(folder: Path) -> None:
        rows = GOOD.astype({column: object})
        rows.loc[4, column] = value
        rows.to_csv(folder / "a.csv", index=False)

    return lay


def text_of(rows: pd.DataFrame) -> bytes:
    return rows.to_csv(index=False).encode()


def parquet_of(**columns: pa.Array) -> Callable[[], bytes]:
    """The good table as Parquet with some columns of other types."""

    def content() -> bytes:
        arrow = pa.Table.from_pandas(ANSWERS, preserve_index=False)
        for name, values in columns.items():
            at = arrow.column_names.index(name) if name in arrow.column_names else -1
            arrow = arrow.append_column(name, values) if at < 0 else arrow.set_column(at, name, values)
        return written(arrow)

    return content


def written(arrow: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer)
    return buffer.getvalue()


def json_lines(*rows: object) -> Callable[[], bytes]:
    good = ANSWERS.to_dict("records")
    return lambda: "".join(json.dumps(row) + "\n" for row in (*good, *rows)).encode()


def two(first: pd.DataFrame, second: pd.DataFrame) -> Lay:
    """A folder with two tables."""

    def lay(folder: Path) -> None:
        first.to_csv(folder / "a.csv", index=False)
        second.to_csv(folder / "b.csv", index=False)

    return lay


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        name = tarfile.TarInfo("../../escape.csv")
        name.size = len(content := text_of(GOOD))
        archive.addfile(name, io.BytesIO(content))
    return buffer.getvalue()


def link(target: str) -> Lay:
    return lambda folder: os.symlink(target, folder / "a.csv")


def loop(folder: Path) -> None:
    (folder / "deep").mkdir()
    os.symlink(folder, folder / "deep" / "again", target_is_directory=True)


def only_hidden(folder: Path) -> None:
    GOOD.to_csv(folder / ".a.csv", index=False)
    (folder / "_temporary").mkdir()
    GOOD.to_csv(folder / "_temporary" / "b.csv", index=False)


def folder_called_csv(folder: Path) -> None:
    (folder / "a.csv").mkdir()


def empty_groups(folder: Path) -> None:
    """A Parquet file of row groups that have no rows."""
    schema = pa.Table.from_pandas(ANSWERS, preserve_index=False).schema
    with pq.ParquetWriter(folder / "a.parquet", schema) as writer:
        for _ in range(3):
            writer.write_table(schema.empty_table())


def partitions_that_differ(folder: Path) -> None:
    for seed in ("first", "second"):
        (folder / f"seed={seed}").mkdir()
        ANSWERS.drop(columns="seed").to_parquet(folder / f"seed={seed}" / "part.parquet", index=False)


def folder_with_traversal(folder: Path) -> None:
    (folder / "dataset=..%2F..%2Fetc").mkdir()
    ANSWERS.to_csv(folder / "dataset=..%2F..%2Fetc" / "a.csv", index=False)


N = len(GOOD)
HOSTILE: dict[str, tuple[Lay, str]] = {
    # -- packed ---------------------------------------------------------------------------------------------------
    "a tar that climbs out of its folder": (file("a.csv.gz", tar), "holds a zero byte"),
    "a gzip bomb of one row": (file("a.csv.gz", lambda: gzip.compress(b"x" * 50_000_000)), "header is longer than"),
    "a gzip bomb of commas": (file("a.csv.gz", lambda: gzip.compress(b"," * 10_000_000)), "header is longer than"),
    "gzip in gzip": (file("a.csv.gz", lambda: gzip.compress(gzip.compress(text_of(GOOD)))), "unpacks to nothing"),
    "gzip cut short": (file("a.csv.gz", lambda: gzip.compress(text_of(GOOD))[:-30]), "cannot be unpacked"),
    "gzip of Parquet": (file("a.csv.gz", lambda: gzip.compress(parquet_of()())), "unpacks to nothing"),
    "gzip followed by rubbish": (
        file("a.csv.gz", lambda: gzip.compress(text_of(GOOD)) + b"rubbish"),
        "cannot be unpacked",
    ),
    "bzip2": (file("a.csv", lambda: bz2.compress(text_of(GOOD))), "compressed by bzip2"),
    "xz": (file("a.csv", lambda: lzma.compress(text_of(GOOD))), "compressed by xz"),
    "zstandard": (file("a.csv", lambda: pa.compress(text_of(GOOD), "zstd", asbytes=True)), "compressed by zstd"),
    # -- encodings ------------------------------------------------------------------------------------------------
    "UTF-32": (file("a.csv", lambda: text_of(GOOD).decode().encode("utf-32")), "text in UTF-"),
    "UTF-16 without a mark": (file("a.csv", lambda: text_of(GOOD).decode().encode("utf-16-le")), "holds a zero byte"),
    "Shift JIS": (
        file("a.csv", lambda: text_of(GOOD.replace("farm", "農場")).decode().encode("shift-jis")),
        "Row 2 is not UTF-8",
    ),
    "overlong UTF-8": (file("a.csv", lambda: text_of(GOOD).replace(b"farm", b"\xc0\xaffarm")), "Row 2 is not UTF-8"),
    "half a surrogate": (file("a.csv", lambda: text_of(GOOD).replace(b"farm", b"\xed\xa0\x80")), "Row 2 is not UTF-8"),
    "random bytes": (file("a.csv", lambda: np.random.default_rng(0).bytes(5000)), "zero byte"),
    # -- numbers --------------------------------------------------------------------------------------------------
    "a seed beyond 64 bits": (cell("seed", "9" * 30), "'seed', row 5: 1e.30 is not allowed"),
    "a seed beyond exact floats": (table(seed=2**63), "'seed', row 1: 9.22337e.18 is not"),
    "a sparsity of 400 digits": (cell("sparsity", "0." + "9" * 400), "'sparsity', row 5: .* 402 letters"),
    "a sparsity that is NaN": (cell("sparsity", "NaN"), "'sparsity', row 5: the cell is empty"),
    "a sparsity in hexadecimal": (cell("sparsity", "0x1p-1"), "'0x1p-1' is no number"),
    "an exponent of a million": (cell("sparsity", "1e1000000"), "inf is not allowed"),
    "an underscore in a number": (cell("sparsity", "0_0.5"), "'0_0.5' is no number"),
    "a probability below 0": (table(probability=-0.1), "-0.1 is not allowed"),
    "an infinite loss": (table(loss=np.inf), "'loss', row 1: 'inf' is no number"),
    "a level that is a fraction": (table(level=0.5), "'level', row 1: 0.5 is not"),
    "minus a million weights": (table(n_weights=-1_000_000, n_kept=5), "'n_weights', row 1: -1e.06"),
    "a bit of a bit": (table(bits=-4), "'bits', row 1: -4 is not"),
    "true and false as sparsity": (file("a.parquet", parquet_of(sparsity=pa.array([True] * N))), "'True' is no number"),
    # -- types of Parquet -----------------------------------------------------------------------------------------
    "labels of NaN": (file("a.parquet", parquet_of(label=pa.array([np.nan] * N))), "'label', row 1: the cell is empty"),
    "labels of nothing": (file("a.parquet", parquet_of(label=pa.nulls(N))), "'label', row 1: the cell is empty"),
    "labels in structs": (
        file("a.parquet", parquet_of(label=pa.array([{"a": {"b": 1}}] * N))),
        "'label': it holds struct",
    ),
    "predictions in maps": (
        file("a.parquet", parquet_of(prediction=pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())))),
        "'prediction': it holds map",
    ),
    "one id of bytes for all": (
        file("a.parquet", parquet_of(example=pa.array([b"\xff\xfe"] * N))),
        "'label', row 2: 'dog' contradicts row 1",
    ),
    "predictions as fractions": (
        file("a.parquet", parquet_of(prediction=pa.array(np.linspace(0, 1, N)))),
        "'0' is no example's label",
    ),
    "row groups without rows": (empty_groups, "a header but no rows"),
    # -- JSON lines -----------------------------------------------------------------------------------------------
    "a list among the lines": (file("a.jsonl", json_lines([1, 2])), "Row 49 is no JSON object"),
    "a number among the lines": (file("a.jsonl", json_lines(7)), "Row 49 is no JSON object"),
    "a line that is cut": (file("a.jsonl", lambda: json_lines()()[:-9]), "Row 48 is no JSON object"),
    "a line of brackets": (file("a.jsonl", lambda: b"[" * 200_000 + b"\n"), "one JSON list"),
    "an object 100,000 deep": (
        file("a.jsonl", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        "Row 1 is no JSON object",
    ),
    "a nested label": (
        file("a.jsonl", json_lines({**ANSWERS.iloc[0].to_dict(), "label": {"a": 1}})),
        "'label', row 49: .* contradicts row 1",
    ),
    "lines of other columns": (file("a.jsonl", json_lines({"who": "else"})), "'example', row 49: the cell is empty"),
    "an integer of 5,000 digits": (
        file("a.jsonl", lambda: json_lines()().replace(b'"seed": 0', b'"seed": ' + b"9" * 5000)),
        "Integer value out of range",
    ),
    # -- several files --------------------------------------------------------------------------------------------
    "a model in two files with other answers": (
        two(GOOD, GOOD.assign(prediction="cat")),
        "row 1 of b.csv: example 'img000' stands twice .* row 1 of a.csv",
    ),
    "a label that two files dispute": (
        two(GOOD, GOOD.assign(seed=1, label=GOOD["label"].to_numpy()[::-1])),
        "'owl' contradicts row 1 of a.csv",
    ),
    "a file of other examples": (
        two(GOOD, GOOD.assign(seed=1, example=GOOD["example"] + "x")),
        "has no row for example 'img000x'",
    ),
    "files of examples alone": (two(GOOD[["example", "label"]], GOOD[["example", "place"]]), "No file has predictions"),
    "a file without examples": (two(GOOD, GOOD.drop(columns="example")), "b.csv: Column example is missing"),
    # -- folders --------------------------------------------------------------------------------------------------
    "an empty folder": (lambda folder: None, "There is no table in"),
    "a folder of hidden files": (only_hidden, "There is no table in"),
    "a folder that is called like a table": (folder_called_csv, "There is no table in"),
    "a folder that holds itself": (loop, "There is no table in"),
    "a link to nowhere": (link("nowhere.csv"), "There is no table in"),
    "a link to itself": (link("a.csv"), "There is no table in"),
    "a link to a device": (link("/dev/zero"), "There is no table in"),
    "a link to a file of the system": (link("/etc/hostname"), "it should name columns|There is no table"),
    "seeds that folders spell": (partitions_that_differ, "'seed': 'first' is no number"),
    "a folder that climbs": (folder_with_traversal, "is no name for a data set"),
    # -- names ----------------------------------------------------------------------------------------------------
    "a split with a path": (table(split="../../tmp"), "'../../tmp' is no name for a split"),
    "a data set called by two dots": (table(dataset=".."), "'..' is no name for a data set"),
    "a data set with a zero-width letter": (table(dataset="cifar\u200b10"), "'dataset', row 1: .*cannot be printed"),
    "a technique with a line break": (
        cell("technique", "snip\nDROP TABLE runs"),
        "'technique', row 5: .*cannot be printed",
    ),
    "a network of a thousand letters": (table(network="n" * 1000), "'network', row 1: .*1,000 letters"),
    "an example's name of script": (cell("example", "<svg onload=alert(1)>"), "'example', row 5: .*looks like HTML"),
    "an example's name of tabs": (cell("example", "\t=cmd()"), "'example', row 5: '=cmd.*formula"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_gets_one_sentence_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lay, pattern = HOSTILE[name]
    brought, place = tmp_path / "brought", tmp_path / "place"
    brought.mkdir()
    place.mkdir()
    lay(brought)
    monkeypatch.chdir(place)
    monkeypatch.setattr(sandbox, "ask_child", answer_here)
    assert main(["import", str(brought), "--study", str(place / "study")]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "Traceback" not in said.err
    (sentence,) = said.err.strip().splitlines()
    assert sentence.endswith(".") and len(sentence) < 500 and re.search(pattern, sentence), sentence
    assert list(place.iterdir()) == [] and not (tmp_path / "escape.csv").exists()


def test_there_are_at_least_120_files_and_folders() -> None:
    assert len(BAD) + len(HOSTILE) >= 120 and not set(BAD) & set(HOSTILE)
