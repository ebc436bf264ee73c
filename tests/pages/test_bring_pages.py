"""Harmed examples, Subgroups, Bring your own: on made-up studies and an imported one."""

import time
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from engine.store.annotations import read_marks
from engine.store.study import Study
from pages.views.harmed import charts as harmed
from pages.views.harmed import vote_card as votes
from pages.views.subgroups import charts as subgroup_charts
from pages.views.subgroups import controls as subgroup_controls
from pages.views.subgroups.controls import chance_sentence
from tests.engine.exchange.test_tracked_tables import WRITERS
from tests.pages.conftest import NASTY, OpenPage, unfold, words
from tests.support.planted.regions import make_regions
from tests.support.studies import make_study
from tests.support.uploads import bring, long_table, wide_table


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was imported: `animals`, with three seeds."""
    root = tmp_path_factory.mktemp("brought")
    long_table(n=120, seeds=3).to_csv(root / "animals.csv", index=False)
    bring(root / "animals.csv", Study(root / "animals"), {"constants": {"dataset": "animals", "network": "net `x`"}})
    return root


def test_harmed_says_how_many_change_and_shows_a_card_each(brought: Path, open_page: OpenPage) -> None:
    app = open_page("pages/harmed.py", "animals", root=brought, show="All")
    said = words(app)
    assert "of 120 examples" in said and "most pruned networks give another answer" in said and "votes tie" not in said
    assert len(str(app.main.markdown[0].value).split()) <= 30 and "modal" not in said and "xemplar" not in said
    assert "unpruned" in said
    assert "came as predictions" in said, "there are no images, and the page says so"
    cards = [control for control in app.get("button_group") if "Mark example" in str(control.proto.label)]
    assert len(cards) == 12


def test_a_mark_is_kept_with_the_study(brought: Path, open_page: OpenPage) -> None:
    app = open_page("pages/harmed.py", "animals", root=brought, show="All")
    card = next(control for control in app.get("button_group") if "Mark example" in str(control.proto.label))
    name = card.proto.label.split()[-1]
    assert name.startswith("img"), "the user's own name of the example, not a row number"
    example = int(name.removeprefix("img"))
    card.set_value("ambiguous").run()
    marks = read_marks(Study(brought / "animals"), "animals")
    assert marks[["example", "mark"]].values.tolist() == [[example, "ambiguous"]]
    again = open_page("pages/harmed.py", "animals", root=brought, show="All")
    assert "1 ambiguous" in words(again)


def test_filters_leave_fewer_and_none_is_a_sentence(brought: Path, open_page: OpenPage) -> None:
    app = open_page("pages/harmed.py", "animals", root=brought, show="All", **{"class": "cat"})
    assert "40 examples, most changed first" in words(app)
    app = open_page("pages/harmed.py", "animals", root=brought, show="All", marks="hard")
    assert "No example is left" in words(app)


def test_subgroups_say_whose_errors_grow(brought: Path, open_page: OpenPage) -> None:
    app = open_page("pages/subgroups.py", "animals", root=brought, positive="owl", rate="False-negative rate")
    said = words(app)
    assert "**The false-negative rate grows from" in said and "No group is large enough" in said
    table = next(frame.value for frame in app.dataframe if "against the others" in frame.value)
    assert {"all", "place", "site", "place × site"} == set(table["by"])


def test_a_search_names_who_pays_most_and_what_the_other_half_says(tmp_path: Path, open_page: OpenPage) -> None:
    make_regions(tmp_path / "regions")
    app = unfold(open_page("pages/subgroups.py", "regions", root=tmp_path, level="90.0 %"), "search")
    said = words(app)
    assert "egion rural" in said and "more than everyone else's** (95 %: " in said and "has not seen" in said
    assert "groups were searched" in said


def test_many_groups_can_be_searched_and_few_lines_have_a_colour() -> None:
    places = [("all", "all"), *(("age", str(number)) for number in range(12))]
    rows = [
        {"grouping": grouping, "group": group, "level": level, "sparsity": 0.3 * level, "rate": "error", "small": False}
        | {"baseline": "dense", "before": 0.1, "compressed": 0.1 + 0.01 * place * level, "change": 0.01 * place * level}
        | {"low": 0.0, "high": 0.1, "normalised": 1.0, "n": 50}
        for place, (grouping, group) in enumerate(places)
        for level in (1, 2)
    ]
    table = pd.DataFrame(rows)
    drawn = subgroup_charts.curve_chart(table, "error", "compressed", "kept", dark=False).data
    named = [trace.name for trace in drawn if trace.showlegend]
    assert set(named) == {"everybody", "8", "9", "10", "11"} and len(drawn) == len(places)
    few = subgroup_controls.of_groups(table, ["3", "4"])
    assert set(few["group"]) == {"all", "3", "4"} and subgroup_controls.of_groups(table, []) is table
    drawn = subgroup_charts.curve_chart(few, "error", "compressed", "kept", dark=True).data
    assert all(trace.showlegend for trace in drawn)


@pytest.mark.parametrize(
    ("p", "can_reject", "expected"),
    [
        ([0.0001, 0.0001], True, "The difference is larger than chance explains (p < 0.001)."),
        (
            [0.2, 0.2],
            True,
            "With 3 training runs this cannot be told from chance: a difference below 5.0 points could not be.",
        ),
        ([0.2, 0.2], False, "With 3 training runs this cannot be told from chance, whatever the difference."),
        ([0.01, 0.01, 0.6], True, "1 of 2 comparisons differ by more than chance explains (5 %, corrected)."),
    ],
)
def test_complements_count_once_and_nobody_is_acquitted(p: list[float], can_reject: bool, expected: str) -> None:
    rows = pd.DataFrame({"p_corrected": p, "test": [0, 0, 1][: len(p)], "can_reject": can_reject, "reach": 0.05})
    assert chance_sentence(rows, rows.iloc[0], 3) == expected


def test_a_binary_target_starts_with_its_second_class(tmp_path: Path, open_page: OpenPage) -> None:
    table = long_table(n=60).replace({"owl": "dog"})
    table.to_csv(tmp_path / "two.csv", index=False)
    bring(tmp_path / "two.csv", Study(tmp_path / "two"))
    app = open_page("pages/subgroups.py", "two", root=tmp_path)
    assert app.selectbox(key="positive").value == "dog"


def press_import(app: AppTest) -> None:
    """Ask for the import and look again until it has ended."""
    next(button for button in app.button if button.label == "Import").click().run(timeout=60)
    for _ in range(60):
        if app.success or app.error:
            return
        assert "Importing" in words(app) or "Waiting" in words(app)
        time.sleep(1)
        app.run()


def test_bring_opens_without_any_study(tmp_path: Path, open_page: OpenPage) -> None:
    app = open_page("pages/bring.py", "none", root=tmp_path)
    assert "See your own models here" in words(app)


def test_bring_previews_maps_and_imports(tmp_path: Path, open_page: OpenPage) -> None:
    app: AppTest = open_page("pages/bring.py", "none", root=tmp_path)
    content = long_table().to_csv(index=False).encode()
    app.get("file_uploader")[0].set_value(("animals.csv", content, "text/csv")).run(timeout=60)
    assert app.selectbox(key="role-label").value == "label"
    app.text_input(key="target").set_value("../x").run()
    assert "is no name for a study" in words(app)
    app.text_input(key="target").set_value("mine").run()
    press_import(app)
    assert "4 runs with 10 models on 40 examples" in "".join(str(one.value) for one in app.success)
    assert len(Study(tmp_path / "mine").runs()) == 4


@pytest.mark.parametrize("name", WRITERS)
def test_bring_takes_what_trackers_keep(name: str, tmp_path: Path, open_page: OpenPage) -> None:
    app: AppTest = open_page("pages/bring.py", "none", root=tmp_path)
    app.get("file_uploader")[0].set_value((name, WRITERS[name](long_table()).encode(), "application/json"))
    app.run(timeout=60)
    assert app.selectbox(key="role-label").value == "label"
    press_import(app)
    assert "4 runs with 10 models on 40 examples" in "".join(str(one.value) for one in app.success)


def test_bring_joins_several_files_and_says_what_pages_will_show(tmp_path: Path, open_page: OpenPage) -> None:
    app: AppTest = open_page("pages/bring.py", "none", root=tmp_path)
    assert any(button.proto.label == "Template" for button in app.get("download_button"))
    parts = [rows for _, rows in long_table().groupby("seed")]
    app.get("file_uploader")[0].set_value(("a.csv", parts[0].to_csv(index=False).encode(), "text/csv"))
    app.get("file_uploader")[2].set_value([("b.csv", parts[1].to_csv(index=False).encode(), "text/csv")])
    app.run(timeout=60)
    assert "What each page will show" in {one.label for one in app.expander} and "by place, site" in words(app)
    app.text_input(key="target").set_value("both").run()
    press_import(app)
    assert "4 runs with 10 models on 40 examples" in "".join(str(one.value) for one in app.success)


def test_bring_imports_a_column_per_model_with_its_sidecar(tmp_path: Path, open_page: OpenPage) -> None:
    app: AppTest = open_page("pages/bring.py", "none", root=tmp_path)
    sidecar = b'{"prunescope": 1, "classes": [{"name": "cat", "n_train": 7, "entropy": null}, "dog", "owl"]}'
    app.get("file_uploader")[1].set_value(("wide.json", sidecar, "application/json"))
    app.get("file_uploader")[0].set_value(("wide.csv", wide_table().to_csv(index=False).encode(), "text/csv"))
    app.run(timeout=60)
    assert not app.exception and app.text_input(key="classes").value == "cat, dog, owl"
    assert sorted(app.multiselect(key="models").value)[:2] == ["dense#0", "dense#1"]
    press_import(app)
    assert not app.exception
    assert "4 runs with 10 models on 40 examples" in "".join(str(one.value) for one in app.success)
    assert Study(tmp_path / "wide").class_facts("wide")["n_train"].tolist() == [7, 0, 0]


def test_bring_keeps_off_studies_that_were_computed(tmp_path: Path, open_page: OpenPage) -> None:
    make_study(tmp_path / "own", examples=60, seeds=1, levels=1)
    app = open_page("pages/bring.py", "none", root=tmp_path)
    app.get("file_uploader")[0].set_value(("own.csv", long_table().to_csv(index=False).encode(), "text/csv")).run(
        timeout=60
    )
    assert "was computed here" in words(app)


def test_a_card_shows_the_true_class_first() -> None:
    dense, compressed = pd.Series([0, 5, 1, 0]).to_numpy(), pd.Series([0, 1, 4, 1]).to_numpy()
    assert votes.voted(dense, compressed, 0) == [0, 1, 2, 3]
    assert votes.vote_card(None, dense, compressed, 0, {0: "zero"}, dark=True).startswith(b"\x89PNG")


def test_names_in_the_chart_are_plain_text() -> None:
    table = pd.DataFrame(
        {
            "grouping": ["<b>g"],
            "group": [NASTY],
            "n": [50],
            "n_chosen": [5],
            "share_chosen": [0.1],
            "share": [0.05],
            "reference": ["test"],
            "ratio": [2.0],
            "low": [1.5],
            "high": [2.5],
            "small": [False],
            "name": [NASTY],
        }
    )
    drawn = harmed.representation_chart(table, dark=False).to_json()
    assert "<img" not in drawn and "<b>g" not in drawn
