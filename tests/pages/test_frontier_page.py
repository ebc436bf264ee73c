"""Frontier: the page on made-up studies says what the engine's analyses say, and stays whole on bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.analysis.frontier.choice import Choice, choices_by_measure, choose
from engine.analysis.frontier.points import operating_points, seed_points
from engine.analysis.frontier.stability import agreement
from engine.analysis.frontier.weight_ranges import change_over_weights
from engine.analysis.unfairness import unfairness_table
from engine.store.study import Study
from pages.shared import formats
from pages.shared.charts import contrast
from pages.shared.names import point_hovers, technique_name
from pages.views.frontier import charts, side_charts, space_chart
from pages.views.frontier.words import MOST_WORDS
from tests.pages.conftest import unfold
from tests.support.studies import make_study

TOP = Path(__file__).resolve().parents[2]
NASTY = "<img src=x onerror=alert(1)>*b*[l](http://x.invalid)"
SMALL: dict[str, Any] = {"levels": 3, "examples": 200}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of made-up studies, to be read only."""
    root = tmp_path_factory.mktemp("studies")
    make_study(root / "planted", levels=8)
    make_study(root / "one-run", seeds=1, techniques=("gradient",), treatments=("rewind",), **SMALL)
    make_study(root / "one-seed", seeds=1, **SMALL)
    make_study(root / "one-level", seeds=1, techniques=("gradient",), treatments=("rewind",), levels=0, examples=100)
    make_study(root / "absent-class", seeds=2, without_examples=(4,), **SMALL)
    make_study(root / "one-class", seeds=2, without_examples=range(1, 10), **SMALL)
    make_study(root / "no-dense", seeds=2, dense=False, **SMALL)
    make_study(root / "no-losses", seeds=2, losses=False, **SMALL)
    nasty: dict[str, Any] = {"classes": [f"{NASTY}{n}" for n in range(4)], "groups": {NASTY: (f"{NASTY}a", NASTY)}}
    nasty |= {"techniques": (f"{NASTY}1", f"{NASTY}2"), "treatments": (NASTY, "rewind"), "mitigation": NASTY}
    make_study(root / "nasty", **nasty, title=NASTY, network=NASTY, dataset="own", split="", seeds=2, **SMALL)
    (root / "empty" / "runs").mkdir(parents=True)
    return root


