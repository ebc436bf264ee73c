"""The card of a clicked point, pinning with and without a reason, two candidates side by side, axes and floors."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from engine.analysis.frontier.choice import choose
from engine.store.catalog import refresh
from engine.store.parquet import to_parquet
from engine.store.records.measures import write_measures
from engine.store.study import Study
from pages.shared.cache import catalog
from pages.shared.frame import Frame
from pages.shared.session import candidate
from pages.views.frontier.chosen.card import OPEN
from pages.views.frontier.chosen.comparison import differing, pair_table
from tests.pages.conftest import OpenPage, unfold, words
from tests.support.studies import make_study

FRONTIER = "pages/frontier.py"
ASKED = {"threshold": "80", "weight": "1"}


@pytest.fixture
def frame(study_root: Path, monkeypatch: pytest.MonkeyPatch) -> Frame:
    """What the page works on in the planted study."""
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(study_root))
    source = catalog.source("planted")
    return Frame(source, "planted", catalog.experiments(source)[0], (), (), False)


def number_of(frame: Frame, **names: Any) -> int:
    """The number of the operating point with these names."""
    points = catalog.operating(frame.source, frame.experiment)
    same = np.ones(len(points), bool)
    for name, value in names.items():
        same &= (points[name] == value).to_numpy()
    return int(points["point"][same].iloc[0])


def in_address(app: AppTest) -> str:
    """The candidate as the address has it."""
    said = app.query_params["candidate"]
    return said if isinstance(said, str) else said[0]


def click(app: AppTest, number: int) -> AppTest:
    """As a click on the point's mark, row or stretch does."""
    app.session_state[OPEN] = number
    app.run()
    assert not app.exception, app.exception
    return app


def test_a_card_says_why_and_asks_for_a_reason(open_page: OpenPage, frame: Frame) -> None:
    app = open_page(FRONTIER, "planted", **ASKED)
    number = number_of(frame, technique="random_unstructured", treatment="finetune", level=2)
    click(app, number)
    assert "Not chosen: beaten by" in words(app) and "on both counts" in words(app)
    app.button(key=f"pin-{number}").click().run()
    assert "Say in a few words" in words(app) and "candidate" not in app.query_params
    app.text_input(key=f"reason-{number}").set_value("the plant has it already").run()
    app.button(key=f"pin-{number}").click().run()
    assert not app.exception and "the plant has it already" in in_address(app)
    assert "Your candidate is another one: Layer random with continued training" in words(app)
    assert any("Layer random, keep training" in str(part.value) for part in app.sidebar.markdown)


def test_the_recommended_one_is_pinned_without_a_reason(open_page: OpenPage) -> None:
    app = open_page(FRONTIER, "planted", **ASKED)
    app.button(key="pin-chosen").click().run()
    assert not app.exception and "This is your candidate" in words(app)
    assert in_address(app).endswith("~")


def test_a_broken_floor_and_a_better_weight_are_said(open_page: OpenPage, frame: Frame) -> None:
    app = open_page(FRONTIER, "planted", threshold="95", weight="1")
    levels = catalog.operating(frame.source, frame.experiment)
    worst = int(levels.loc[levels["accuracy"].idxmin(), "point"])
    assert "it breaks a floor (accuracy below 95\\.0 %)" in words(click(app, worst))
    app = open_page(FRONTIER, "planted", threshold="60", weight="0.01")
    fairest = int(levels["point"].iloc[choose(levels, 0.6, 1000.0).chosen])
    assert "it would win between weights" in words(click(app, fairest))
    app.button(key="close-card").click().run()
    assert "it would win between" not in words(app)


def test_two_candidates_are_compared_group_by_group_and_by_examples(open_page: OpenPage, frame: Frame) -> None:
    rows = [{"technique": "global_unstructured", "treatment": t, "mitigation": "none", "level": 3} for t in WAYS]
    texts = {key: candidate.address_text(frame, row) for key, row in zip(candidate.KEYS, rows, strict=True)}
    app = open_page(FRONTIER, "planted", **ASKED, **texts)
    assert "The candidate beside the second one" in words(app)
    app.selectbox(key="by").set_value("Series").run()
    assert not app.exception
    first, second = (candidate._found(frame, text) for text in texts.values())
    assert first is not None and second is not None
    table = pair_table(frame, first, second, ("class",))
    study = frame.source.study
    counts = study.classes()
    for which, one in (("first", first), ("second", second)):
        mine = counts[(counts["technique"] == one.technique) & (counts["treatment"] == one.treatment)]
        mine = mine[mine["level"] == one.level].groupby("class")[["correct", "n"]].sum()
        by_hand = (mine["correct"] / mine["n"]).to_dict()
        for name, value in zip(table["name"], table[which], strict=True):
            assert value == pytest.approx(by_hand[int(name)])
    check_examples(frame, study, (first, second))


