"""A mapping is a typed record: what is written of it is read alike, what is wrong in it is refused by name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.exchange.mapping import ClassFacts, ColumnMapping, ModelFacts, merge_mappings
from engine.exchange.messages import (
    FileToRead,
    PreviewRequest,
    Refused,
    StageRequest,
    decode_answer,
    decode_request,
    encode,
)
from engine.exchange.sandbox import Source, import_file
from engine.exchange.sidecar import mapping_from_json, read_sidecar
from engine.run_spec import RunSpec
from engine.store.study import Study
from tests.support.uploads import bring, long_table

TOP = Path(__file__).resolve().parents[3]

EXPORTED = b"""{
 "prunescope": 1,
 "title": "Two runs",
 "groups": ["series", "writer"],
 "attributes": ["tilt"],
 "classes": [
  {"name": "+", "n_train": 9, "entropy": 1.5},
  {"name": "b", "n_train": 8, "entropy": null}
 ],
 "runs": {"1f2e": {"dataset": "made", "network": "lenet", "technique": "random", "share": 1, "groups": ["series"]}}
}"""
"""A sidecar as version 0.1.0 wrote it."""

REFUSALS: dict[str, tuple[object, str]] = {
    "constant a list": ({"constants": {"seed": [1]}}, "The constant seed .* text or a number, not '.1.'"),
    "constant nothing": ({"constants": {"seed": None}}, "The constant seed .* text or a number, not 'None'"),
    "constant unknown": ({"constants": {"sed": 1}}, "There is no constant 'sed'; did you mean 'seed'"),
    "columns a list": ({"columns": ["label"]}, "columns in the mapping should be an object, not"),
    "models a word": ({"models": "dense"}, "models in the mapping should be an object, not 'dense'"),
    "model a word": ({"models": {"m": "dense"}}, "Column 'm': a model may say dataset, .*, not 'dense'"),
    "model fact unknown": ({"models": {"m": {"sparsty": 1}}}, "not 'sparsty' .did you mean 'sparsity'"),
    "model's sparsity a word": (
        {"models": {"m": {"sparsity": "high"}}},
        "Column 'm': its sparsity .* a number, not 'hi",
    ),
    "model's seed a truth": ({"models": {"m": {"seed": True}}}, "Column 'm': its seed should be a number, not 'True'"),
    "model's technique a list": ({"models": {"m": {"technique": []}}}, "its technique should be text, not"),
    "classes a number": ({"classes": 5}, "classes in the mapping should be a list, not '5'"),
    "class a list": ({"classes": [["a"]]}, "A class in the mapping should be a name"),
    "class without a name": ({"classes": [{"n_train": 3}]}, "A class in the mapping should be a name, not 'None'"),
    "class fact unknown": (
        {"classes": [{"name": "a", "ntrain": 3}]},
        "no fact of a class 'ntrain'; did you mean 'n_tr",
    ),
    "class count a word": ({"classes": [{"name": "a", "n_train": "many"}]}, "n_train of class 'a' .* not 'many'"),
    "class entropy a word": ({"classes": [{"name": "a", "entropy": "low"}]}, "entropy of class 'a' .* not 'low'"),
    "attributes of numbers": ({"attributes": [1]}, "attributes in the mapping should be a list of columns"),
    "guess a word": ({"guess": "no"}, "guess in the mapping should be true or false, not 'no'"),
    "layout a number": ({"layout": 3}, "The layout is '3'; it should be long or wide"),
    "run a word": ({"runs": {"r": "x"}}, "The settings of run 'r' should be an object, not 'x'"),
    "run without a network": ({"runs": {"r": {"dataset": "x"}}}, "run 'r' should name dataset, network and technique"),
    "run's epochs a word": (
        {"runs": {"r": {"dataset": "x", "network": "n", "technique": "t", "epochs": "many"}}},
        "The setting epochs of run 'r' is 'many'",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_wrong_value_is_refused_in_our_words(name: str) -> None:
    values, sentence = REFUSALS[name]
    with pytest.raises(PruneScopeError, match=sentence) as refusal:
        mapping_from_json(values)
    text = str(refusal.value)
    assert text.endswith(".") and "\n" not in text
    assert "Expected `" not in text and "$." not in text, "the library's own text stays inside"


def test_a_sidecar_of_the_first_version_is_read() -> None:
    mapping = read_sidecar(EXPORTED)
    assert mapping.groups == ("series", "writer") and mapping.attributes == ("tilt",)
    assert mapping.classes == (ClassFacts("+", 9, 1.5), ClassFacts("b", 8, None))
    assert mapping.runs == {"1f2e": RunSpec("made", "lenet", "random", share=1, groups=("series",))}
    assert mapping.runs["1f2e"].key == RunSpec("made", "lenet", "random", share=1, groups=("series",)).key
    assert isinstance(mapping.runs["1f2e"].share, int), "a run's key tells 1 from 1.0"


def test_numbers_and_text_are_read_whichever_way_they_are_written() -> None:
    facts = {"technique": 5, "sparsity": "0.9", "seed": "2", "n_kept": 7.0, "level": None}
    mapping = mapping_from_json({"models": {"m": facts}, "classes": [0, {"name": 1, "n_train": None}]})
    assert mapping.models == {"m": ModelFacts(technique="5", sparsity=0.9, seed=2, n_kept=7.0)}
    assert mapping.models["m"].given() == {"technique": "5", "seed": 2, "sparsity": 0.9, "n_kept": 7.0}
    assert mapping.classes == (ClassFacts("0"), ClassFacts("1"))


def test_a_mapping_is_the_same_after_json() -> None:
    mapping = mapping_from_json(
        {
            "layout": "wide",
            "columns": {"label": "y"},
            "constants": {"dataset": "animals", "seed": "3", "sparsity": 0.5},
            "models": {"m": {"sparsity": 0.5}},
            "classes": ["a", "b"],
            "groups": ["site"],
        }
    )
    assert mapping_from_json(json.loads(msgspec.json.encode(mapping))) == mapping
    file = FileToRead("/tmp/x.csv", "x.csv", "", mapping)
    for request in (PreviewRequest(file, 10, 20), StageRequest(file, 10, 20, "/tmp/study", "0a")):
        assert decode_request(encode(request)) == request
    assert decode_answer(encode(Refused("No.\n"))) == Refused("No.\n")
    assert encode(Refused("No.\n")).count(b"\n") == 0, "a message is one line"


def test_what_is_given_goes_before_the_sidecar() -> None:
    sidecar = ColumnMapping(
        layout="wide", columns={"label": "a", "example": "e"}, groups=("g",), models={"m": ModelFacts(sparsity=0.5)}
    )
    given = ColumnMapping(columns={"label": "b"}, constants={"seed": 1}, attributes=("h",))
    merged = merge_mappings(sidecar, given)
    assert merged.columns == {"label": "b", "example": "e"} and merged.constants == {"seed": 1}
    assert merged.layout == "wide" and merged.groups == ("g",) and merged.attributes == ("h",) and merged.guess
    complete = merge_mappings(sidecar, ColumnMapping(guess=False))
    assert complete.layout == "long" and complete.groups == () and complete.models == {} and not complete.guess


def test_classes_and_runs_of_a_sidecar_stay_where_the_page_says_none() -> None:
    merged = merge_mappings(read_sidecar(EXPORTED), ColumnMapping(guess=False))
    assert [facts.name for facts in merged.classes] == ["+", "b"] and list(merged.runs) == ["1f2e"]


def test_a_file_with_two_data_sets_becomes_two_sets_of_examples(tmp_path: Path) -> None:
    first = long_table()
    second = first[first["example"] < "img020"].assign(example=lambda rows: "b" + rows["example"])
    path, study = tmp_path / "file.csv", Study(tmp_path / "study")
    pd.concat([first.assign(dataset="first"), second.assign(dataset="second")]).to_csv(path, index=False)
    imported = bring(path, study)
    assert {summary.example_set: summary.n_examples for summary in imported.example_sets} == {"first": 40, "second": 20}
    assert study.examples("second")["example_id"].tolist() == [f"bimg{number:03}" for number in range(20)]


def test_rows_without_a_level_do_not_move_the_row_that_is_refused(tmp_path: Path) -> None:
    table = long_table().assign(level=None).astype({"level": object})
    table.loc[6, "level"] = 0.5
    table.to_csv(tmp_path / "file.csv", index=False)
    with pytest.raises(PruneScopeError, match="Column 'level', row 7: 0.5 is not allowed"):
        bring(tmp_path / "file.csv", Study(tmp_path / "study"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such names")
def test_a_name_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    long_table().to_csv(folder / "file.csv", index=False)
    with pytest.raises(PruneScopeError, match="is no Unicode text; rename"):
        import_file(Source(folder / "file.csv", "file.csv"), Study(tmp_path / "study"))
    assert not (tmp_path / "study").exists()


def test_no_module_of_the_exchange_loads_torch() -> None:
    modules = [f"engine.exchange.{path.stem}" for path in sorted((TOP / "engine" / "exchange").glob("[a-z]*.py"))]
    code = f"import sys, {', '.join(modules)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=TOP, check=False).returncode == 0
