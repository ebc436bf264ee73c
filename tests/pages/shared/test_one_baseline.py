"""One model, one baseline: all pages and the decision record give the same changes of classes, groups and writers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.analysis.curves.baseline import CONTROL, DENSE
from engine.analysis.frontier.choice import choose
from engine.pruning.techniques import CONTROL as UNPRUNED
from engine.shipping.decision.decision_facts import RecordFacts, UseFacts, record_json
from engine.shipping.decision.decision_page import record_html
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.cache import points as load_points
from pages.shared.cache.between import Between
from pages.shared.cache.half_points import half_points
from pages.shared.frame import Frame
from pages.shared.names import BASELINE_LABELS, baseline_name
from pages.views.frontier import tables
from pages.views.frontier.chosen.record import Decided, record_facts
from pages.views.frontier.controls import Question
from tests.pages.conftest import OpenPage, unfold, words
from tests.support.studies import make_study

LEVEL = 4
BASELINES = (CONTROL, DENSE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A study whose finetuned and rewound networks are beside a control that trained as long and loses a little."""
    root = tmp_path_factory.mktemp("one-baseline")
    plan = {"levels": 5, "examples": 480, "writers": 24}
    make_study(root / "own", techniques=("global_unstructured",), treatments=("rewind", "finetune"), **plan)
    make_study(root / "own", techniques=(UNPRUNED,), treatments=("finetune",), **plan)
    st.cache_resource.clear()
    yield root


def by_hand(root: Path, baseline: str, treatment: str, level: int = LEVEL) -> dict[str, pd.Series]:
    """Change of accuracy of each class, series and writer: mean over seeds of what the study's predictions give."""
    each = by_hand_each(root, baseline, treatment, level)
    return {name: sum(change[name] for change in each) / len(each) for name in each[0]}


def by_hand_each(root: Path, baseline: str, treatment: str, level: int = LEVEL) -> list[dict[str, pd.Series]]:
    """The same of each seed."""
    study = Study(root / "own")
    table = study.examples("qmnist-writers")
    runs = {record.spec.technique: {} for record in map(study.run_record, study.runs())}
    for run in study.runs():
        spec = study.run_record(run).spec
        if spec.technique == UNPRUNED or spec.treatment == treatment:
            runs[spec.technique][spec.seed] = dict(zip(*study.prediction_matrix(run), strict=True))
    label, changes = table["label"].to_numpy(), []
    for seed, levels in runs["global_unstructured"].items():
        trained = baseline == CONTROL and treatment == "finetune"
        before = runs[UNPRUNED][seed][level] if trained else levels[0]
        changes.append((levels[level] == label).astype(float) - (before == label))
    names = ("label", "series", "writer")
    return [{name: pd.Series(change).groupby(table[name].to_numpy()).mean() for name in names} for change in changes]


def opened(open_page: OpenPage, root: Path, file: str, baseline: str, treatment: str, **address: str) -> AppTest:
    return open_page(
        file,
        "own",
        root,
        baseline=BASELINE_LABELS[baseline],
        treatment=treatment.capitalize(),
        level=formats.sparsity(1 - 0.6**LEVEL),
        **address,
    )


