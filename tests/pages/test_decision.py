"""Decision record: its facts are the choice's, its text is escaped, its JSON strict, its HTML needs nothing else."""

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import streamlit as st
from jinja2 import UndefinedError
from markupsafe import escape

from engine.analysis.frontier.choice import Choice, choose
from engine.analysis.frontier.floors import broken
from engine.analysis.frontier.rejected import rivals
from engine.analysis.frontier.stability import Agreement, agreement
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.cache import points as load_points
from pages.shared.cache.between import Between
from pages.shared.frame import Frame
from pages.views.frontier import tables as records
from pages.views.frontier.controls import Question
from pages.views.frontier.decision_record import (
    CHOSEN_ON,
    LIMITS,
    TEMPLATES,
    Decision,
    decision_html,
    decision_json,
)
from pages.views.frontier.words import choice_sentence, seed_sentence
from tests.support.studies import make_study

NASTY = "</script><img src=x onerror=alert(1)>*b* \\ \"quoted\" & 'so'"


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of made-up studies, to be read only."""
    root = tmp_path_factory.mktemp("studies")
    make_study(root / "planted", levels=6, title="A study & more")
    make_study(root / "one-run", seeds=1, techniques=("gradient",), treatments=("rewind",), levels=3, groups={})
    nasty: dict[str, Any] = {"classes": [f"{NASTY}{n}" for n in range(4)], "groups": {NASTY: (f"{NASTY}a", NASTY)}}
    nasty |= {"techniques": (f"{NASTY}1", f"{NASTY}2"), "treatments": (NASTY,), "mitigation": NASTY, "title": NASTY}
    make_study(root / "nasty", **nasty, dataset="own", split="", seeds=2, levels=3)
    return root


@pytest.fixture(autouse=True)
def _studies_are_those(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(studies))
    st.cache_resource.clear()


def framed(name: str) -> tuple[Frame, pd.DataFrame]:
    """A study with all of its techniques, and its points."""
    source = load.source(name)
    experiment = load.experiments(source)[0]
    points = load_points.operating(Between(source, experiment))
    keys = (tuple(map(str, points[column].unique())) for column in ("technique", "treatment"))
    return Frame(source, name, experiment, *keys, dark=False), points


def made(name: str, threshold: float = 0.8, weight: float = 1.0) -> tuple[Decision, pd.DataFrame, Choice]:
    """The decision on a study with all of its techniques, its points and the choice."""
    frame, points = framed(name)
    choice = choose(points, threshold, weight)
    asked = question(frame, points, threshold, weight)
    said = choice_sentence(points, points, choice, trusted(frame, points, choice))
    return records.decision(frame, asked, choice, [said], records.link(frame, asked)), points, choice


def question(frame: Frame, points: pd.DataFrame, threshold: float, weight: float) -> Question:
    """What the page would be asked."""
    limits = {"accuracy": threshold}
    between = Between(frame.source, frame.experiment)
    return Question(between, points, points, "max_min", "weight", limits, weight, None, 0.1, 0.05, "kept")


def trusted(frame: Frame, points: pd.DataFrame, choice: Choice) -> Agreement:
    """How sure the choice is."""
    return agreement(points, load_points.by_seed(Between(frame.source, frame.experiment)), choice)


def strict(text: str) -> Any:
    """The JSON, with NaN and Infinity refused."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Tags(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


# -- the record for machines ------------------------------------------------------------------------------------------


def test_json_holds_the_choice_and_why_rivals_lost() -> None:
    decision, points, choice = made("planted")
    found = strict(decision_json(decision))
    chosen = points.iloc[choice.chosen]
    assert found["rule"] == {
        "accuracy_at_least": 0.8,
        "weight": 1.0,
        "unfairness": "max_min",
        "value": "sparsity - weight * unfairness",
        "name": "weight",
        "fair_between": "Classes",
        "floors": {"accuracy": 0.8},
        "chosen_on": "test",
        "reported_on": "test",
    }
    for name in ("sparsity", "accuracy", "max_min"):
        assert found["chosen"][name] == pytest.approx(chosen[name], abs=1e-6)
    assert found["chosen"]["technique"] == chosen["technique"] and found["chosen"]["n_seeds"] == 3
    assert found["runner_up"]["level"] == points["level"].iloc[choice.runner_up]
    assert len(found["rivals"]) == len(points) - 1
    reasons = rivals(points, choice, broken(points, {"accuracy": 0.8}))["reason"]
    assert [row["reason"].split(" by ")[0] for row in found["rivals"]] == list(reasons)
    assert found["limits"] == [CHOSEN_ON["test"], *LIMITS] and found["study"] == "A study & more"