@pytest.fixture
def page(studies: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens the page on a study with what an address says."""
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(studies))
    st.cache_resource.clear()

    def open_page(study: str, **query: str | list[str]) -> AppTest:
        app = AppTest.from_file(str(TOP / "app.py"), default_timeout=60)
        app.query_params.update({"study": study, **query})
        app.switch_page("pages/frontier.py").run()
        assert not app.exception, app.exception
        return app

    return open_page


OPENINGS = ("**Clear: ", "**Close call: ", "**Toss-up: ", "**Ship", "**No ", "**Nothing", "**This")


def sentence(app: AppTest) -> str:
    """The page's answer."""
    said = [str(part.value) for part in (*app.markdown, *app.info)]
    return next(text for text in said if text.startswith(OPENINGS))


def tables(studies: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Operating points of a study and the models behind them, by the engine alone."""
    study = Study(studies / name)
    unfairness = unfairness_table(study.classes())
    return operating_points(study.levels(), unfairness), seed_points(study.levels(), unfairness)


def shown(app: AppTest, place: int) -> pd.DataFrame:
    """One of the page's tables: the frontier, how sure the choice is, the measures."""
    heads = ("wins at weights", "told from the best", "measure")
    return next(table.value for table in app.dataframe if heads[place] in table.value)


# -- facts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "weight"), [(90.0, "1"), (90.0, "10"), (75.0, "0.01"), (96.0, "1000")])
def test_page_shows_the_engines_choice(page: Any, studies: Path, threshold: float, weight: str) -> None:
    points, seeds = tables(studies, "planted")
    choice = choose(points, threshold / 100, float(weight))
    app = page("planted", threshold=str(threshold), weight=weight)
    assert app.number_input(key="threshold").value == threshold and app.select_slider(key="weight").value == weight
    chosen = points.iloc[choice.chosen]
    said = sentence(app)
    assert formats.percent(chosen["accuracy"]) in said and formats.unfairness(chosen["max_min"], "max_min") in said
    assert "the dense network" in said if chosen["level"] == 0 else formats.sparsity(chosen["sparsity"]) in said
    trust = agreement(points, seeds, choice)
    assert said.startswith(f"**{trust.verdict.word.capitalize()}: ")
    assert f"{100 * trust.verdict.share:.0f} % of redraws" in said
    assert len(said.split()) <= MOST_WORDS and said.endswith(".") and ". " not in said
    assert ("another more often" in said) == (trust.verdict.rival_share > trust.verdict.share)
    wins = shown(app, 1)
    assert wins["wins"].sum() == pytest.approx(100)
    front, places = shown(app, 0), points[choice.frontier]
    assert len(front) == (places["level"] > 0).sum() + 1, "the dense network stands there once"
    assert list(front[""]).count("★") == 1 and front["resamples"].notna().all()
    assert front["value"].iloc[0] == pytest.approx(choice.values[choice.chosen])
    by_measure = choices_by_measure(points, threshold / 100, float(weight))
    assert list(shown(app, 2)["sparsity"]) == [formats.sparsity(value) for value in by_measure["sparsity"]]


def test_moving_a_slider_changes_the_choice(page: Any) -> None:
    app = page("planted", threshold="80")
    sparse = sentence(app)
    app.select_slider(key="weight").set_value("100").run()
    assert "the dense network" in sentence(app) != sparse
    app.select_slider(key="weight").set_value("0.01").run()
    app.slider(key="threshold-slide").set_value(95.0).run()
    assert not app.exception and "the dense network" not in sentence(app).split(":")[0]
    assert app.number_input(key="threshold").value == 95.0, "the field follows the slider"
    app.number_input(key="threshold").set_value(93.3).run()
    assert app.slider(key="threshold-slide").value == 93.3, "the slider follows the field"


def test_measure_and_second_stakeholder_follow_the_address(page: Any, studies: Path) -> None:
    app = page("planted", measure="Worst class error", two="true", weight="0.01", weight2="1000", threshold="70")
    points, _ = tables(studies, "planted")
    mine, theirs = (choose(points, 0.7, weight, "worst_class") for weight in (0.01, 1000.0))
    assert mine.chosen != theirs.chosen
    said = [str(part.value) for part in app.markdown]
    assert any("second weight, 1,000, would ship" in text for text in said)
    assert formats.unfairness(points["worst_class"].iloc[mine.chosen], "worst_class") in sentence(app)


def test_filters_leave_points_out(page: Any) -> None:
    app = page("planted", techniques=["Layer random"], treatments=["Keep training"], threshold="60", weight="0.01")
    assert "Layer random with continued training" in sentence(app)
    app.multiselect(key="techniques").set_value(["Global magnitude"]).run()
    assert not app.exception and "Global magnitude with continued training" in sentence(app)
    app.multiselect(key="techniques").set_value([]).run()
    assert not app.exception and "Nothing is switched on" in app.info[0].value


def test_threshold_that_filters_push_out_of_range_stays_whole(page: Any) -> None:
    app = page("planted", techniques=["Layer random"], threshold="63")
    assert app.slider(key="threshold-slide").min <= 68
    app.multiselect(key="techniques").set_value(["Global magnitude"]).run()
    assert not app.exception
    bar = app.slider(key="threshold-slide")
    assert bar.min <= bar.value <= bar.max and bar.value == app.number_input(key="threshold").value == 63


def test_threshold_above_all_says_what_to_do(page: Any) -> None:
    app = page("planted")
    app.slider(key="threshold-slide").set_value(app.slider(key="threshold-slide").max).run()
    assert not app.exception and "No network" not in sentence(app), "the best still reaches it"
    app.number_input(key="threshold").set_value(100.0).run()
    assert not app.exception and "No network reaches" in sentence(app) and "lower the threshold" in sentence(app)


def test_third_dimension_is_drawn_on_demand(page: Any) -> None:
    app = page("planted")
    app.toggle(key="space").set_value(True).run()
    assert not app.exception


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", ["one-run", "one-seed", "one-level"])
def test_one_seed_is_said(page: Any, study: str) -> None:
    app = page(study)
    assert any("Averages of 1 training run." in str(part.value) for part in app.caption) and "redrawn" not in sentence(
        app
    )
    assert "one training run cannot say how sure" in sentence(app)
    assert any("trained only once" in str(part.value) for part in app.caption)
    assert shown(app, 0)["resamples"].isna().all()


def test_class_without_examples_is_said(page: Any, studies: Path) -> None:
    app = page("absent-class", weight="0.01")
    points, _ = tables(studies, "absent-class")
    chosen = points.iloc[choose(points, app.number_input(key="threshold").value / 100, 0.01).chosen]
    assert formats.unfairness(chosen["max_min"], "max_min") in sentence(app)
    unfold(app, "chosen-classes-menu").toggle(key="chosen-classes-table").set_value(True).run()
    row = next(t.value for t in app.dataframe if "name" in t.value).set_index("name").loc["4"]
    assert row["n"] == 0 and np.isnan(row["accuracy"])


def test_measure_that_cannot_be_estimated_is_left_out_with_its_reason(page: Any) -> None:
    app = page("no-losses", measure="Excessive loss gap")
    assert "Excessive loss gap" not in app.selectbox(key="measure").options
    measures = next(table.value for table in app.dataframe if "measure" in table.value)
    said = "None by Excessive loss gap: no point that reaches"
    assert "Excessive loss gap" not in list(measures["measure"]) and "Worst class error" in list(measures["measure"])
    assert any(said in caption.value.replace("\\", "") for caption in app.caption)


def test_study_without_any_measure_says_why(page: Any) -> None:
    app = page("one-class")
    said = sentence(app)
    assert "Worst class error" in app.selectbox(key="measure").options and said


def test_study_without_dense_level_still_chooses(page: Any) -> None:
    app = page("no-dense", weight="0.01", threshold="60")
    assert "sparsity" in sentence(app) and "Gap of changes" not in app.selectbox(key="measure").options


@pytest.mark.parametrize(
    "link",
    [
        {"weight": "abc", "threshold": "1e9", "techniques": "<script>alert(1)</script>", "study": "../../etc"},
        {"weight": "", "threshold": "", "measure": "", "axis": "", "two": "maybe", "space": ""},
        {"weight": "-1", "threshold": "nan", "measure": "max_min", "axis": "log", "weight2": "NaN", "two": "true"},
        {"weight": ["1", "2"], "threshold": "-5", "dataset": "x", "network": "y", "protocol": "z", "unknown": "w"},
        {"techniques": [f"x{n}" for n in range(300)]},
    ],
    ids=["script", "empty", "numbers", "unknown", "many"],
)
def test_nonsense_in_the_address_leaves_the_page_whole(page: Any, link: dict[str, Any]) -> None:
    app = page(**{"study": "planted"} | link)
    assert sentence(app)
    bar = app.slider(key="threshold-slide")
    assert bar.min <= bar.value <= bar.max


def test_names_with_html_stay_text(page: Any) -> None:
    app = page("nasty", weight="0.01", threshold="60")
    for part in (*app.markdown, *app.caption, *app.info):
        assert NASTY not in str(part.value), "a name reaches markdown as it is"
    assert formats.plain(NASTY) in sentence(app)
    assert any(NASTY in str(name) for name in app.multiselect(key="techniques").options)


# -- charts -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def facts(studies: Path) -> tuple[pd.DataFrame, Choice]:
    points, _ = tables(studies, "nasty")
    return points, choose(points, 0.6, 1.0)


def texts_of(figure: go.Figure) -> list[str]:
    """All words that a figure may draw or show on hover."""
    content = json.loads(figure.to_json())
    content["layout"].pop("template", None)

    def walk(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for part in value.values() for text in walk(part)]
        return [text for part in value for text in walk(part)] if isinstance(value, list) else [str(value)]

    return walk(content)


def test_classes_are_set_against_the_control_where_there_is_one() -> None:
    classes = pd.DataFrame({"name": ["a", "b"], "dense": [0.5, 0.6], "accuracy": [0.8, 0.7], "n": 10})
    classes = classes.assign(low=np.nan, high=np.nan)
    drawing = side_charts.group_chart(classes, False).to_dict()
    plain = drawing["data"]
    assert [trace.get("name") for trace in plain] == [None, "Dense", "Chosen"]
    assert list(plain[1]["y"]) == ["a (10)", "b (10)"]
    beside = drawing["layout"]["annotations"]
    assert [(note["y"], note["text"]) for note in beside] == [("a (10)", "+30.0 pt"), ("b (10)", "+10.0 pt")]
    assert all(note["x"] > 1 for note in beside), "right of the chart, on nothing"
    found = side_charts.group_chart(classes.assign(control=[0.9, 0.7]), False).data
    assert found[1]["name"] == "Unpruned" and list(found[1]["x"]) == [0.7, 0.9]
    assert list(found[1]["y"]) == ["b (10)", "a (10)"], "the largest loss is on top"


def test_charts_escape_names(facts: tuple[pd.DataFrame, Choice]) -> None:
    points, choice = facts
    worst = pd.DataFrame({"point": points["point"], "name": NASTY, "accuracy": 0.5})
    texts = point_hovers(points, "max_min", worst)
    wins = change_over_weights(points, choice, side_charts.WEIGHTS)
    classes = pd.DataFrame({"name": [NASTY, "b"], "dense": [0.9, 0.8], "accuracy": [0.8, np.nan], "n": [10, 0]})
    classes = classes.assign(low=[0.7, np.nan], high=[0.9, np.nan])
    figures = [
        charts.frontier_chart(points, choice, texts, False, "linear"),
        side_charts.group_chart(classes, True),
        side_charts.weight_strip(wins, points, [1.0, 10.0], False),
        space_chart.space_chart(points, choice, texts, True),
    ]
    for figure in figures:
        assert not any("<img" in text for text in texts_of(figure))
        assert any("&lt;img" in text for text in texts_of(figure))


def test_hover_says_what_a_person_would_ask(studies: Path) -> None:
    points, _ = tables(studies, "planted")
    worst = pd.DataFrame({"point": points["point"], "name": "nine", "accuracy": 0.25})
    text = point_hovers(points, "max_min", worst)[-1]
    row = points.iloc[-1]
    for part in (technique_name(str(row["technique"])), formats.sparsity(row["sparsity"]), "nine: 25.0 %"):
        assert part in text
    assert f"level {row['level']}" in text and "3 training runs" in text and formats.percent(row["accuracy"]) in text


def drawn(points: pd.DataFrame, choice: Choice, scale: str = "kept", **beside: Any) -> go.Figure:
    """The first chart without hover texts."""
    return charts.frontier_chart(points, choice, [""] * len(points), False, scale, charts.Extras(**beside))


def test_chart_marks_the_choice_and_its_runner_up(studies: Path) -> None:
    points, _ = tables(studies, "planted")
    choice = choose(points, 0.8, 1.0)
    figure = drawn(points, choice, second=choose(points, 0.8, 100.0))
    named = {trace.name: trace for trace in figure.data}
    chosen = named["Chosen"]
    assert chosen.x[0] == pytest.approx(1 - points["sparsity"].iloc[choice.chosen])
    assert named["Runner-up"].y[0] == pytest.approx(points["max_min"].iloc[choice.runner_up])
    assert "Second weight" in named and chosen.error_y.array[0] > 0, "whiskers"
    of = {name: sum(len(trace.x) for trace in figure.data if trace.name == name) for name in named}
    assert of["Frontier"] == choice.frontier.sum()
    assert of["Frontier"] + of["Beaten on both counts"] == choice.survivors.sum()
    assert sum(of[name] for name in ("Frontier", "Beaten on both counts", "Breaks a floor")) <= len(points)


@pytest.mark.parametrize("measure", ["max_min", "largest_loss", "intensification"])
def test_axes_hold_still_and_never_leave_what_there_is(studies: Path, measure: str) -> None:
    points, _ = tables(studies, "planted")
    figures = [drawn(points, choose(points, at, w, measure)) for at in (0.9, 0.93, 0.97) for w in (0.1, 30.0)]
    assert len({str(figure.layout.xaxis.range) + str(figure.layout.yaxis.range) for figure in figures}) == 1
    low, high = figures[0].layout.yaxis.range
    for trace in figures[0].data:
        y = np.array([v for v in trace.y if v is not None], float)
        assert (y >= low - 1e-9).all() and (y <= high + 1e-9).all(), trace.name
    assert measure != "max_min" or (low == 0 and high <= 1)


def test_legend_has_five_entries_at_most_and_labels_name_techniques(studies: Path) -> None:
    points, _ = tables(studies, "planted")
    choice = choose(points, 0.8, 1.0)
    for beside in ({}, {"second": choose(points, 0.8, 100.0)}, {"tested": points}):
        figure = drawn(points, choice, **beside)
        shown = {trace.name for trace in figure.data if trace.showlegend is not False}
        assert len(shown) <= 5 and {"Chosen", "Runner-up", "Frontier"} <= shown
    labels = " ".join(str(note.text) for note in figure.layout.annotations)
    assert technique_name(str(points["technique"].iloc[choice.chosen])) in labels


@pytest.mark.parametrize("dark", [False, True])
def test_faint_points_stand_out_three_to_one(studies: Path, dark: bool) -> None:
    points, _ = tables(studies, "planted")
    figure = charts.frontier_chart(points, choose(points, 0.9, 1.0), [""] * len(points), dark, "kept")
    colours = [trace.marker.color for trace in figure.data if trace.mode == "markers"]
    assert len(colours) > 4
    for colour in colours:
        assert contrast.contrast(colour, contrast.GROUNDS[dark]) >= 3, colour


def test_one_point_is_drawn_within_its_axes(studies: Path) -> None:
    points, _ = tables(studies, "one-level")
    figure = drawn(points, choose(points, 0.0, 1.0), "linear")
    assert figure.layout.xaxis.range[0] == 0 and 0 < figure.layout.xaxis.range[1] <= 1
    assert figure.layout.yaxis.range[0] == 0 and 0 < figure.layout.yaxis.range[1] <= 1


def test_strip_fills_the_weights(studies: Path) -> None:
    points, _ = tables(studies, "planted")
    wins = change_over_weights(points, choose(points, 0.7, 1.0), side_charts.WEIGHTS)
    bars = side_charts.weight_strip(wins, points, [1.0], False).data[0]
    stretches = sorted(set(zip(bars.base, bars.x, strict=True)))
    assert sum(length for _, length in stretches) == pytest.approx(5.0) and stretches[0][0] == pytest.approx(-2.0)
    assert len(bars.x) == (wins["high"] > wins["low"]).sum()


def test_equal_value_runs_through_the_choice(studies: Path) -> None:
    points, _ = tables(studies, "planted")
    choice = choose(points, 0.7, 2.0)
    figure = drawn(points, choice, "linear")
    line = next(trace for trace in figure.data if trace.name == "Equal value")
    worth = np.asarray(line.x) - choice.weight * np.asarray(line.y)
    np.testing.assert_allclose(worth, choice.values[choice.chosen])
