"""Writers: the page on made-up studies with a planted effect, its charts, its words, its pictures."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from engine.analysis.members.accuracy import MemberFacts, member_accuracy, member_facts
from engine.analysis.members.lines import FULL
from engine.analysis.members.permutation import NO_CHANGE, Permuted, permuted, strata
from engine.analysis.members.slopes import WITHIN, SlopeChange, slope_change
from engine.analysis.members.splines import Curve, curve_band, curved_change
from engine.commands import main
from engine.datasets.dataset import ImageSet
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.names import group_name
from pages.shared.pickers import level_labels
from pages.views.writers import charts
from pages.views.writers import tiles as digits
from pages.views.writers import words as writers
from pages.views.writers.among import sparsest_within
from pages.views.writers.among_harmed import harmed_sentence, most_harmed
from pages.views.writers.chance import chance_sentence, count_sentence, losing_by_chance, worst_by_chance
from pages.views.writers.kept import NOT_KEPT
from tests.pages.conftest import OpenPage
from tests.pages.conftest import words as words_of
from tests.support.dashboard.hovering import hovered
from tests.support.studies import make_study

SERIES = {group_name("series", code): code for code in ("hsf0", "hsf4")}

TOP = Path(__file__).resolve().parents[2]
NASTY = "<img src=x onerror=alert(1)>*b*"


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of made-up studies, to be read only."""
    root = tmp_path_factory.mktemp("studies")
    common: dict[str, Any] = {"techniques": ("global_unstructured",), "treatments": ("rewind",), "levels": 3}
    make_study(root / "planted", **common | {"levels": 6}, writers=40, examples=1600)
    make_study(root / "nobody", **common, writers=0, seeds=1, groups={}, examples=200)
    make_study(root / "alone", **common, writers=20, seeds=1, groups={}, examples=200)
    make_study(root / "no-dense", **common, writers=20, seeds=1, dense=False, examples=200)
    make_study(root / "level-zero", **common | {"levels": 0}, writers=20, seeds=1, examples=200)
    names = {"classes": (f"{NASTY}0", f"{NASTY}1"), "groups": {f"{NASTY}s": (f"{NASTY}a", f"{NASTY}b")}}
    make_study(root / "nasty", **common, **names, writers=12, seeds=1, examples=120, dataset="own", split="")
    return root


