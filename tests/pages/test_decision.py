"""The Frontier's decision record: its facts are the choice's and the study's, it names which seed ships, and why."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pandas as pd
import pytest
import streamlit as st

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.floors import broken
from engine.analysis.frontier.rejected import rivals
from engine.analysis.frontier.stability import agreement
from engine.analysis.frontier.tradeoffs.compromise import compromise
from engine.analysis.intervals import t_interval
from engine.shipping.decision.decision_charts import frontier_picture, group_picture
from engine.shipping.decision.decision_facts import RecordFacts, UseFacts, record_json, record_schema
from engine.shipping.decision.decision_page import record_html
from engine.shipping.decision.record_parts import CHOSEN_ON, LIMITS, NEAREST_SEED, ONLY_SEED, chart_facts, shipped_seed
from engine.store.records.digests import study_digest
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.cache import points as load_points
from pages.shared.cache.between import Between
from pages.shared.frame import Frame
from pages.views.frontier import tables
from pages.views.frontier.chosen.record import Decided, record_facts, rival_table
from pages.views.frontier.controls import Question
from pages.views.frontier.words import choice_sentence, seed_sentence
from tests.support.studies import make_study

NASTY = "</script><img src=x onerror=alert(1)>*b* \\ \"quoted\" & 'so'"
USE = UseFacts(intended="Sorting post.", not_for="Grading people.")


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


def decided(name: str, threshold: float = 0.8, weight: float = 1.0) -> Decided:
    """What would be decided on a study with all of its techniques."""
    frame, points = framed(name)
    choice = choose(points, threshold, weight)
    between, limits = Between(frame.source, frame.experiment), {"accuracy": threshold}
    asked = Question(between, points, points, "max_min", "weight", limits, weight, None, 0.1, 0.05, "kept")
    trust = agreement(points, load_points.by_seed(between), choice)
    said = choice_sentence(points, points, choice, trust)
    return Decided(frame, asked, choice, [said], tables.link(frame, asked))


def strict(record: RecordFacts) -> Any:
    """The JSON, by its schema, with NaN and Infinity refused."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    values = json.loads(record_json(record), parse_constant=refuse)
    jsonschema.Draft202012Validator(record_schema()).validate(values)
    return values


def test_it_holds_the_choice_and_why_rivals_lost() -> None:
    what = decided("planted")
    found, points, choice = strict(record_facts(what, USE)), what.asked.points, what.choice
    chosen = points.iloc[choice.chosen]
    assert found["rule"]["weight"] == 1.0 and found["rule"]["floors"] == {"accuracy": 0.8}
    assert found["rule"]["floor_texts"] == ["Accuracy at least 80.0 %"]
    assert found["chosen"]["technique"] == chosen["technique"] and found["chosen"]["n_seeds"] == 3
    numbers = {row["key"]: row for row in found["numbers"]}
    for name in ("sparsity", "accuracy", "max_min"):
        assert numbers[name]["value"] == pytest.approx(chosen[name])
    low, high = t_interval(chosen["accuracy"], chosen["accuracy_sd"], 3)
    assert (numbers["accuracy"]["low"], numbers["accuracy"]["high"]) == (pytest.approx(low), pytest.approx(high))
    lost, table = rivals(points, choice, broken(points, {"accuracy": 0.8})), rival_table(what)
    assert found["n_rivals"] == len(table) == len(points) - 1
    assert [text.split(" by ")[0] for text in table["reason"]] == list(lost["reason"])
    assert len(found["nearest"]) == 10 and found["alternatives"][0]["role"] == "Runner-up"
    runner = points.iloc[choice.runner_up]
    assert found["alternatives"][0]["level"] == runner["level"]
    assert found["not_checked"][-len(LIMITS) - 1 :] == [CHOSEN_ON["test"], *LIMITS]
    assert found["title"] == "LeNet on QMNIST (writers)" and found["origin"]["study"] == "A study & more"
    assert found["use"] == {"intended": "Sorting post.", "not_for": "Grading people.", "reason": ""}


def test_it_holds_both_stakeholders_and_their_compromise() -> None:
    what = decided("planted", threshold=0.2, weight=0.05)
    points, second = what.asked.points, choose(what.asked.points, 0.2, 50.0)
    middle = compromise(what.choice, second)
    assert middle is not None and not middle.agrees
    what = replace(what, asked=replace(what.asked, second_weight=50.0), second=second, middle=middle)
    found = strict(record_facts(what, USE))["stakeholders"]
    assert [one["weight"] for one in found["both"]] == [0.05, 50.0] and not found["agree"]
    for one, place in zip(found["both"], (what.choice.chosen, second.chosen), strict=True):
        assert one["choice"]["level"] == points["level"].iloc[place]
        assert one["choice"]["sparsity"] == pytest.approx(points["sparsity"].iloc[place])
    assert found["compromise"]["level"] == points["level"].iloc[middle.place]
    assert [one["cost"] for one in found["both"]] == list(middle.costs)
    assert strict(record_facts(decided("planted"), USE))["stakeholders"] is None
    same = replace(what, second=what.choice, middle=compromise(what.choice, what.choice))
    assert strict(record_facts(same, USE))["stakeholders"]["agree"]


