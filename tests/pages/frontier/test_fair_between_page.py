"""Frontier, fair between groups: the unfair network is never the answer, and the warning names who pays."""

import re
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.analysis.frontier.choice import choose
from engine.api.fair_between import study_points
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.between import Between
from pages.shared.cache.points import operating
from pages.views.frontier.words import MOST_WORDS
from tests.pages.conftest import OpenPage, unfold, words
from tests.support.planted.regions import make_regions
from tests.support.planted.validated_study import make_validated_study
from tests.support.studies import make_study

FRONTIER = "pages/frontier.py"
WEIGHTS = ("10", "31.6", "100", "1000")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study where the country pays, one with validation splits, one without groups."""
    root = tmp_path_factory.mktemp("between")
    make_regions(root / "regions")
    make_validated_study(root / "validated", levels=6, examples=900)
    make_study(root / "no-groups", groups={}, writers=0, levels=4)
    st.cache_resource.clear()
    return root


def answer(app: AppTest) -> str:
    """The answer, without its markdown."""
    return formats.unmarked(str(app.main.markdown[0].value))


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("threshold", ["0", "70", "80"])
def test_the_unfair_network_is_never_the_answer_between_regions(
    open_page: OpenPage, root: Path, weight: str, threshold: str
) -> None:
    app = open_page(FRONTIER, "regions", root, fair="Region", weight=weight, threshold=threshold)
    assert "90.0 % sparsity" not in answer(app) and not app.warning
    assert len(answer(app).split()) <= MOST_WORDS


def test_between_classes_the_warning_names_rural(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "regions", root, weight="1", threshold="70")
    assert "90.0 % sparsity" in answer(app), "between classes it looks fair enough"
    warned = formats.unmarked(str(app.warning[0].value))
    assert warned.startswith("region rural loses 30.0 points") and "fair between classes only" in warned
    assert "Who pays most: region rural, from 95.0 %" in formats.unmarked(words(app))
    unfold(app, "floors").number_input(key="warn").set_value(31.0).run()
    assert not app.exception and not app.warning


def test_a_floor_takes_the_unfair_network_out(open_page: OpenPage, root: Path) -> None:
    for floor in ({"loss": "5"}, {"floor": "90"}):
        app = open_page(FRONTIER, "regions", root, fair="Region", weight="0.01", threshold="0", **floor)
        assert "50.0 % sparsity" in answer(app)
        assert "1 of 3 networks miss a floor" in words(app)
    app = open_page(FRONTIER, "regions", root, fair="Region", threshold="0", floor="99.9")
    assert "No network keeps every floor" in words(app)


def test_the_panel_shows_the_grouping_with_sizes(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "regions", root, fair="Region", weight="0.01", threshold="0")
    unfold(app, "chosen-classes-menu").toggle(key="chosen-classes-table").set_value(True).run()
    rows = next(t.value for t in app.dataframe if "name" in t.value).set_index("name")
    assert rows.loc["rural", "n"] == 400 and rows.loc["rural", "accuracy"] == pytest.approx(0.65)
    assert rows.loc["urban", "dense"] == pytest.approx(0.95) and rows.loc["rural", "change"] == pytest.approx(-0.3)


def test_points_between_groups_are_the_public_ones(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(root))
    source = catalog.source("regions")
    for columns in (("region",), ("class", "region"), ("harbour", "region")):
        mine = operating(Between(source, catalog.experiments(source)[0], columns))
        theirs = study_points(Study(root / "regions"), columns)
        np.testing.assert_allclose(mine["max_min"], theirs["max_min"])
        np.testing.assert_allclose(mine["largest_loss"], theirs["largest_loss"])


def test_crossings_and_single_columns_are_offered(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "regions", root)
    assert app.selectbox(key="fair").options[:3] == ["Classes", "Region", "Harbour"]
    assert {"Class × region", "Region × harbour"} <= set(app.selectbox(key="fair").options)
    app.selectbox(key="fair").set_value("Class × region").run()
    assert not app.exception and "rural" in words(app)
    assert open_page(FRONTIER, "no-groups", root).selectbox(key="fair").options == ["Classes"]


# -- where it is chosen -----------------------------------------------------------------------------------------------


def test_validation_chooses_and_test_is_reported(
    open_page: OpenPage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page(FRONTIER, "validated", root, weight="1", threshold="85")
    source = catalog.source("validated")
    held_out = operating(Between(source, catalog.experiments(source)[0], split="validation"))
    tested = operating(Between(source, catalog.experiments(source)[0]))
    study = Study(root / "validated")
    run = study.runs()[0]
    at, predicted, rows = study.validation(run)
    labels = study.training_examples("qmnist-writers")["label"].to_numpy()[rows]
    spec = study.run_record(run).spec
    mine = held_out[(held_out["technique"] == spec.technique) & (held_out["treatment"] == spec.treatment)]
    assert mine["n_seeds"].eq(3).all() and abs((predicted[0] == labels).mean() - mine["accuracy"].iloc[0]) < 0.05
    choice = choose(held_out, 0.85, 1.0)
    here, there = (formats.unfairness(t["max_min"].iloc[choice.chosen], "max_min") for t in (held_out, tested))
    assert f"gap {here} where chosen, {there} on test" in words(app)
    chosen = tested.iloc[choice.chosen]
    assert f"accuracy {formats.percent(chosen['accuracy'])}, gap {there}" in answer(app)
    by_group = open_page(FRONTIER, "validated", root, fair="Series", loss="10")
    assert "on test" in words(by_group)


def test_without_validation_it_says_that_it_chose_on_what_it_reports(open_page: OpenPage, root: Path) -> None:
    said = words(open_page(FRONTIER, "no-groups", root))
    assert "Chosen on the test split that it is reported on" in said
    assert re.search(r"halves of the examples instead: gap [\d.]+ pt where chosen, [\d.]+ pt on the other half", said)
    written = words(open_page(FRONTIER, "planted"))
    assert "Chosen on halves of the writers instead" in written


def test_a_real_run_chooses_on_its_validation_split(open_page: OpenPage) -> None:
    assert "Chosen on validation, reported on test" in words(open_page(FRONTIER, "tiny"))


# -- rules ------------------------------------------------------------------------------------------------------------


def test_a_promise_is_made_or_refused_with_who_stops_it(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "regions", root, rule="Promise", fair="Region", threshold="50", floor="80")
    assert answer(app).startswith("Promised: lasso") and "50.0 % sparsity" in answer(app)
    assert "wrong with probability at most 10 %" in answer(app) and len(answer(app).split()) <= MOST_WORDS
    table = next(t.value for t in app.dataframe if "promised up to" in t.value).iloc[0]
    assert table["fails at"] == "90.0 %" and table["because of"] == "rural"
    app = open_page(FRONTIER, "regions", root, rule="Promise", fair="Region", threshold="50", floor="97")
    assert "No pruned network can be shown to keep the promise" in words(app)


def test_three_objectives_say_of_each_technique_whether_it_is_ever_optimal(open_page: OpenPage) -> None:
    app = open_page(FRONTIER, "planted", rule="Three objectives")
    table = next(t.value for t in app.dataframe if "ever Pareto-optimal" in t.value)
    assert set(table["technique"]) == {"Global magnitude", "Layer random"}
    assert table["ever Pareto-optimal"].iloc[0] == "yes"
    assert len(app.get("plotly_chart")) == len(open_page(FRONTIER, "planted").get("plotly_chart")) + 1


# -- the study that ships ---------------------------------------------------------------------------------------------


def test_the_shipped_studys_verdict_agrees_with_its_shares(open_page: OpenPage, demo_root: Path) -> None:
    app = open_page(FRONTIER, "demo", demo_root, threshold="95", weight="10")
    wins = next(t.value for t in app.dataframe if "told from the best" in t.value)
    assert wins["wins"].sum() == pytest.approx(100)
    mine = float(wins.loc[wins[""] == "★", "wins"].sum())
    rival = float(wins.loc[wins[""] != "★", "wins"].max())
    alone = wins.loc[wins["told from the best"] == "no", ""].eq("★").all()
    word = "Toss-up" if rival > mine or mine < 30 else "Clear" if mine >= 80 and alone else "Close call"
    assert answer(app).startswith(f"{word}: ") and len(answer(app).split()) <= MOST_WORDS
    assert f"{mine:.0f} % of redraws" in answer(app)