@pytest.fixture
def page(studies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens the page on a study with what an address says."""
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(studies))
    monkeypatch.setenv("PRUNESCOPE_DATA", str(tmp_path))

    def open_page(study: str, **query: str) -> AppTest:
        app = AppTest.from_file(str(TOP / "app.py"), default_timeout=30)
        app.query_params.update({"study": study, **query})
        app.switch_page("pages/writers.py").run()
        assert not app.exception, app.exception
        return app

    return open_page


def text(app: AppTest) -> str:
    """All words of a page's body."""
    parts = [*app.markdown, *app.info, *app.caption, *app.warning, *app.error]
    return "\n".join(str(part.value) for part in parts)


def planted(studies: Path, level: int = 6) -> pd.DataFrame:
    """The members of the planted study, by hand."""
    study = Study(studies / "planted")
    said = [study.prediction_matrix(run)[1] for run in study.runs()]
    before, after = (np.stack([matrix[at] for matrix in said]) for at in (0, level))
    return member_accuracy(study.examples("qmnist-writers"), before, after, "writer")


# -- the page ---------------------------------------------------------------------------------------------------------


def test_answer_states_what_the_engine_finds(page: Any, studies: Path) -> None:
    table = planted(studies)
    facts, said = member_facts(table), text(page("planted"))
    assert f"{facts.n_losing} of 40 writers lose at least 5 points more than the average writer**; chance" in said
    assert (
        f"the average writer goes from {100 * facts.mean_before:.1f} %" in said and "average of 3 training runs" in said
    )
    assert f"writer {facts.worst}" in said and f"from {100 * (facts.worst_before or 0):.1f} %" in said
    for group, change in slope_change(table, "abs_tilt", "series").set_index("group").iterrows():
        shown = f"{abs(10 * change['slope_change']):.1f} "
        name = formats.plain(group_name("series", str(group)))
        assert group in (FULL, WITHIN) or f"{name} {shown}" in said or f"{name} -{shown}" in said
    assert "hsf0" in said and "hsf4" in said and "partly chance" in said and "A line is not a cause" in said


def test_page_says_whether_writers_differ_by_chance(page: Any, studies: Path) -> None:
    study, said = Study(studies / "planted"), text(page("planted"))
    examples = study.examples("qmnist-writers")
    label = examples["label"].to_numpy()
    right = np.mean([study.prediction_matrix(run)[1] == label for run in study.runs()], axis=0)
    found = permuted(right[6] - right[0], pd.factorize(examples["writer"])[0], strata(label, examples["series"]))
    assert f"chance would give {losing_by_chance(found)}." in said
    assert f"By chance alone {losing_by_chance(found)} writers would lose that much" in said
    assert ("differ more than by chance" in said) == (found.p < 0.05) and worst_by_chance(found) in said
    assert "digits of one class and series change hands" in said
    fewer = text(page("planted", series="hsf4"))
    assert "would lose that much" in fewer and worst_by_chance(found) not in fewer


def test_some_members_alone_lose_what_they_do_by_hand(page: Any, studies: Path) -> None:
    table = planted(studies).sort_values("change")
    chosen = table.head(5)
    app = page("planted", among=[str(name) for name in chosen["writer"]])
    losses = [100 * (of["n"] * (of["before"] - of["after"])).sum() / of["n"].sum() for of in (chosen, table)]
    assert f"**These 5 writers lose {losses[0]:.1f} pt, all writers together {losses[1]:.1f} pt.**" in text(app)
    assert any("for them" in frame.value for frame in app.dataframe)
    assert "all writers together" not in text(page("planted")) and "all writers together" not in text(
        page("planted", among="nobody")
    )


def test_page_shows_the_examples_of_chosen_members_that_turn_wrong(page: Any, studies: Path) -> None:
    study, chosen = Study(studies / "planted"), planted(studies).sort_values("change")["writer"].head(5)
    examples = study.examples("qmnist-writers")
    said = np.stack([study.prediction_matrix(run)[1] for run in study.runs()])
    n_lost = 0
    for writer in chosen:
        where = np.flatnonzero((examples["writer"] == writer).to_numpy())
        theirs = digits.member_digits(examples["label"].to_numpy()[where], said[:, 0, where], said[:, 6, where], {})
        n_lost += int((theirs["kind"] == "lost").sum())
    app = page("planted", among=[str(name) for name in chosen])
    n = int(examples["writer"].isin(chosen).sum())
    assert n_lost and f"**{n_lost} of their {n} digits turn wrong** (" in text(app)
    assert any("said after" in frame.value for frame in app.dataframe), "no images here, so a table"


def test_what_most_runs_lose_comes_first_and_rates_stand_beside_everybodys() -> None:
    every = pd.DataFrame(
        {
            "kind": ["lost", "lost", "right", "gained", "lost", "right"],
            "right_before": [1.0, 1.0, 1.0, 0.0, 0.8, 1.0],
            "right_after": [0.4, 0.0, 1.0, 1.0, 0.0, 1.0],
        }
    )
    mine = np.array([True, True, True, True, False, False])
    assert most_harmed(every, mine).index.tolist() == [1, 0]
    said = harmed_sentence(every, mine, writers.Words("writer", "writers", "digits"))
    assert said == "**2 of their 4 digits turn wrong** (50.0 %; of everybody's 50.0 %), 1 turn right."


def test_the_sparsest_level_within_a_point_comes_before_any_that_loses_more() -> None:
    rows = {"level": [1, 2, 3, 4], "sparsity": [0.2, 0.4, 0.6, 0.8], "some": [0.0, 0.01, 0.02, 0.0], "all": [0.1] * 4}
    assert sparsest_within(pd.DataFrame(rows), "some") == 0.4
    assert np.isnan(sparsest_within(pd.DataFrame(rows), "all"))


def test_the_answer_stands_alone_and_the_rest_is_folded(page: Any) -> None:
    app = page("planted")
    folded = "\n".join(str(part.value) for fold in app.expander for part in fold.markdown)
    assert any(fold.label == "How sure is this?" for fold in app.expander)
    assert "By chance alone" in folded and "slant" in folded and "more than the average writer" not in folded


def test_page_shows_the_kept_mixed_logit_where_there_is_one(page: Any, studies: Path) -> None:
    assert NOT_KEPT in text(page("alone"))
    assert main(["analyse", "--study", str(studies / "planted")]) == 0
    said = text(page("planted"))
    assert "of 40 writers surely lose more than the average writer**" in said and "more slant costs another" in said
    assert NOT_KEPT in text(page("planted", level="78.4 %"))
    for file in (studies / "planted" / "analyses").glob("*.json"):
        file.write_bytes(file.read_bytes().replace(b"n_members", b"n_membres"))
    assert "damaged" in text(page("planted"))


def test_controls_follow_the_address(page: Any, studies: Path) -> None:
    app = page("planted", level="78.4 %", seed="seed 1", attribute="distance", colour="entropy", member="2003")
    assert app.select_slider(key="level").value == 3 and app.selectbox(key="seed").value == "seed 1"
    assert app.selectbox(key="attribute").value == "distance" and app.selectbox(key="colour").value == "entropy"
    said = text(app)
    assert (
        "78.4 % sparsity" in said and "seed 1 alone" in said and "One training run only" in said and "distance" in said
    )
    row = planted(studies).set_index("writer").loc[2003]
    assert app.selectbox(key="member").value == "2003" and f"{int(row['n'])} digits, " in said


def test_nonsense_in_the_address_is_left_out(page: Any) -> None:
    nonsense = dict.fromkeys(("level", "seed", "attribute", "colour", "member", "series", "least", "technique"), "<b>")
    app = page("planted", **nonsense)
    assert app.select_slider(key="level").value == 6 and app.selectbox(key="member").value is None


def test_filters_leave_members_out(page: Any) -> None:
    app = page("planted", series="hsf4")
    assert "of 20 writers" in text(app) and "20 writers are left out" in text(app)
    app.slider(key="least").set_value(40).run()
    assert "of 20 writers" in text(app)
    app.select_slider(key="level").set_value(1).run()
    assert not app.exception and "40.0 % sparsity" in text(app)


def test_page_without_members_says_so(page: Any) -> None:
    app = page("nobody")
    assert "does not say who made its examples" in text(app) and "at least 10 members" in text(app)


def test_members_without_series_have_one_line(page: Any) -> None:
    said = text(page("alone"))
    assert "of 20 writers" in said and "apart:" not in said and "One training run only" in said


@pytest.mark.parametrize(
    ("study", "words"), [("no-dense", "dense network of these runs is missing"), ("level-zero", "no pruned level")]
)
def test_page_says_what_is_missing(page: Any, study: str, words: str) -> None:
    assert words in text(page(study))


def test_without_images_the_page_names_the_command_and_shows_a_table(page: Any) -> None:
    app = page("planted")
    assert "`python -m engine data get qmnist` brings them" in text(app)
    columns = {"true class", "said before", "said after", "outcome", "runs right after"}
    [shown] = [table.value for table in app.dataframe if columns <= set(table.value)]
    assert len(shown) == 40


def test_with_images_the_wrong_digits_are_framed(page: Any, studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = Study(studies / "planted").examples("qmnist-writers")["label"].to_numpy()
    images = np.random.default_rng(0).integers(0, 256, (len(labels), 1, 28, 28)).astype(np.uint8)
    side = ImageSet(images, labels, pd.DataFrame(index=range(len(labels))))
    monkeypatch.setattr(load, "test_images", lambda *_: side)
    said = text(page("planted"))
    assert "Thick orange frame" in said and "not on this machine" not in said
    monkeypatch.setattr(load, "test_images", lambda *_: ImageSet(images, labels[::-1], side.groups))
    assert "not those that were tested" in text(page("planted"))


def test_names_with_markup_stay_text(page: Any) -> None:
    app = page("nasty")
    said = text(app)
    assert "<img" not in said.replace("\\<img", "") and "came as predictions only" in said
    specs = "".join(element.proto.spec for element in app.get("plotly_chart"))
    assert "&lt;img" in specs.replace("\\u0026", "&") and "<img" not in specs.replace("\\u003c", "<")


def test_page_opens_the_shipped_study(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (TOP / "data" / "demo" / "runs").is_dir() or not any((TOP / "data" / "demo" / "runs").iterdir()):
        pytest.skip("the shipped study has no runs yet")
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(TOP / "data"))
    said = text(page("demo", dataset="QMNIST (writers)"))
    assert "of 269 writers lose at least 5 points more than the average writer" in said


# -- words ------------------------------------------------------------------------------------------------------------


WRITERS = writers.member_words("writer", "qmnist")
FACTS = MemberFacts(40, 0.05, 9, 0.95, 0.9, "7", 50, 0.9, 0.72)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Permuted(500, 3, 7, -0.11, -0.05, 1.9, 1 / 501), "losses vary 1.9 times as much between writers as chance"),
        (Permuted(500, 3, 7, -0.11, -0.05, 1.9, 1 / 501), "Writers differ more than by chance**"),
        (Permuted(500, 3, 7, -0.11, -0.05, 1.9, 1 / 501), "explains (p < 0.01)"),
        (
            Permuted(500, 3, 7, -0.11, -0.05, 1.0, 0.4),
            "Writers may differ by chance alone** (p = 0.40). By chance alone",
        ),
        (Permuted(500, 0, 0, -0.11, -0.05, 1.0, 0.4), "By chance alone 0 writers would lose that much"),
        (Permuted(500, 3, 7, -0.11, -0.05, 1.0, 0.4), "the worst would lose 5.0 to 11.0 points, not 18.0."),
        (
            Permuted(500, 3, 7, -0.11, -0.05, 1.0, 0.4),
            "500 times, digits of one class and series change hands at random",
        ),
        (Permuted(0, reason=NO_CHANGE), f"cannot be said: {NO_CHANGE}."),
    ],
)
def test_chance_sentence(made: Permuted, expected: str) -> None:
    assert expected in chance_sentence(made, FACTS, WRITERS, "series")


