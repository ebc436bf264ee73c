"""The Regression page: sentences true of the numbers, names of coefficients, charts, and studies that lack much."""

import dataclasses
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.analysis.regression.effects import Setting
from engine.analysis.regression.effects import effects as measured_effects
from engine.analysis.regression.population import LeftOut, Population, population
from engine.analysis.regression.population_regression import fitted_model, regression
from engine.analysis.regression.regression_table import regression_table
from engine.analysis.regression.result import Regression
from engine.analysis.regression.standard_errors import ERRORS, KINDS, estimates
from engine.analysis.regression.terms import PAPER, PLAIN, TERMS
from engine.commands import main
from engine.store.study import Study, examples_name
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.cache import models as load_models
from pages.shared.cache.catalog import Experiment
from pages.shared.names import network_name, technique_name
from pages.views.regression import charts, coefficients
from pages.views.regression import words as effects
from pages.views.regression.command import RegressionQuery, command
from tests.pages.conftest import NASTY, TOP, words
from tests.support.population_rows import Size, made_population
from tests.support.studies import make_study

FEW = {"writers": 0, "examples": 600, "levels": 5, "seeds": 3}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of studies: `many` has two data sets and two networks, the others lack much."""
    root = tmp_path_factory.mktemp("regressions")
    make_study(root / "many", **FEW)
    make_study(root / "many", **FEW, network="vgg11", treatments=("rewind",))
    twelve = tuple(f"thing {number}" for number in range(12))
    make_study(root / "many", **FEW, dataset="fashion-mnist", split="official", random=3, classes=twelve)
    (root / "empty" / "runs").mkdir(parents=True)
    small = FEW | {"seeds": 1, "levels": 3, "treatments": ("rewind",)}
    make_study(root / "one-run", **small, techniques=("global_unstructured",))
    make_study(root / "missing-class", **small, without_examples=(3,))
    make_study(root / "no-dense", **small, dense=False)
    make_study(
        root / "nasty", **small | {"treatments": (NASTY,)}, techniques=(NASTY, "global_unstructured"), network=NASTY
    )
    return root


@pytest.fixture
def open_page(many: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens the page on a study, with what an address says."""
    monkeypatch.chdir(TOP)
    st.cache_resource.clear()

    def opened(study: str, root: Path = many, **address: str) -> AppTest:
        monkeypatch.setenv("PRUNESCOPE_STUDIES", str(root))
        app = AppTest.from_file(str(TOP / "app.py"), default_timeout=60)
        app.query_params.update({"study": study, **address})
        app = app.switch_page("pages/regression.py").run()
        assert not app.exception, app.exception
        return app

    return opened


OpenPage = Callable[..., AppTest]


def gathered(study: Study) -> Population:
    return population(study.classes(), lambda run: study.class_facts(examples_name(study.run_record(run).spec)))


@pytest.fixture(scope="module")
def result(many: Path) -> Regression:
    return regression(gathered(Study(many / "many")))


def effect(result: Regression, key: str, errors: str = "hac") -> dict:
    return result.effects.query("key == @key and errors == @errors").iloc[0].to_dict()


# -- what it says -----------------------------------------------------------------------------------------------------


def test_the_answer_is_the_effect_of_imbalance_and_entropy(result: Regression) -> None:
    text = effects.effects_sentence(result)
    n_open = 0
    for key in ("imbalance", "entropy"):
        row = result.widest(key)
        more = "more" if row["estimate"] > 0 else "less"
        assert f"{100 * abs(row['estimate']):.1f} points {more} accuracy" in text
        kinds = result.effects[result.effects["key"] == key]
        assert row["high"] - row["low"] == (kinds["high"] - kinds["low"]).max()
        assert KINDS[row["errors"]].in_words in text
        n_open += row["low"] < 0 < row["high"]
    assert text.count("may be chance") == n_open


def test_the_widest_interval_is_in_the_headline_whatever_errors_are_chosen(result: Regression) -> None:
    rows = result.effects.copy()
    rows[["estimate", "low", "high"]] = (0.01, 0.005, 0.015)
    rows.loc[rows["errors"] == "class", ["low", "high"]] = (-0.02, 0.04)
    for errors in ("hac", "run"):
        text = effects.effects_sentence(replaced(result, effects=rows, errors=errors))
        assert text.count("± 3.0, by class, so it may be chance") == 2
    rows.loc[rows["errors"] == "wild", ["low", "high"]] = (-0.03, 0.09)
    text = effects.effects_sentence(replaced(result, effects=rows))
    assert text.count("95 %: -3.0 pt to +9.0 pt, bootstrap by class") == 2
    rows.loc[rows["errors"] == "wild", "high"] = np.inf
    assert effects.effects_sentence(replaced(result, effects=rows)).count("± unknown, bootstrap by class") == 2