def test_a_gain_by_longer_training_is_said() -> None:
    frame, points = framed("planted")
    tuned = points[(points["treatment"] == "finetune") & (points["level"] == 3)].iloc[0]
    assert not records.caution(frame, points, tuned, "max_min")
    better = records.caution(frame, points, tuned.replace(tuned["accuracy"], 1.0), "max_min")
    assert "but trained for 4 epochs in all, that one for 1" in better
    decision = replace(made("planted")[0], cautions=[better])
    assert strict(decision_json(decision))["limits"] == [better, CHOSEN_ON["test"], *LIMITS]
    assert better in "".join(Tags(decision_html(decision, {})).words)


def test_json_holds_classes_and_groups_with_sizes_and_intervals(studies: Path) -> None:
    decision, points, choice = made("planted")
    found = strict(decision_json(decision))
    study, level = Study(studies / "planted"), int(points["level"].iloc[choice.chosen])
    runs = [row["run"] for row in found["runs"]]
    rows = study.classes()
    rows = rows[rows["run"].isin(runs) & (rows["level"] == level)]
    accuracy = (rows["correct"] / rows["n"]).groupby(rows["class"]).mean()
    assert {row["name"]: row["accuracy"] for row in found["classes"]} == pytest.approx(
        {str(name): value for name, value in accuracy.items()}
    )
    examples = study.examples("qmnist-writers")
    for row in found["groups"]:
        member = (examples[row["grouping"]] == row["group"]).to_numpy()
        said = [dict(zip(*study.prediction_matrix(run), strict=True))[level] for run in runs]
        shares = [float((one == examples["label"].to_numpy())[member].mean()) for one in said]
        assert row["n"] == member.sum() and row["accuracy"] == pytest.approx(np.mean(shares))
        assert row["low"] <= row["accuracy"] <= row["high"]
    assert found["no_groups"] == "" and {row["group"] for row in found["groups"]} == {"hsf0", "hsf4"}


def test_json_says_how_to_make_the_run_again(studies: Path) -> None:
    decision, _, _ = made("planted")
    found = strict(decision_json(decision))
    study = Study(studies / "planted")
    assert [row["seed"] for row in found["runs"]] == [0, 1, 2] and found["runs"][0]["engine"] == "0.1.0"
    spec = study.run_record(found["runs"][0]["run"]).spec
    assert f"--technique {spec.technique}" in found["command"] and "--study STUDY" in found["command"]
    for part in ("threshold=80.0", "weight=1", "study=planted", "network=LeNet", "techniques=Global+magnitude"):
        assert part in found["link"]


def test_numbers_that_are_not_there_are_null() -> None:
    decision, _, _ = made("one-run", threshold=0.5)
    found = strict(decision_json(decision))
    assert found["chosen"]["accuracy_sd"] is None and found["classes"][0]["low"] is None
    assert found["groups"] == [] and found["no_groups"] == load.NO_GROUPS
    odd = pd.DataFrame({"a": [np.nan, np.inf, 1.0], "b": [pd.NA, np.int64(3), "x"], "c": [None, True, np.float32(0.5)]})
    awkward = replace(decision, rivals=odd, runs=[{"seconds": float("nan"), "more": [float("-inf"), 2]}])
    found = strict(decision_json(awkward))
    assert found["rivals"] == [
        {"a": None, "b": None, "c": None},
        {"a": None, "b": 3, "c": True},
        {"a": 1.0, "b": "x", "c": 0.5},
    ]
    assert found["runs"] == [{"seconds": None, "more": [None, 2]}]


def test_groups_that_cannot_be_read_are_said(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: Any) -> None:
        raise load.PruneScopeError("predictions.parquet is damaged.")

    monkeypatch.setattr(load, "predictions", damaged)
    decision, _, _ = made("planted")
    assert "predictions.parquet is damaged" in strict(decision_json(decision))["no_groups"]
    assert "predictions.parquet is damaged" in decision_html(decision, {})


# -- the record for people --------------------------------------------------------------------------------------------


def test_html_shows_the_same_facts_and_figures() -> None:
    decision, points, choice = made("planted")
    figure = go.Figure(go.Scatter(x=[1], y=[2]))
    page = Tags(decision_html(decision, {"First & one": figure, "Second": figure}))
    words = " ".join(page.words)
    chosen = points.iloc[choice.chosen]
    for part in (decision.sentence, formats.sparsity(chosen["sparsity"]), formats.percent(chosen["accuracy"])):
        assert part in words
    assert formats.unfairness(chosen["max_min"], "max_min") in words and "First & one" in words
    assert decision.link in words and decision.command in words and LIMITS[0] in words
    assert sum(tag == "table" for tag, _ in page.tags) == 6
    assert sum(values.get("class") == "plotly-graph-div" for _, values in page.tags) == 2
    assert "Global magnitude" in words and "dominated by" in words