def test_count_stands_beside_chance() -> None:
    told = count_sentence(FACTS, Permuted(500, 3, 7, -0.11, -0.05, 1.9, 0.01), WRITERS)
    assert told == "**9 of 40 writers lose at least 5 points more than the average writer**; chance would give 3 to 7."
    assert count_sentence(FACTS, Permuted(0, reason=NO_CHANGE), WRITERS).endswith("average writer**.")
    assert "No writer can be compared" in count_sentence(MemberFacts(0, 0.05, 0, reason="x"), Permuted(0), WRITERS)


def test_levels_that_look_alike_get_their_number() -> None:
    levels = pd.DataFrame({"level": [0, 1, 2, 2, 3], "sparsity": [0, 0.2, 0.5, 0.5, 0.5], "accuracy": 0.9})
    assert level_labels(levels) == {1: "20.0 %", 2: "50.0 % (level 2)", 3: "50.0 % (level 3)"}


def test_cautions_name_what_weakens_the_answer() -> None:
    mean, alone = writers.NetworkLabel("x", 0.5, 3, None), writers.NetworkLabel("x", 0.5, 1, 2)
    assert writers.cautions(mean, 0, "", "") == []
    said = " ".join(writers.cautions(alone, 2, "48.8 %", "It trained longer."))
    for words in (
        "no longer works",
        "48.8 % or below",
        "It trained longer.",
        "One training run only",
        "2 more training runs",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("change", "low", "high", "told"),
    [
        (-0.06, -0.09, -0.02, "**More slant goes with more loss**: each extra 0.1 of slant costs another 0.6 points"),
        (-0.06, -0.09, -0.02, "0.6 points after pruning (0.2 to 0.9)."),
        (0.06, 0.02, 0.09, "**More slant goes with less loss**: each extra 0.1 of slant saves 0.6 points"),
        (-0.01, -0.04, 0.02, "is open**: each extra 0.1 of slant changes the loss by -0.2 to +0.4 points."),
    ],
)
def test_verdict_follows_the_interval(change: float, low: float, high: float, told: str) -> None:
    row = SlopeChange("full", 40, slope_change=change, low=low, high=high)
    assert told in writers.slope_sentence([row], "abs_tilt", 0.1, "")