WAYS = ("rewind", "finetune")


def check_examples(frame: Frame, study: Study, pair: tuple[candidate.Candidate, candidate.Candidate]) -> None:
    """The differing examples, against the predictions read run by run."""
    found = differing(frame, *pair)
    assert found is not None
    levels, label = study.levels(), study.examples("qmnist-writers")["label"].to_numpy()
    right = []
    for one in pair:
        rows = levels[(levels["technique"] == one.technique) & (levels["treatment"] == one.treatment)]
        total = np.zeros(len(label), int)
        for run in rows.loc[rows["level"] == one.level, "run"]:
            at, said = study.prediction_matrix(str(run))
            total += said[list(at).index(one.level)] == label
        right.append(total)
    assert found.n_right == (int((right[0] > right[1]).sum()), int((right[0] < right[1]).sum()))
    top = found.table.iloc[0]
    assert top["candidate right"] == f"{right[0][top['example']]} of {found.n_seeds}"
    assert abs(right[0] - right[1]).max() == abs(right[0] - right[1])[top["example"]]


@pytest.fixture(scope="module")
def costly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose runs recorded what every level costs."""
    root, write = tmp_path_factory.mktemp("costly"), Study.write_run

    def with_costs(study: Study, spec: Any, tables: Any, provenance: Any) -> bool:
        level = tables.levels["level"]
        sizes = pd.DataFrame({"level": level, "bytes": 1000 * (100 - 20 * level), "macs": 4e5 * 0.8**level})
        sizes = sizes.assign(weights=1, stored=1, bytes_zipped=sizes["bytes"] // 2)
        return write(study, spec, tables, provenance, {"sizes.parquet": to_parquet(sizes, "sizes")})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Study, "write_run", with_costs)
        made = make_study(root / "costs", levels=4, examples=300)
    models = refresh(made).levels[["run", "level"]].astype({"run": str})
    rows = models.assign(batch=1, device="cpu", milliseconds=2.0 - 0.1 * models["level"], low=0.0, high=3.0)
    write_measures(made, rows.assign(dense_milliseconds=2.0, measured="").to_dict("records"))
    return root


def test_costs_are_axes_floors_and_columns(open_page: OpenPage, costly: Path) -> None:
    app = open_page(FRONTIER, "costs", costly, threshold="50", weight="100", axis="multiplications")
    assert {"multiplications", "bytes", "milliseconds"} <= set(app.selectbox(key="axis").options)
    front = next(t.value for t in app.dataframe if "wins at weights" in t.value)
    np.testing.assert_allclose(front["kB"], 100 - 20 * front["level"])
    np.testing.assert_allclose(front["million MACs"], 0.4 * 0.8 ** front["level"])
    assert front["kB"].max() > 60
    unfold(app, "floors").number_input(key="kb").set_value(60.0).run()
    assert not app.exception
    front = next(t.value for t in app.dataframe if "wins at weights" in t.value)
    assert front["level"].min() == 2 and front["kB"].max() == 60
    app.slider(key="ms-slide").set_value(1.7).run()
    front = next(t.value for t in app.dataframe if "wins at weights" in t.value)
    assert not app.exception and front["level"].min() == 3 and app.number_input(key="ms").value == 1.7
    assert "ms" in app.query_params


def test_without_costs_there_is_neither_axis_nor_floor(open_page: OpenPage) -> None:
    app = open_page(FRONTIER, "planted", axis="bytes", kb="10")
    assert app.selectbox(key="axis").options == ["weights kept", "sparsity"]
    assert not [field for field in app.number_input if field.key == "kb"]
    assert not app.exception


def test_two_stakeholders_agree_or_have_a_compromise(open_page: OpenPage) -> None:
    app = open_page(FRONTIER, "planted", threshold="60", weight="1", two="true", weight2="1.26")
    assert "The second weight, 1.26, would ship" in words(app)
    app = open_page(FRONTIER, "planted", threshold="60", weight="0.01", two="true", weight2="1000")
    assert "Compromise: " in words(app) or "No network between the two" in words(app)
    app = open_page(FRONTIER, "planted", threshold="60", weight="1000", two="true", weight2="1000")
    assert "the two agree" in words(app)
