"""The Recall distortion page: its sentence against facts built by hand, its controls, and studies that lack much."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from streamlit.testing.v1 import AppTest

from engine.analysis.distortion.alpha import alphas
from engine.analysis.distortion.paper_findings import findings
from engine.analysis.distortion.series_controls import series_beside_controls
from engine.analysis.distortion.verdicts import at_ratios, cells, helpful_ranges
from engine.pruning.techniques import CONTROL
from engine.store import catalog
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.cache.catalog import Experiment
from pages.views.distortion import charts, tables
from pages.views.distortion import words as distortion
from pages.views.distortion.alpha_map import alpha_map
from pages.views.distortion.series import Series
from tests.pages.conftest import NASTY, OpenPage, words
from tests.support.studies import make_study

PAGE = "pages/distortion.py"
EXPERIMENT = Experiment("qmnist", "", "lenet", "oneshot", "at once")
LOOK = {"MP": charts.Look("MP", "#0072B2", "circle"), "RP": charts.Look("RP", "#999999", "diamond")}
SERIES = {
    name: Series(name, EXPERIMENT, (name, "finetune", "none"), name, look.colour, look.symbol)
    for name, look in LOOK.items()
}


def intervals(page: AppTest) -> pd.DataFrame:
    """The page's table of intervals and verdicts."""
    found: pd.DataFrame = next(table.value for table in page.dataframe if "Verdict" in table.value)
    return found


def models_of(n_seeds: int = 4, **levels: list[tuple[float, float, float]]) -> pd.DataFrame:
    """Models with (sparsity, change of accuracy, alpha) per level of each series."""
    rows = [
        {"run": f"{name}{seed}", "series": name, "seed": seed, "level": level, "sparsity": sparsity, "reason": ""}
        | {"accuracy": 0.9 + change, "dense_accuracy": 0.9, "spread": 0.9, "collapsed": False}
        | {"alpha": alpha + 0.01 * (seed - (n_seeds - 1) / 2)}
        for name, found in levels.items()
        for seed in range(n_seeds)
        for level, (sparsity, change, alpha) in enumerate(found, 1)
    ]
    return at_ratios(pd.DataFrame(rows))