@pytest.mark.parametrize(
    ("inside", "low", "told"), [(-0.4, -0.6, False), (0.4, 0.3, True), (-0.1, -0.25, True), (0.1, -0.5, False)]
)
def test_line_over_all_that_misleads_is_told(inside: float, low: float, told: bool) -> None:
    def change(group: str, by: float, low: float) -> SlopeChange:
        numbers = {"slope_before": by / 4, "slope_after": by, "slope_change": by, "low": low, "high": 2 * by - low}
        return SlopeChange(group, 40, **numbers)

    rows = [*(change(group, inside, low) for group in ("hsf0", "hsf4", WITHIN)), change(FULL, -0.3, -0.4)]
    said = writers.slope_sentence(rows, "abs_tilt", 0.1, "series")
    assert (
        said.count("hsf") == 2
        and f"(hsf0) {-10 * inside:.1f} (" in formats.unmarked(said)
        and "within one series" in said
    )
    assert ("Do not pool the series: they differ in both slant and loss (Simpson's paradox)." in said) == told
    assert list(writers.table_one(pd.DataFrame(map(vars, rows)))) == ["", "hsf0", "hsf4", "all, within", "all"]


@pytest.mark.parametrize(
    ("p", "told"),
    [
        (0.0004, "is no straight line** (p < 0.001): follow the curve"),
        (0.4, "fits no better than a straight line (p = "),
    ],
)
def test_bend_is_told_by_its_test(p: float, told: str) -> None:
    assert told in writers.curve_sentence(Curve(40, p, p), "activation")
    assert "cannot be told: x." in writers.curve_sentence(Curve(2, reason="x"), "activation")