def test_too_few_classes_are_not_identified(result: Regression) -> None:
    few = effects.answer_sentence(replaced(result, informing={"imbalance": 10, "entropy": 30}))
    assert few == ("**Which classes lose cannot be told from 10 classes**: at least 30 that differ in size are needed.")
    enough = replaced(result, informing={"imbalance": 30, "entropy": 31})
    assert effects.answer_sentence(enough) == f"**{effects.effects_sentence(enough)}**"


def test_the_class_that_moves_the_headline_most_is_named(result: Regression) -> None:
    rows = result.without_class[result.without_class["key"] == "imbalance"]
    text = effects.without_sentence(result)
    assert f"class {rows['class'].iloc[0]} moves imbalance most" in text
    assert f"{100 * rows['estimate'].iloc[0]:+.1f} pt" in text
    assert len(effects.without_table(result)) == len(result.without_class) == 2 * result.statistics.n_classes


@pytest.mark.parametrize(("estimate", "half", "expected"), [(0.02, 0.01, "2.0 points more"), (-0.02, 0.03, "chance")])
def test_an_open_effect_is_called_open(result: Regression, estimate: float, half: float, expected: str) -> None:
    rows = result.effects.assign(estimate=estimate, low=estimate - half, high=estimate + half)
    text = effects.effects_sentence(replaced(result, effects=rows))
    assert expected in text and ("chance" in text) == (half > abs(estimate))


def replaced(result: Regression, **values: object) -> Regression:
    return Regression(**(vars(result) | values))


def test_the_paper_stands_beside_with_its_direction(result: Regression) -> None:
    rows = result.effects.copy()
    rows.loc[rows["key"] == "imbalance", ["estimate", "low", "high"]] = (0.01, 0.005, 0.015)
    rows.loc[rows["key"] == "entropy", ["end", "estimate", "low", "high"]] = (1.0, -0.01, -0.015, -0.005)
    text = effects.detail_sentences(replaced(result, effects=rows))
    assert "1.2 points more for imbalance and 2.4 points less for entropy" in text and "the same directions" in text
    rows.loc[rows["key"] == "entropy", ["estimate", "low", "high"]] = (0.01, 0.005, 0.015)
    assert "the opposite direction for entropy" in effects.detail_sentences(replaced(result, effects=rows))


def test_what_the_paper_found_follows_from_its_coefficients() -> None:
    """The words for effects that are no single number, from the published coefficients without noise."""
    made, truth = made_population(Size(n_seeds=1, most_classes=8))
    model = fitted_model(made)
    table = made.table.assign(accuracy=model.fit.design.times(truth))
    exact = fitted_model(Population(table))
    with_hac = {"hac": estimates(exact.fit, "hac")}
    rows = measured_effects(Setting(exact.fit, exact.layout, table), with_hac).set_index("key")
    assert rows.loc["accuracy0", "estimate"] > 0 > rows.loc["sparsity", "estimate"]
    assert (rows.loc["treatment", "begin"], rows.loc["treatment", "end"]) == ("rewind", "finetune")
    for key, name in (("technique", technique_name), ("network", network_name)):
        most, least = (name(rows.loc[key, end]) for end in ("end", "begin"))
        assert effects.PAPER_FOUND[key].lower() == f"{most} keeps most, {least} least".lower()


def test_every_effect_has_a_sentence_with_its_number(result: Regression) -> None:
    table = effects.effect_table(result)
    assert len(table) == result.effects["key"].nunique() == 7
    for sentence, row in zip(table.iloc[:, 0], result.effects.query("errors == 'hac'").to_dict("records"), strict=True):
        assert f"{100 * abs(row['estimate']):.1f} points" in sentence
    sparsity = next(text for text in table.iloc[:, 0] if "sparsity" in text)
    assert "falls" in sparsity and effect(result, "sparsity")["estimate"] < 0


