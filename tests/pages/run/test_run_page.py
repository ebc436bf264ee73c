"""The Run page says what it would compute, refuses nonsense with a sentence, and starts nothing that may not begin."""

import json
from pathlib import Path

import pytest

from engine.errors import PruneScopeError
from engine.jobs.job import Job, jobs_of
from engine.store.study import Study
from pages.views.run import form, words
from pages.views.run.charts import live_chart, live_table
from tests.pages.conftest import OpenPage
from tests.pages.conftest import words as words_on
from tests.support.jobs import small_request

RUN = {"technique": "global_unstructured", "treatment": "rewind", "seed": 0, "n_levels": 3, "epoch": 1, "n_epochs": 2}


@pytest.mark.parametrize(("text", "seeds"), [("0-3", [0, 1, 2, 3]), ("7", [7]), ("0, 3 ,3, 5-6", [0, 3, 5, 6])])
def test_seeds_are_read_as_people_write_them(text: str, seeds: list[int]) -> None:
    assert form.seed_list(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "-1", "3-1", "1-", "0-9999", "1.5", "٣", "1-2-3", "0-150, 200-350"])
def test_nonsense_for_seeds_is_refused_with_the_value(text: str) -> None:
    with pytest.raises(PruneScopeError, match="Seeds is"):
        form.seed_list(text)


def test_an_empty_study_begins_with_a_preset(tmp_path: Path, open_page: OpenPage) -> None:
    (tmp_path / "empty" / "runs").mkdir(parents=True)
    app = open_page("pages/run.py", "empty", root=tmp_path)
    assert "18 runs, 234 models to compute." in words_on(app) and not app.button(key="start").disabled
    app = open_page("pages/run.py", "empty", root=tmp_path, what="More seeds")
    assert "Begin with a preset" in words_on(app)
    app = open_page("pages/run.py", "none", root=tmp_path / "nothing")
    assert "Run something" in words_on(app)


def test_more_seeds_are_those_after_the_ones_that_are_there(open_page: OpenPage, study_root: Path) -> None:
    app = open_page("pages/run.py", "tiny", what="More seeds", more="4")
    said = words_on(app)
    assert "Seeds 0 are there; 1, 2, 3, 4 would join them." in said
    assert "4 runs, 16 models to compute." in said
    study = Study(study_root / "tiny")
    specs = [study.run_record(key).spec for key in study.runs()]
    assert [spec.seed for spec in form.more_seeds(specs, [1, 2])] == [1, 2]


def test_settings_of_ones_own_are_checked(open_page: OpenPage) -> None:
    app = open_page("pages/run.py", "empty", what="My own settings")
    assert "6 runs, 78 models to compute." in words_on(app)
    app.text_input(key="run-seeds").set_value("many").run()
    assert "Seeds is 'many'" in words_on(app).replace("\\", "")
    app.text_input(key="run-seeds").set_value("0").run()
    epochs = next(item for item in app.number_input if item.label == "Epochs")
    epochs.set_value(0).run()
    assert "epochs is 0" in words_on(app).replace("\\", "") and not [b for b in app.button if b.key == "start"]


@pytest.mark.parametrize(
    ("name", "sentence"), [("a b", "is no name for a study"), ("../x", "is no name for a study"), ("", "is no name")]
)
def test_a_new_study_needs_a_name(name: str, sentence: str, open_page: OpenPage) -> None:
    app = open_page("pages/run.py", "empty", into="a new study …")
    app.text_input(key="into-new").set_value(name).run()
    assert sentence in words_on(app).replace("\\", "")


@pytest.mark.parametrize("mode", ["demo", "sign-in"])
def test_nobody_starts_who_may_not(mode: str, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_ACCESS", mode)
    app = open_page("pages/run.py", "empty")
    starts = [button for button in app.button if button.key == "start"]
    assert all(button.disabled for button in starts)
    assert bool(starts) == (mode == "demo"), "who is not signed in sees no form"


def test_a_wrong_kind_of_access_opens_no_page(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_ACCESS", "everybody")
    app = open_page("pages/run.py", "empty")
    assert "This server is not set up" in words_on(app) and not app.button


def test_a_job_that_was_killed_is_shown_as_stopped_and_can_go_on(tmp_path: Path, open_page: OpenPage) -> None:
    study = tmp_path / "killed"
    (study / "runs").mkdir(parents=True)
    job = Job(study, "20260101-000000-abcd")
    job.folder.mkdir(parents=True)
    (job.folder / "request.json").write_bytes(small_request(tmp_path).content())
    (job.folder / "owner.json").write_text(json.dumps({"host": "gone", "process": 1, "began": "1", "who": "Ada"}))
    import os

    os.utime(job.folder / "owner.json", (1, 1))
    app = open_page("pages/run.py", "killed", root=tmp_path)
    assert "has stopped" in words_on(app) and [b.label for b in app.button if b.label == "Go on"]
    assert jobs_of(study) == [job]


def test_the_live_curve_has_a_line_per_run_that_has_begun() -> None:
    runs = [
        {**RUN, "run": "a", "state": "running", "level": 2, "accuracies": [[0, 0.9], [1, 0.8]]},
        {**RUN, "run": "b", "state": "running", "level": 0, "accuracies": []},
    ]
    figure = live_chart(runs)
    assert len(figure.data) == 1 and list(figure.data[0].y) == [0.9, 0.8]
    assert live_table(runs)["accuracy"].tolist() == [0.9, 0.8]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "1 second"), (60, "60 seconds"), (600, "10 minutes"), (9000, "2.5 hours")]
)
def test_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said