def test_curve_is_drawn_over_the_lines(studies: Path) -> None:
    table = planted(studies)
    fit = curved_change(table, "abs_tilt", "series")
    drawn = curve_band(fit, charts.attribute_grid(table, look()))
    figure = charts.change_against(table, look(), charts.series_colours(table, "series", dark=False), drawn)
    curve = next(trace for trace in figure.data if trace.name == "curve over all")
    assert list(curve.y) == pytest.approx(list(100 * drawn["y"])) and not fit.reason


def test_unknown_slope_is_told_with_its_reason() -> None:
    table = pd.DataFrame({"abs_tilt": [0.1, 0.2], "before": [1.0, 0.9], "after": [0.9, 0.8]})
    changes = slope_change(table, "abs_tilt")
    rows = [SlopeChange(*row) for row in changes.itertuples(index=False)]
    assert "cannot be told: fewer than three points" in writers.slope_sentence(rows, "abs_tilt", 0.1, "")
    shown = writers.table_one(changes)["all"].tolist()
    assert shown[0] == "2" and shown[1] == "—" and shown[-2] == "fewer than three points" and shown[-1] == "—"


def test_paper_table_has_what_the_paper_printed() -> None:
    table = writers.paper_table()
    assert table["hsf4"].tolist() == ["0.974", "-0.084", "0.771", "-0.295"]
    assert table["all"].tolist() == ["0.973", "0.006", "0.784", "-0.138"]


# -- charts -----------------------------------------------------------------------------------------------------------


def look(**changed: Any) -> charts.Look:
    usual: dict[str, Any] = {
        "member": "writer",
        "word": "writer",
        "members": "writers",
        "examples": "digits",
        "series": "series",
        "colour": "series",
        "attribute": "abs_tilt",
        "attribute_label": "slant",
        "colour_label": "series",
        "chosen": "2003",
        "small": 30,
        "dark": False,
    }
    return charts.Look(**usual | changed)


def test_scatter_shows_every_member_once_and_the_chosen_one_as_a_star(studies: Path) -> None:
    table = planted(studies)
    palette = charts.series_colours(table, "series", dark=False)
    figure = charts.before_after(table, look(), palette)
    clouds = [trace for trace in figure.data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in clouds[:-1]) == 40 and [row[0] for row in clouds[-1].customdata] == ["2003"]
    assert clouds[-1].marker.symbol[0] == "star" or clouds[-1].marker.symbol == "star"
    assert figure.layout.xaxis.range == figure.layout.yaxis.range and figure.layout.yaxis.scaleanchor == "x"
    same = figure.data[0]
    assert list(same.x) == list(same.y) and same.name == "no change"