def test_what_is_left_out_is_said_once(many: Path) -> None:
    study = Study(many / "many")
    made = gathered(study)
    table = made.table[made.table["dataset"] == "fashion-mnist"].reset_index(drop=True)
    sentences = coefficients.left_out_sentences(regression(Population(table.assign(imbalance=0.0))))
    assert sentences == [
        "Not in the fit: data set (all rows have the same data set), network (all rows have the same network), "
        "imbalance (it is 0 in all rows), and with that exp(sparsity) × data set."
    ]


def test_columns_that_repeat_others_are_said_together(many: Path) -> None:
    table = gathered(Study(many / "many")).table
    gone = table[~((table["treatment"] == "rewind") & (table["technique"] == "random_unstructured"))]
    sentences = coefficients.left_out_sentences(regression(Population(gone.reset_index(drop=True))))
    assert sentences == ["Not in the fit: Restart × Layer random: it is 0 in all rows."]
    three = (LeftOut("a", "it is 0 in all rows", term="treatment:technique"),) * 3
    several = coefficients.left_out_sentences(replaced(regression(Population(table)), left_out=three))
    assert several == [
        "Not in the fit: 3 columns of treatment × technique that repeat others, such as a: it is 0 in all rows."
    ]


@pytest.mark.parametrize(
    ("column", "term", "expected"),
    [
        ("imbalance", "imbalance", "imbalance"),
        ("technique[T.l1_structured]", "technique", "Channels by L1"),
        ("np.exp(sparsity):dataset[T.kmnist]", "np.exp(sparsity):dataset", "exp(sparsity) × Kuzushiji-MNIST"),
        ("treatment[T.rewind]:technique[T.a]:b]", "treatment:technique", "Restart × a]:b"),
        ("I(x ** 2)", "I(x ** 2)", "I(x ** 2)"),
    ],
)
def test_columns_have_names_for_people(column: str, term: str, expected: str) -> None:
    assert coefficients.column_label(column, term) == expected


def test_the_command_prints_the_same_table(many: Path, result: Regression, capsys: pytest.CaptureFixture[str]) -> None:
    experiment = Experiment("qmnist", "writers", "lenet", "iterative", load_protocol(many))
    asked = RegressionQuery(experiment, "protocol", (), "paper", PAPER, "linear", "hac")
    words = shlex.split(command(str(many / "many"), asked))
    assert words[:4] == ["python", "-m", "engine", "regression"]
    assert main(words[3:]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("technique[")]
    assert printed == [line for line in regression_table(result).splitlines() if line.startswith("technique[")]
    own = command("x", RegressionQuery(experiment, "experiment", ("rewind",), "own", PLAIN[:2], "logit", "run"))
    assert "--without rewind" in own and "--terms dataset,network" in own and "--link logit --errors run" in own


def load_protocol(many: Path) -> str:
    return str(Study(many / "many").classes()["protocol"].iloc[0])


# -- charts -----------------------------------------------------------------------------------------------------------


def test_coefficients_stand_under_their_headings(result: Regression) -> None:
    counts = coefficients.groups_of(result)
    assert sum(counts.values()) == result.statistics.n_columns - 1 and list(counts)[0] == "Class"
    table, second = (coefficients.coefficient_table(result, kind, list(counts), True) for kind in ("hac", "run"))
    figure = charts.coefficient_chart(table, second, charts.Look("HAC", "By run", "accuracy", dark=False))
    ticks = list(figure.layout.yaxis.ticktext)
    assert len(ticks) == len(table) + len(counts)
    assert ticks[:3] == ["<b>Class</b>", "imbalance", "entropy"]
    row = result.with_errors("hac").set_index("column").loc["imbalance"]
    dots = next(trace for trace in figure.data if trace.name == "coefficient")
    assert dots.x[0] == pytest.approx(row["coefficient"] * row["spread"])
    assert dots.marker.symbol[0] == ("circle" if row["low"] * row["high"] > 0 else "circle-open")


def test_the_papers_coefficients_are_drawn_only_where_they_compare(result: Regression) -> None:
    fitted, compared = (
        coefficients.coefficient_table(result, "hac", coefficients.GROUPS, scale) for scale in (False, True)
    )
    assert fitted.set_index("column").loc["imbalance", "published"] == TERMS["imbalance"].published
    assert compared["published"].isna().all()


def test_spread_is_the_standard_deviation_of_the_column(many: Path, result: Regression) -> None:
    model = fitted_model(gathered(Study(many / "many")))
    expected = np.asarray(model.fit.design).std(axis=0)
    np.testing.assert_allclose(result.with_errors("hac")["spread"], expected, rtol=1e-9, atol=1e-12)