def shown_rows(app: AppTest, key: str) -> pd.DataFrame:
    """The table behind a chart."""
    before = len(app.dataframe)
    app = unfold(app, f"{key}-menu").toggle(key=f"{key}-table").set_value(True).run()
    assert len(app.dataframe) == before + 1
    return app.dataframe[0].value


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("treatment", ["finetune", "rewind"])
def test_all_pages_and_the_record_agree(root: Path, open_page: OpenPage, baseline: str, treatment: str) -> None:
    expected = by_hand(root, baseline, treatment)
    used = CONTROL if treatment == "finetune" and baseline == CONTROL else DENSE
    name = baseline_name(used)

    app = opened(open_page, root, "pages/class_curves.py", baseline, treatment)
    rows = shown_rows(app, "class-curves").query(f"level == {LEVEL}").set_index("class")
    np.testing.assert_allclose(rows["accuracy"] - rows["before"], expected["label"], atol=1e-9)
    assert set(rows["baseline"]) == {used} and name in words(app)

    app = opened(open_page, root, "pages/subgroups.py", baseline, treatment, groups="series")
    rows = shown_rows(app, "dense-compressed").query("grouping == 'series'").set_index("group")
    np.testing.assert_allclose(rows["before"] - rows["compressed"], expected["series"], atol=1e-9)
    np.testing.assert_allclose(-rows["change"], expected["series"], atol=1e-9)
    assert set(rows["baseline"]) == {used} and name in words(app)

    app = opened(open_page, root, "pages/writers.py", baseline, treatment, least="1")
    rows = shown_rows(app, "writers-before-after").set_index("writer").sort_index()
    np.testing.assert_allclose(rows["change"], expected["writer"], atol=1e-9)
    by_series = (rows["change"] * rows["n"]).groupby(rows["series"]).sum() / rows.groupby("series")["n"].sum()
    np.testing.assert_allclose(by_series, expected["series"], atol=1e-9)
    assert name in words(app)

    app = opened(open_page, root, "pages/harmed.py", baseline, treatment)
    rows = shown_rows(app, "percentiles").query("subset == 'all'").set_index("population")["accuracy"]
    change = float((expected["writer"] * 20).sum() / 480)
    assert rows["compressed"] - rows["baseline"] == pytest.approx(change) and name in words(app)

    made = record(root, baseline, treatment)
    document = json.loads(record_json(made))
    assert document["baseline"] == name
    groups = pd.DataFrame(document["groups"]).set_index("group").sort_index()
    classes = groups.query("grouping == 'class'").rename(index=int).sort_index()
    np.testing.assert_allclose(classes["change"], expected["label"], atol=1e-9)
    np.testing.assert_allclose(groups.query("grouping == 'series'")["change"], expected["series"], atol=1e-9)
    np.testing.assert_allclose(classes["after"] - classes["before"], expected["label"], atol=1e-9)
    assert f"Before: {name}." in record_html(made)
    assert f"baseline={BASELINE_LABELS[baseline].split()[0]}" in made.origin.link


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("treatment", ["finetune", "rewind"])
def test_red_flags_have_the_same_baseline(root: Path, open_page: OpenPage, baseline: str, treatment: str) -> None:
    app = opened(open_page, root, "app.py", baseline, treatment)
    assert ("compared with one that trained as long" in words(app)) == (baseline == CONTROL)
    source = load.source("own")
    experiment = load.experiments(source)[0]
    flags = load.flags(source, experiment, baseline).table
    flag = flags[(flags["treatment"] == treatment).to_numpy()].iloc[0]
    expected = by_hand(root, baseline, treatment, int(flag["level"]))
    assert flag["controlled"] == (treatment == "finetune" and baseline == CONTROL)
    assert flag["class_change"] == pytest.approx(expected["label"][int(flag["class"])])
    assert flag["group_change"] == pytest.approx(expected[flag["grouping"]][flag["group"]])


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("treatment", ["finetune", "rewind"])
def test_the_frontier_measures_changes_since_it(root: Path, open_page: OpenPage, baseline: str, treatment: str) -> None:
    opened(open_page, root, "pages/frontier.py", baseline, treatment)
    source = load.source("own")
    between = Between(source, load.experiments(source)[0], baseline=baseline)
    points = load_points.operating(between, baseline)
    row = points[((points["treatment"] == treatment) & (points["level"] == LEVEL)).to_numpy()].iloc[0]
    worst = [-change["label"].min() for change in by_hand_each(root, baseline, treatment)]
    assert row["largest_loss"] == pytest.approx(np.mean(worst))
    expected = by_hand(root, baseline, treatment)
    paying = load_points.payers(between, int(row["point"]), baseline).set_index("columns")
    for column, name in ((("class",), "label"), (("series",), "series")):
        payer = paying.loc[[column]].iloc[0]
        assert payer["change"] == pytest.approx(expected[name].min()) and payer["held"] == "together"
        assert payer["accuracy"] - payer["before"] == pytest.approx(payer["change"])
        assert payer["low"] < payer["accuracy"] < payer["high"]
    halves = half_points(between, "largest_loss")
    dense = half_points(replace(between, baseline=DENSE), "largest_loss")
    differs = not np.allclose(halves.unfairness[row["point"]], dense.unfairness[row["point"]])
    assert differs == (baseline == CONTROL and treatment == "finetune")


def record(root: Path, baseline: str, treatment: str) -> RecordFacts:
    """The decision record of the model, as the Frontier makes it."""
    source = load.source("own")
    experiment = load.experiments(source)[0]
    between = Between(source, experiment)
    points = load_points.operating(between, baseline)
    points = points[(points["treatment"] == treatment) & (points["level"] == LEVEL)].reset_index(drop=True)
    frame = Frame(source, "own", experiment, ("global_unstructured",), (treatment,), dark=False, baseline=baseline)
    choice = choose(points, 0.0, 1.0)
    asked = Question(between, points, points, "max_min", "weight", {"accuracy": 0.0}, 1.0, None, 0.1, 0.05, "kept")
    return record_facts(Decided(frame, asked, choice, ["said"], tables.link(frame, asked)), UseFacts())


def test_an_address_that_names_no_baseline_falls_back(root: Path, open_page: OpenPage) -> None:
    app = open_page("pages/class_curves.py", "own", root, baseline="the moon", treatment="Keep training")
    assert app.selectbox(key="baseline").value == BASELINE_LABELS[CONTROL]


def test_the_choice_goes_along_to_other_pages(root: Path, open_page: OpenPage) -> None:
    app = open_page("app.py", "own", root, baseline=BASELINE_LABELS[DENSE], treatments="Keep training")
    assert "trained as long" not in words(app)
    links = [link.proto.query_string for link in app.main.get("page_link")]
    assert links and all("baseline=Dense" in link for link in links)


def test_a_study_without_control_says_dense(study_root: Path, open_page: OpenPage) -> None:
    app = open_page("pages/subgroups.py", "planted", treatment="Keep training")
    assert baseline_name(DENSE) in words(app) and baseline_name(CONTROL) not in words(app)


@pytest.mark.parametrize("baseline", BASELINES)
def test_harmed_examples_stand_beside_a_set_that_trained_alike(root: Path, open_page: OpenPage, baseline: str) -> None:
    said = words(opened(open_page, root, "pages/harmed.py", baseline, "finetune"))
    assert ("dense and trained as long" in said) == (baseline == DENSE)
    assert "Between two " in said and "change without" in said