def test_lines_and_bands_are_the_engines(studies: Path) -> None:
    table = planted(studies)
    figure = charts.change_against(table, look(), charts.series_colours(table, "series", dark=True))
    drawn = {trace.name: trace for trace in figure.data if trace.mode == "lines" and trace.name in SERIES}
    expected = slope_change(table, "abs_tilt", "series").set_index("group")["slope_change"]
    for name, trace in drawn.items():
        assert (trace.y[-1] - trace.y[0]) / (trace.x[-1] - trace.x[0]) == pytest.approx(100 * expected[SERIES[name]])
    assert set(drawn) == set(SERIES) and sum(trace.fill == "toself" for trace in figure.data) == 2


def test_histogram_counts_every_member(studies: Path) -> None:
    table = planted(studies)
    figure = charts.attribute_histogram(table, look(), charts.series_colours(table, "series", dark=False))
    assert sum(sum(trace.y) for trace in figure.data) == 40 and len({tuple(trace.x) for trace in figure.data}) == 1


def test_colour_by_attribute_tells_series_apart_by_dash(studies: Path) -> None:
    table = planted(studies)
    palette = charts.series_colours(table, "series", dark=False)
    figure = charts.before_after(table, look(colour="entropy", colour_label="entropy"), palette)
    assert {trace.line.dash for trace in figure.data if trace.name in SERIES} >= {"solid", "dash"}
    assert any(trace.marker.colorbar.title.text == "entropy" for trace in figure.data if trace.mode == "markers")


def test_small_members_are_hollow_and_said_to_be_few(studies: Path) -> None:
    table = planted(studies)
    palette = charts.series_colours(table, "series", dark=False)
    cloud = next(t for t in charts.before_after(table, look(small=41), palette).data if t.mode == "markers")
    assert set(cloud.marker.symbol) == {"circle-open"} and "(few)" in hovered(cloud, 0)


def test_colours_of_series_differ_and_stand_out_on_dark(studies: Path) -> None:
    table = pd.DataFrame({"series": [f"s{i}" for i in range(9)]})
    for dark in (False, True):
        assert len(set(charts.series_colours(table, "series", dark).values())) == 9
    assert charts.series_colours(table, None, dark=True) == {}


# -- pictures ---------------------------------------------------------------------------------------------------------


def test_digits_are_told_apart_by_what_became_of_them() -> None:
    labels = np.array([0, 1, 2, 3])
    table = digits.member_digits(labels, np.array([0, 1, 9, 9]), np.array([0, 7, 2, 8]), {3: "three"})
    assert table["kind"].tolist() == ["right", "lost", "gained", "both"]
    assert table["label"].tolist() == ["0", "1", "2", "three"] and table["after"].tolist() == ["0", "7", "2", "8"]


@pytest.mark.parametrize("channels", [1, 3])
def test_sheet_frames_the_wrong_ones(channels: int) -> None:
    labels = np.array([0, 1, 2, 3, 4])
    table = digits.member_digits(labels, np.array([0, 1, 9, 9, 4]), np.array([0, 7, 2, 8, 4]), {})
    images = np.full((5, channels, 28, 28), 200, np.uint8)
    sheet = Image.open(io.BytesIO(digits.tile_sheet(table, images, 3, dark=False)))
    width, height = digits.SHARP * (digits.SIDE + digits.GAP), digits.SHARP * (digits.SIDE + digits.TEXT + digits.GAP)
    assert sheet.size == (3 * width, 2 * height) and sheet.size[0] == digits.SHARP * digits.sheet_width(3)
    corner = digits.SHARP * digits.GAP // 2 + 1
    pixels = [sheet.getpixel((i % 3 * width + corner, i // 3 * height + corner)) for i in range(5)]
    framed = {digits.FRAMES[kind][0]: kind for kind in digits.FRAMES}
    found = [framed.get("#{:02X}{:02X}{:02X}".format(*pixel[:3]), "right") for pixel in pixels]
    assert found == table["kind"].tolist()


def test_long_names_fit_below_their_tile() -> None:
    table = digits.member_digits(np.array([0]), np.array([0]), np.array([1]), {0: "ankle boot", 1: "sandal" * 9})
    assert digits.tile_sheet(table, np.zeros((1, 1, 28, 28), np.uint8), 1, dark=True)


def test_the_study_that_ships_keeps_who_surely_loses(open_page: OpenPage, demo_root: Path) -> None:
    said = words_of(open_page("pages/writers.py", "demo", demo_root, dataset="QMNIST"))
    assert "writers surely lose more than the average writer**" in said
    assert NOT_KEPT not in said