def test_a_chart_takes_as_many_groups_as_it_has_room_for() -> None:
    assert coefficients.first_groups({"Class": 2, "Sparsity": 3, "Technique": 40}) == ["Class", "Sparsity"]
    assert coefficients.first_groups({"Technique": 40}) == ["Technique"]


def test_residual_charts_show_every_row(result: Regression) -> None:
    bars = charts.residual_histogram(result.residuals, dark=True).data[0]
    assert sum(bars.y) == result.statistics.n_rows
    heat = charts.fitted_chart(result.residuals, dark=False).data[0]
    np.testing.assert_allclose(np.nansum(np.array(heat.z, float), axis=0)[np.nansum(heat.z, axis=0) > 0], 1)
    assert np.array(charts.residual_chart(result.residuals, dark=False).data[0].customdata).sum() == sum(bars.y)


# -- the page ---------------------------------------------------------------------------------------------------------


def test_page_says_what_the_engine_found(open_page: OpenPage, result: Regression) -> None:
    app = open_page("many")
    text = words(app)
    assert all(say(result) in text for say in (effects.answer_sentence, effects.effects_sentence))
    assert effects.detail_sentences(result) in text
    assert len(app.main.get("plotly_chart")) == 4
    assert any(block.value == regression_table(result) for block in app.main.code)
    assert [metric.value for metric in app.metric][:2] == [
        formats.count(result.statistics.n_rows),
        formats.count(result.statistics.n_runs),
    ]


def test_controls_change_the_fit(open_page: OpenPage) -> None:
    app = open_page("many", fit="Logit", errors="By run", model="My own")
    assert not app.exception
    assert any("Fractional logit (GLM) regression" in block.value for block in app.main.code)
    assert any("--link logit --errors run" in block.value for block in app.main.code)
    app.multiselect(key="terms").set_value(["exp(sparsity) × entropy"]).run()
    assert not app.exception and "Entropy" not in words(app).split("not in the model")[0][-20:]
    assert any("np.exp(sparsity):entropy" in block.value for block in app.main.code)
    assert "Imbalance is not in the model: it was not asked for" in words(app)


def test_collapsed_networks_can_be_left_out(open_page: OpenPage, many: Path) -> None:
    study = Study(many / "many")
    rows = study.classes()
    rows.loc[rows["level"] == rows["level"].max(), "correct"] = 0
    made = population(
        rows, lambda run: study.class_facts(examples_name(study.run_record(run).spec)), without_collapsed=True
    )
    assert made.table["level"].max() < rows["level"].max()
    assert [out.reason for out in made.left_out] == ["the network has collapsed"]
    app = open_page("many")
    app.toggle(key="collapsed").set_value(False).run()
    assert not app.exception and any("--without-collapsed" in block.value for block in app.main.code)


def test_switched_off_treatments_stay_out(open_page: OpenPage) -> None:
    app = open_page("many", treatments="Restart")
    assert "treatment (all rows have the same treatment)" in words(app).replace("\\", "")


@pytest.mark.parametrize("study", ["empty", "one-run", "missing-class", "no-dense", "nasty"])
def test_page_stays_whole(open_page: OpenPage, study: str) -> None:
    app = open_page(study)
    assert not app.error and words(app)
    if study == "no-dense":
        assert "Nothing can be fitted" in words(app) and "nothing to fit" in words(app)


def test_names_from_files_stay_text(open_page: OpenPage) -> None:
    app = open_page("nasty")
    text = words(app) + "".join(str(value) for table in app.table for value in table.value.to_numpy().ravel())
    assert "img src" in text and not re.search(r"(?<!\\)<img", text)


def test_page_shows_the_shipped_study(open_page: OpenPage, demo_root: Path) -> None:
    app = open_page("demo", demo_root)
    source = load.source("demo")
    experiment = load.experiments(source)[0]
    result = load_models.fitted(source, (experiment, "protocol", (), True), PAPER, "linear", "hac")
    assert effects.answer_sentence(result) in words(app)
    assert set(result.coefficients["errors"]) == set(ERRORS) and isinstance(result.effects, pd.DataFrame)


def test_few_rows_give_no_headline(result: Regression) -> None:
    few = replaced(result, statistics=dataclasses.replace(result.statistics, n_rows=24))
    text = effects.answer_sentence(few)
    assert "Too few rows" in text and "24 rows" in text and "points" not in text
    assert not effects.few_rows_sentence(result.statistics)
