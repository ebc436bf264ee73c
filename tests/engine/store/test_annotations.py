"""Marks stay with the study, whoever else is marking."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from engine.errors import PruneScopeError
from engine.store.annotations import MARKS, marks_stamp, read_marks, write_mark
from engine.store.study import Study


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