def test_groups_have_sizes_and_intervals(studies: Path) -> None:
    what = decided("planted")
    found, level = strict(record_facts(what, USE)), int(what.point["level"])
    study, runs = Study(studies / "planted"), [row["run"] for row in found["origin"]["runs"]]
    examples = study.examples("qmnist-writers")
    said = [dict(zip(*study.prediction_matrix(run), strict=True))[level] for run in runs]
    right = [one == examples["label"].to_numpy() for one in said]
    for row in found["groups"]:
        column = examples["label"].astype(str) if row["grouping"] == "class" else examples[row["grouping"]]
        member = (column == row["group"]).to_numpy()
        assert row["n"] == member.sum() and row["after"] == pytest.approx(
            np.mean([one[member].mean() for one in right])
        )
        assert row["low"] <= row["after"] <= row["high"]
    assert {row["group"] for row in found["groups"]} >= {"hsf0", "hsf4"} and found["payers"]


def test_one_seed_ships_the_most_usual_or_the_one_asked_for() -> None:
    what = decided("planted")
    rows = what.seeds
    made = shipped_seed(rows, "max_min")
    assert made.why == NEAREST_SEED and made.level == what.point["level"] and made.run in set(rows["run"].astype(str))
    for seed in rows["seed"]:
        record = record_facts(what, USE, int(seed))
        assert record.ships.seed == seed
        assert record.ships.run == str(rows.loc[rows["seed"] == seed, "run"].iloc[0])
        assert f"--seed {seed}" in record.origin.command or seed == 0
    odd = pd.DataFrame({"run": list("abc"), "seed": [4, 5, 6], "level": 2, "accuracy": [0.9, 0.95, 0.99]})
    assert shipped_seed(odd.assign(max_min=[0.3, 0.2, 0.1]), "max_min").seed == 5, "neither best nor worst"
    assert shipped_seed(decided("one-run", 0.5).seeds, "max_min").why == ONLY_SEED


def test_another_network_than_the_recommended_one_says_so_and_why() -> None:
    what = decided("planted")
    other = replace(what, taken=what.choice.runner_up, reason="the customer knows this one")
    record = record_facts(other, USE)
    assert record.summary.startswith("Chosen against the recommendation: ")
    assert record.use.reason == "the customer knows this one" and record.use.intended == "Sorting post."
    first = record.alternatives[0]
    assert (first.role, first.reason) == ("Recommended", "not taken: the customer knows this one")
    assert record.chosen.level == other.point["level"] != first.level or record.chosen.technique != first.technique
    page = record_html(record)
    assert "Another network than the recommended one was chosen:" in page and "the customer knows this one" in page


def test_origin_says_what_it_was_made_from(studies: Path) -> None:
    what = decided("planted")
    origin = record_facts(what, USE).origin
    study = Study(studies / "planted")
    assert origin.study_digest == study_digest(study) and len(origin.data_digest) == 64 and origin.n_examples > 0
    spec = study.run_record(str(origin.runs[0]["run"])).spec
    assert f"--technique {spec.technique}" in origin.command and [row["seed"] for row in origin.runs] == [0, 1, 2]
    for part in ("threshold=80.0", "weight=1", "study=planted", "network=LeNet", "techniques=Global+magnitude"):
        assert part in origin.link


def test_numbers_that_are_not_there_are_null() -> None:
    found = strict(record_facts(decided("one-run", 0.5), USE))
    accuracy = next(row for row in found["numbers"] if row["key"] == "accuracy")
    assert accuracy["low"] is None and found["groups"][0]["low"] is None and found["no_groups"] == load.NO_GROUPS


def test_names_of_users_are_text_everywhere() -> None:
    record = record_facts(decided("nasty", 0.5, 0.01), UseFacts(intended=NASTY, not_for=NASTY))
    assert strict(record)["groups"][0]["group"].startswith(NASTY)
    page = record_html(record)
    assert "<img" not in page and "</script>" not in page and "**" not in record.summary
    assert NASTY in record.summary


def test_a_hundred_thousand_points_draw_small_pictures() -> None:
    what = decided("planted")
    few = what.asked.points
    many = pd.concat([few] * (100_000 // len(few) + 1), ignore_index=True)
    rng = np.random.default_rng(0)
    many = many.assign(sparsity=rng.random(len(many)), max_min=rng.random(len(many)))
    choice = choose(many, 0.8, 1.0)
    record = replace_chart(record_facts(what, USE), chart_facts(many, choice, choice.chosen or 0))
    assert len(frontier_picture(record).encode()) + len(group_picture(record).encode()) < 100_000
    assert record.chart.n_points == len(many) and sum(kind == "chosen" for *_, kind in record.chart.points) == 1


def replace_chart(record: RecordFacts, chart: Any) -> RecordFacts:

    return msgspec.structs.replace(record, chart=chart)


def test_a_choice_on_validation_says_so() -> None:
    what = decided("planted")
    between = replace(what.asked.between, split="validation")
    limits = {"accuracy": 0.8, "loss": 0.03}
    rule = strict(record_facts(replace(what, asked=replace(what.asked, limits=limits)), USE))["rule"]
    assert rule["floor_texts"][1] == "No group loses more than 3.0 points" and between.split in CHOSEN_ON


def test_sentence_is_the_pages_without_markdown() -> None:
    what = decided("planted")
    assert record_facts(what, USE).summary == what.texts[0].replace("**", "").replace("\\", "")
    assert formats.unmarked(f"**Ship {formats.plain(NASTY)}**: 1 \\* 2") == f"Ship {NASTY}: 1 * 2"


def test_sentence_says_how_many_seeds_lack_the_chosen_level() -> None:
    what = decided("planted")
    points, choice = what.asked.points, what.choice
    trust = agreement(points, load_points.by_seed(what.asked.between), choice)
    assert "no such level" not in seed_sentence(points, choice, trust)
    fewer = points.assign(n_seeds=points["n_seeds"] - (np.arange(len(points)) == choice.chosen))
    assert "(1 more has no such level)" in seed_sentence(fewer, choice, trust)
