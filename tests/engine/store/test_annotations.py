"""Marks stay with the study, whoever else is marking."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from engine.access import AccessError, Person, acting_as
from engine.errors import PruneScopeError
from engine.store.annotations import MARKS, broken_marks, marks_by_person, marks_stamp, read_marks, write_mark
from engine.store.people.journal import deeds
from engine.store.study import Study

VIEWER = Person("Vic", "viewer")


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "study")
    examples = pd.DataFrame({"example": range(50), "label": [0] * 50})
    classes = pd.DataFrame({"class": [0], "name": ["0"], "n_train": [1], "n_test": [50], "entropy": [1.0]})
    study.write_examples("digits", examples, classes)
    return study


def test_a_mark_is_kept_changed_and_taken_back(study: Study) -> None:
    assert read_marks(study, "digits").empty and marks_stamp(study, "digits") == 0
    write_mark(study, "digits", 7, "mislabelled", "looks like a 4")
    write_mark(study, "digits", 3, "hard")
    assert read_marks(study, "digits")[["example", "mark", "note"]].values.tolist() == [
        [3, "hard", ""],
        [7, "mislabelled", "looks like a 4"],
    ]
    write_mark(study, "digits", 7, "ambiguous")
    write_mark(study, "digits", 3, None)
    assert read_marks(study, "digits")[["example", "mark"]].values.tolist() == [[7, "ambiguous"]]


def test_marks_of_many_people_at_once_are_all_kept(study: Study) -> None:
    names = list(MARKS)
    with ThreadPoolExecutor(8) as people:
        list(people.map(lambda i: write_mark(study, "digits", i, names[i % 3]), range(50)))
    marks = read_marks(study, "digits")
    assert marks["example"].tolist() == list(range(50))
    assert marks["mark"].tolist() == [names[i % 3] for i in range(50)]


def test_a_torn_or_foreign_file_is_left_out(study: Study) -> None:
    write_mark(study, "digits", 1, "hard")
    folder = study.path / "marks" / "digits"
    for name, content in {
        "2.json": "{",
        "3.json": "[]",
        "4.json": '{"schema": 1, "example": 4, "mark": "<b>"}',
    }.items():
        (folder / name).write_text(content)
    assert read_marks(study, "digits")["example"].tolist() == [1]


@pytest.mark.parametrize(
    ("examples", "example", "mark", "said"),
    [
        ("digits", 1, "silly", "There is no mark 'silly'; allowed are mislabelled, ambiguous, hard."),
        ("../digits", 1, "hard", "There is no example table '../digits'"),
        ("digits", -1, "hard", "The example is -1"),
    ],
)
def test_what_makes_no_sense_is_refused(study: Study, examples: str, example: int, mark: str, said: str) -> None:
    with pytest.raises(PruneScopeError, match=said.replace("..", r"\.\.")):
        write_mark(study, examples, example, mark)
    assert not (study.path / "marks").exists()


def test_marks_of_two_people_stand_beside_each_other_with_their_names(study: Study) -> None:
    with acting_as(Person("Ada")):
        write_mark(study, "digits", 7, "hard", "clear to me", "Global magnitude, level 9")
        write_mark(study, "digits", 8, "hard")
    with acting_as(Person("Bob")):
        write_mark(study, "digits", 7, "mislabelled")
    everyone = marks_by_person(study, "digits")
    assert everyone[["example", "who", "mark"]].values.tolist() == [
        [7, "Ada", "hard"],
        [7, "Bob", "mislabelled"],
        [8, "Ada", "hard"],
    ]
    assert everyone["model"].iloc[0] == "Global magnitude, level 9" and everyone["note"].iloc[0] == "clear to me"
    assert read_marks(study, "digits")[["example", "who"]].values.tolist() == [[7, "Bob"], [8, "Ada"]]
    with acting_as(Person("Bob")):
        write_mark(study, "digits", 7, None)
    assert read_marks(study, "digits")["who"].tolist() == ["Ada", "Ada"]
    assert [deed.who for deed in deeds(study.path)] == ["Ada", "Ada", "Bob", "Bob"]


def test_marks_of_an_older_engine_stand_without_a_name(study: Study) -> None:
    folder = study.path / "marks" / "digits"
    folder.mkdir(parents=True)
    old = {"schema": 1, "example": 3, "mark": "hard", "note": "", "time": "2025-01-01T00:00:00+00:00"}
    (folder / "3.json").write_text(json.dumps(old))
    assert read_marks(study, "digits")[["example", "mark", "who"]].values.tolist() == [[3, "hard", ""]]
    assert broken_marks(study) == []


@pytest.mark.parametrize(("mode", "person"), [("demo", Person("Ada")), ("sign-in", None), ("sign-in", VIEWER)])
def test_who_may_not_write_marks_nothing(
    study: Study, monkeypatch: pytest.MonkeyPatch, mode: str, person: Person | None
) -> None:
    monkeypatch.setenv("PRUNESCOPE_ACCESS", mode)
    with acting_as(person), pytest.raises(AccessError):
        write_mark(study, "digits", 7, "hard")
    assert not (study.path / "marks").exists() and deeds(study.path) == []