def test_html_needs_nothing_from_outside() -> None:
    decision, _, _ = made("planted")
    page = Tags(decision_html(decision, {"One": go.Figure(go.Scatter(x=[1], y=[2]))}))
    for tag, values in page.tags:
        assert tag not in {"link", "img", "iframe", "base", "object", "embed"}
        assert not values.get("src"), f"{tag} loads {values.get('src')}"
    assert [values["href"] for tag, values in page.tags if tag == "a"] == [decision.link]


def test_html_shows_names_as_text() -> None:
    decision, _, _ = made("nasty", threshold=0.5)
    text = decision_html(decision, {NASTY: go.Figure()})
    page = Tags(text)
    assert not {tag for tag, _ in page.tags} & {"img", "b", "em"}
    assert escape(f"{NASTY}1") in text and escape(NASTY) in text
    assert strict(decision_json(decision))["classes"][0]["name"].startswith(NASTY)


HOSTILE = "<script>alert(1)</script> \"double\" 'single' & {{ 7*7 }} {% raw %}"


def test_html_escapes_every_value_and_runs_none_as_a_template() -> None:
    decision, _, _ = made("planted")
    table = pd.DataFrame({f"head {HOSTILE}": [f"cell {HOSTILE}"]})
    hostile = replace(
        decision,
        study=f"study {HOSTILE}",
        sentence=f"sentence {HOSTILE}",
        chosen={f"fact {HOSTILE}": f"value {HOSTILE}"},
        rivals=table,
        classes=table,
        groups=table,
        cautions=[f"caution {HOSTILE}"],
        runs=[{f"head {HOSTILE}": f"cell {HOSTILE}"}],
        link=f"link {HOSTILE}",
        command=f"command {HOSTILE}",
        made=f"made {HOSTILE}",
    )
    text = decision_html(hostile, {f"title {HOSTILE}": go.Figure()})
    page = Tags(decision_html(hostile, {}))
    assert "script" not in {tag for tag, _ in page.tags}, "only a figure brings a script"
    assert [values for tag, values in page.tags if tag == "a"] == [{"href": f"link {HOSTILE}"}]
    counts = {"study": 2, "sentence": 1, "fact": 1, "value": 1, "head": 4, "cell": 4, "caution": 1, "title": 1}
    counts |= {"link": 2, "command": 1, "made": 1}
    assert {name: text.count(escape(f"{name} {HOSTILE}")) for name in counts} == counts
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &#34;double&#34; &#39;single&#39; &amp; {{ 7*7 }}" in text
    assert HOSTILE not in text and "49" not in "".join(page.words)
    ungrouped = replace(hostile, groups=pd.DataFrame(), no_groups=f"reason {HOSTILE}")
    assert escape(f"no table of groups: reason {HOSTILE}.") in decision_html(ungrouped, {})


def test_template_refuses_a_value_that_is_missing() -> None:
    with pytest.raises(UndefinedError, match="'study' is undefined"):
        TEMPLATES.get_template("decision_record.html.j2").render()


def test_sentence_without_markdown_has_the_names_as_they_are() -> None:
    decision, points, choice = made("nasty", threshold=0.5, weight=0.01)
    assert points["level"].iloc[choice.chosen] > 0
    assert f"{NASTY}1" in decision.sentence or f"{NASTY}2" in decision.sentence
    assert "**" not in decision.sentence
    assert formats.unmarked(f"**Ship {formats.plain(NASTY)}**: 1 \\* 2") == f"Ship {NASTY}: 1 * 2"


def test_sentence_is_the_pages() -> None:
    decision, points, choice = made("planted")
    frame, _ = framed("planted")
    said = choice_sentence(points, points, choice, trusted(frame, points, choice))
    assert decision.sentence == said.replace("**", "").replace("\\", "")


def test_sentence_says_how_many_seeds_lack_the_chosen_level() -> None:
    _, points, choice = made("planted")
    frame, _ = framed("planted")
    trust = trusted(frame, points, choice)
    assert "no such level" not in seed_sentence(points, choice, trust)
    fewer = points.assign(n_seeds=points["n_seeds"] - (np.arange(len(points)) == choice.chosen))
    assert "(1 more has no such level)" in seed_sentence(fewer, choice, trust)


def test_a_choice_on_validation_says_so() -> None:
    decision = replace(made("planted")[0], chosen_on="validation", floors={"accuracy": 0.8, "loss": 0.03})
    found = strict(decision_json(decision))
    assert found["rule"]["chosen_on"] == "validation" and found["limits"][0] == CHOSEN_ON["validation"]
    words = "".join(Tags(decision_html(decision, {})).words)
    assert "validation, test" in words and "No group loses more than" in words and "3.0 points" in words