MADE = models_of(
    MP=[(0.5, 0.01, 0.9), (0.75, 0.004, 0.95), (0.9, -0.02, 1.3)],
    RP=[(0.5, -0.1, 0.2), (0.75, -0.3, -0.5), (0.9, -0.8, 30.0)],
)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with two data sets and two networks."""
    root = tmp_path_factory.mktemp("studies")
    few = {"writers": 0, "examples": 300, "levels": 5, "split": ""}
    make_study(root / "demo", **few, dataset="qmnist", seeds=4)
    make_study(root / "demo", **few, dataset="fashion-mnist", seeds=3, treatments=("rewind",))
    make_study(root / "demo", **few, dataset="qmnist", network="alexnet", seeds=3, treatments=("rewind",))
    return root


def test_sentence_says_where_the_range_ends_and_why() -> None:
    ranges = helpful_ranges(cells(MADE))
    said = distortion.range_sentence(ranges, SERIES)
    assert "**Up to 75.0 % sparsity neither accuracy nor the gaps between classes get worse**" in said
    assert "; beyond that accuracy falls and the gaps widen (LeNet on QMNIST, MP, average of 4 training runs)." in said
    details = distortion.detail_sentences(ranges, 0.99)
    assert "At ratio 4: accuracy +0.4 pt ± 0.0, alpha 0.95 ± 0.038, evens out." in details
    assert "At ratio 10: accuracy -2.0 pt ± 0.0, alpha 1.3 ± 0.038, intensifies." in details
    assert (
        "Average of 4 training runs; at all of the 2 ratios from 2 to 4 both 99 % intervals lie on the good side."
        in details
    )
    assert "At no ratio: RP." in details


def test_sentence_of_a_range_that_never_ends_and_of_none() -> None:
    endless = helpful_ranges(cells(models_of(MP=[(0.5, 0.01, 0.9), (0.75, 0.01, 0.9)])))
    assert "the furthest that was tried" in distortion.range_sentence(endless, SERIES)
    none = helpful_ranges(cells(models_of(MP=[(0.5, -0.01, 0.9)], RP=[(0.5, 0.01, 1.2)])))
    assert "None of the 2 has a level that keeps the accuracy" in distortion.range_sentence(none, SERIES)
    tied = helpful_ranges(cells(models_of(MP=[(0.5, 0.01, 0.9)], RP=[(0.5, 0.01, 0.8)])))
    assert "As far: MP." in distortion.detail_sentences(tied, 0.99)


def test_sentence_owns_up_to_doubt() -> None:
    wide = models_of(MP=[(0.5, 0.01, 0.99), (0.9, -0.2, 2.0)])
    said = distortion.range_sentence(helpful_ranges(cells(wide)), SERIES)
    assert "average of 4 training runs; chance may explain it)." in said
    one = models_of(1, MP=[(0.5, 0.01, 0.9)])
    assert "judged by one training run; chance may explain it)." in distortion.range_sentence(
        helpful_ranges(cells(one)), SERIES
    )


def test_gaps_that_moved_are_not_called_closed() -> None:
    wide = models_of(MP=[(0.5, 0.01, 0.2), (0.9, -0.2, 2.0)]).assign(spread=1.4)
    assert "1.4 times as wide" in distortion.detail_sentences(helpful_ranges(cells(wide)), 0.99)


def test_a_gain_by_longer_training_is_said(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(studies))
    source = load.source("demo")
    experiment = load.experiments(source)[0]
    one = replace(SERIES["MP"], experiment=experiment, variant=("global_unstructured", "finetune", "none"))
    gains = models_of(MP=[(0.5, 0.01, 0.9)])
    said = distortion.range_training(helpful_ranges(cells(gains))[0], one, gains, source)
    assert "gains 1.0 points on the dense network, but trained for 2 epochs in all, that one for 1" in said
    assert not distortion.range_training(helpful_ranges(cells(MADE))[0], one, MADE, source), "0.4 points are little"
    loses = models_of(MP=[(0.5, -0.01, 0.9)])
    assert not distortion.range_training(helpful_ranges(cells(loses))[0], one, loses, source)


def test_ranges_are_beside_controls_where_there_are_any() -> None:
    """Against dense MP helps up to ratio 10; beside controls that gain as much by training alone, to ratio 2."""
    models = models_of(MP=[(0.5, 0.03, 0.8), (0.75, 0.02, 0.9), (0.9, 0.01, 0.95)], RP=[(0.5, -0.1, 0.9)])
    mine = models["series"] == "MP"
    controls = models[mine].assign(accuracy=0.929, alpha=models[mine]["alpha"] + [0.05, -0.1, -0.1] * 4)
    beside, controlled = series_beside_controls(models, {"MP": controls})
    assert controlled == {"MP"}
    ranges = helpful_ranges(cells(beside))
    said, details = distortion.range_sentence(ranges, SERIES, {"MP"}), distortion.detail_sentences(ranges, 0.99, {"MP"})
    assert "Up to 50.0 % sparsity" in said and "beside a network that trained" in said
    assert "At ratio 2: accuracy +0.1 pt ± 0.0, alpha -0.05 ± 0, evens out." in details
    assert "At ratio 4: accuracy -0.9 pt ± 0.0, alpha +0.10 ± 0, intensifies." in details
    told = distortion.controlled_sentence({"MP"}, helpful_ranges(cells(models)), SERIES)
    assert "the others are compared with the dense" in told and "MP would seem to help up to ratio 10" in told
    assert "would seem" not in distortion.controlled_sentence({"RP"}, helpful_ranges(cells(models)), SERIES)


def test_alpha_stands_beside_the_controls(tmp_path: Path, open_page: OpenPage) -> None:
    few = {"writers": 0, "examples": 300, "levels": 5, "split": "", "seeds": 4}
    study = make_study(tmp_path / "own", **few, techniques=("random_unstructured",))
    without = intervals(open_page(PAGE, "own", tmp_path))
    make_study(tmp_path / "own", **few, techniques=(CONTROL,), treatments=("finetune",))
    page = open_page(PAGE, "own", tmp_path)
    table = intervals(page)
    assert "Control" not in without and not page.exception
    rewound = table.iloc[:, 0].str.contains("restart")
    assert table[rewound]["Control"].isna().all() and table[~rewound]["Control"].notna().all()
    theirs = alphas(catalog.refresh(study).control_classes).pivot(index="seed", columns="level", values="alpha")
    mine = alphas(study.classes().query("treatment == 'finetune'")).pivot(index="seed", columns="level", values="alpha")
    change = mine - theirs
    assert "compared with networks that trained as long and lost no weight; the others" in words(page)
    rows = table[~rewound].sort_values("Ratio")
    assert np.allclose(rows["Control"], theirs.mean()[1:]) and np.allclose(rows["Against it"], change.mean()[1:])
    half = stats.t.ppf(0.995, 3) * change.std()[1:] / 2
    assert np.allclose(rows["Against ±"], half)
    said = np.where(change.mean()[1:] - half > 0, ">", np.where(change.mean()[1:] + half < 0, "<", "?"))
    assert rows["Verdict against it"].str[0].tolist() == said.tolist()


def test_cautions_name_few_seeds_collapse_missing_alpha_and_chance() -> None:
    models = MADE.assign(collapsed=MADE["ratio"] > 9)
    models.loc[models.index[0], ["alpha", "reason"]] = [np.nan, "no gap"]
    said = " ".join(distortion.cautions(cells(models), models, pd.DataFrame({"chance": [0.5, 0.001]})))
    assert "Some cells have only 3 training runs" in said
    assert "8 of 24 models put every example into one class" in said
    assert "1 models have no alpha: no gap." in said
    assert "In 1 of 2 runs" in said


def test_cautions_say_which_means_are_of_the_runs_that_went_so_far() -> None:
    dense = pd.DataFrame({"level": 0, "sparsity": 0.0, "series": ["MP"] * 4 + ["RP"] * 4, "seed": [*range(4)] * 2})
    alphas = MADE.drop(columns=["ratio", "n_started"])
    stopped = alphas[(alphas["series"] == "MP") | (alphas["seed"] < 3) & (alphas["sparsity"] < 0.8)]
    models = at_ratios(pd.concat([dense, stopped]))
    said = distortion.cautions(cells(models), models, pd.DataFrame({"chance": []}))
    assert "Of 4 runs with RP, 3 have ratio 2, 3 have ratio 4: means there are of those alone." in said
    assert not any("MP" in text for text in said)


def test_usual_ratios_are_those_nearest_to_the_papers_that_most_series_have() -> None:
    fine = [(1 - 0.8**level, 0.0, 1.0) for level in range(1, 21)]
    table = cells(models_of(1, MP=fine, RP=[fine[place] for place in (3, 9, 12)]))
    assert [round(ratio, 1) for ratio in tables.default_ratios(table)] == [2.4, 3.8, 9.3, 18.2, 55.5]
    assert tables.default_ratios(cells(MADE)) == pytest.approx([2, 4, 10])


def test_ratios_have_names_that_tell_them_apart() -> None:
    assert list(tables.ratio_names([50.0, 2.0, 9.3132]).values()) == ["2", "9.31", "50"]
    assert list(tables.ratio_names([2.0001, 2.0002]).values()) == ["2.0001", "2.0002"]


def test_boxes_show_every_seed_and_a_mark_per_cell() -> None:
    figure = charts.alpha_boxes(MADE, cells(MADE), LOOK, near=True, dark=False)
    boxes = [trace for trace in figure.data if trace.type == "box"]
    assert [len(box.y) for box in boxes] == [12, 12]
    marks = [trace.text for trace in figure.data if trace.type == "scatter" and trace.mode == "text"]
    assert [text.count("&lt;") for text in marks[0]] == [1, 1, 0] and "&gt;" in marks[0][2]
    assert "↑" in marks[1][2], "alpha of 30 is out of sight and says so"
    assert figure.layout.yaxis.range[1] < 4
    assert charts.alpha_boxes(MADE, cells(MADE), LOOK, near=False, dark=True).layout.yaxis.range[1] > 30


@pytest.mark.parametrize("dark", [True, False])
def test_the_map_colours_only_what_is_decided(dark: bool) -> None:
    table = cells(MADE)
    [shown] = alpha_map(table, LOOK, dark).data
    assert list(shown.y) == [look.name for look in LOOK.values()] and len(shown.x) == table["ratio"].nunique()
    for row, (series, depths) in enumerate(zip(LOOK, shown.z, strict=True)):
        mine = table[table["series"] == series].sort_values("ratio")
        for column, (depth, verdict, alpha) in enumerate(zip(depths, mine["verdict"], mine["alpha"], strict=True)):
            assert np.sign(depth) == {"intensifies": 1, "evens out": -1, "undecided": 0}[verdict]
            assert formats.number(alpha, 2) in shown.text[row][column]
    assert "&lt;" in shown.text[0][0]


@pytest.mark.parametrize("near", [True, False])
def test_dense_accuracy_and_alpha_one_lie_on_one_line(near: bool) -> None:
    table = cells(MADE)
    for found in helpful_ranges(table):
        rows = table[table["series"] == found.series]
        figure = charts.accuracy_beside_alpha(rows, found, LOOK[found.series], near, dark=False)
        left, right = figure.layout.yaxis.range, figure.layout.yaxis2.range
        assert sum(left) / 2 == pytest.approx(0.9) and sum(right) / 2 == pytest.approx(1)
        assert 0.9 in figure.layout.yaxis.tickvals and 1 in figure.layout.yaxis2.tickvals
        accuracy, alpha = figure.data
        assert (accuracy.x[0], accuracy.y[0], alpha.y[0]) == (1, 0.9, 1)
        shaded = [shape for shape in figure.layout.shapes if shape.type == "rect"]
        assert len(shaded) == bool(found.cells)
        assert any(shape.type == "line" and shape.y0 == 0.9 for shape in figure.layout.shapes)


def test_page_answers_first_and_shows_all_its_parts(studies: Path, open_page: OpenPage) -> None:
    page = open_page(PAGE, "demo", studies)
    said = words(page)
    assert "neither accuracy nor the gaps" in said or "has a level" in said
    folded = " ".join(part.label for part in page.main.expander)
    assert "Accuracy beside alpha" in said and " cases" in said
    assert all(name in folded for name in ("Intervals and verdicts", "Classes before and after", "more than chance"))
    assert len(page.get("plotly_chart")) == 3
    of_paper = page.table[0].value
    listed, ratios, techniques = (frame.value for frame in page.dataframe)
    assert set(listed["Verdict"].str[2:]) <= {"intensifies", "evens out", "undecided"}
    assert (listed["Seeds"] == 4).all() and len(listed) == 4 * 5
    names = (
        "Global magnitude, restart",
        "Global magnitude, keep training",
        "Layer random, restart",
        "Layer random, keep training",
    )
    assert tuple(ratios) == names and len(ratios) == 4 and len(techniques) == 6
    assert "paired by seed" in said and "Little pruning evens out" in said
    assert (of_paper[list(distortion.SAID_HERE.values())].sum(axis=1) == of_paper["cases"]).all()


@pytest.mark.parametrize(
    ("compare", "names"), [("Networks", {"LeNet", "AlexNet"}), ("Data sets", {"QMNIST", "Fashion-MNIST"})]
)
def test_networks_and_data_sets_come_from_the_whole_study(
    studies: Path, open_page: OpenPage, compare: str, names: set[str]
) -> None:
    page = open_page(PAGE, "demo", studies, compare=compare, dataset="QMNIST", network="LeNet")
    assert set(intervals(page).iloc[:, 0]) == names
    assert "independent (Welch)" in words(page)


def test_every_control_runs_and_stands_in_the_address(studies: Path, open_page: OpenPage) -> None:
    page = open_page(PAGE, "demo", studies, base="F-score", scale="all", confidence="95 %", ratios=["1.67", "4.63"])
    assert set(intervals(page)["Ratio"].round(2)) == {1.67, 4.63}
    assert "95 % interval" in words(page)
    shown = next(box for box in page.selectbox if box.label == "Shown")
    shown.set_value(shown.options[-1]).run()
    assert not page.exception


def test_another_study_keeps_the_page_whole(open_page: OpenPage) -> None:
    page = open_page(PAGE, "planted", ratios=["1.67"])
    next(box for box in page.selectbox if box.label == "Study").set_value("tiny").run()
    assert not page.exception and "only 1 training run" in words(page)


def test_study_without_dense_levels_says_so(open_page: OpenPage) -> None:
    page = open_page(PAGE, "no-dense")
    assert "Nothing to compare with dense" in words(page) and not page.get("plotly_chart")


def test_one_seed_decides_nothing(open_page: OpenPage) -> None:
    page = open_page(PAGE, "missing-class")
    assert "only 1 training run" in words(page) and "No test can be made" in words(page)
    assert set(intervals(page)["Verdict"]) == {"? undecided"}


def test_names_from_files_stay_text(open_page: OpenPage) -> None:
    page = open_page(PAGE, "nasty")
    assert formats.plain(NASTY) in words(page) and NASTY not in words(page)
    for chart in page.get("plotly_chart"):
        assert "<img" not in chart.proto.spec and "&lt;img" in chart.proto.spec


def test_alpha_is_a_measure_of_the_frontier(open_page: OpenPage) -> None:
    page = open_page("pages/frontier.py", "planted", measure="Intensification")
    assert next(box for box in page.selectbox if box.label == "Unfairness").value == "intensification"


def test_finding_of_the_paper_is_told_as_it_is() -> None:
    of_paper = findings(MADE.assign(technique=MADE["series"]))
    table = distortion.findings_table(of_paper).assign(key=[one.key for one in of_paper]).set_index("key")
    assert list(table.loc["high", ["so it is here", "the opposite", "cannot tell", "cases"]]) == [2, 0, 0, 2]
    assert list(table.loc["growth", ["so it is here", "the opposite", "cannot tell", "cases"]]) == [3, 1, 0, 4]
    found = {one.key: distortion.finding_sentence(one) for one in of_paper}
    assert "MP (4) +0.05 ± 0.00, (10) +0.35" in found["growth"]
    assert "Alpha by ratio: MP (2) 0.90 ± 0.04; RP (2) 0.20 ± 0.04." in found["low"]


def test_the_heading_counts_what_is_decided() -> None:
    counts = cells(MADE)["verdict"].value_counts()
    said = distortion.map_heading(cells(MADE))
    assert (
        said
        == f"Gaps between classes surely grow in {counts['intensifies']} of 6 cases and shrink in {counts['evens out']}"
    )
    assert "In none of 6 cases" in distortion.map_heading(cells(MADE).assign(verdict="undecided"))
