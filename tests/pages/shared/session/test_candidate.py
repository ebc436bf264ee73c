"""The candidate: what the address says of it, on which pages it shows, and that pages open on it."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.cache import catalog
from pages.shared.frame import Frame
from pages.shared.session import candidate
from pages.shared.session.candidate import Candidate
from tests.pages.conftest import NASTY, OpenPage

LEVEL = 2


@pytest.fixture
def frame(study_root: Path, monkeypatch: pytest.MonkeyPatch) -> Frame:
    """What pages work on in the planted study."""
    return framed(study_root, monkeypatch, "planted")


def framed(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Frame:
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(root))
    source = catalog.source(name)
    return Frame(source, name, catalog.experiments(source)[0], (), (), False)


def text_of(frame: Frame, reason: str = "", level: int = LEVEL) -> str:
    """The address's text of the planted study's finetuned network of the second technique."""
    row = {"technique": "random_unstructured", "treatment": "finetune", "mitigation": "none", "level": level}
    return candidate.address_text(frame, row, reason)


def found(frame: Frame, text: str) -> Candidate | None:
    return candidate._found(frame, text)


def test_the_address_brings_back_point_and_reason(frame: Frame) -> None:
    reason = "50 % of ~ten; \n & it's ours?"
    one = found(frame, text_of(frame, reason))
    points = catalog.operating(frame.source, frame.experiment)
    assert one is not None and one.reason == "50 % of ~ten; & it's ours?"
    row = points[points["point"] == one.point].iloc[0]
    assert (row["technique"], row["treatment"], row["level"]) == ("random_unstructured", "finetune", LEVEL)
    assert (one.sparsity, one.accuracy, one.gap) == (row["sparsity"], row["accuracy"], row["max_min"])
    long = found(frame, text_of(frame, "x" * 999))
    assert long is not None and len(long.reason) == candidate.MOST_LETTERS


def test_nonsense_and_other_experiments_are_no_candidate(
    frame: Frame, study_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(frame)
    other = framed(study_root, monkeypatch, "no-dense")
    assert found(other, text) is None, "a network of another study"
    for broken in ("", "~", "~~~~~", text + "~x", text.replace("~2~", "~99~"), text.replace("~2~", "~-1~"), "a" * 5000):
        assert found(frame, broken) is None


def test_names_that_would_break_a_link_or_markdown_survive(study_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nasty = framed(study_root, monkeypatch, "nasty")
    row = {"technique": NASTY, "treatment": NASTY, "mitigation": "none", "level": 1}
    one = found(nasty, candidate.address_text(nasty, row, NASTY))
    assert one is not None and one.variant == (NASTY, NASTY, "none") and one.reason == NASTY


@pytest.mark.parametrize("file", ["pages/harmed.py", "pages/subgroups.py", "pages/writers.py", "pages/class_curves.py"])
def test_a_page_opens_on_the_candidate(open_page: OpenPage, frame: Frame, file: str) -> None:
    app = open_page(file, "planted", candidate=text_of(frame, "smaller"))
    assert app.selectbox(key="technique").value == "Layer random"
    assert app.selectbox(key="treatment").value == "Keep training"
    if app.select_slider:
        assert app.select_slider(key="level").value == LEVEL
    assert "Layer random, keep training" in card(app) and "*smaller*" in card(app)
    app.selectbox(key="technique").set_value("Global magnitude").run()
    assert not app.exception and app.selectbox(key="technique").value == "Global magnitude"


def test_unpinning_forgets_it_on_every_page(open_page: OpenPage, frame: Frame) -> None:
    app = open_page("app.py", "planted", candidate=text_of(frame), rival=text_of(frame, level=3))
    assert "**Candidate**" in card(app) and "**Compared with**" in card(app)
    app.button(key="candidate-unpin").click().run()
    assert not app.exception and "**Candidate**" not in card(app) and "candidate" not in app.query_params
    assert "**Compared with**" in card(app)


def test_a_candidate_of_another_experiment_says_so(open_page: OpenPage, frame: Frame) -> None:
    app = open_page("app.py", "no-dense", candidate=text_of(frame))
    assert "not in this experiment" in card(app)


def card(app: AppTest) -> str:
    """What the sidebar says."""
    return "\n".join(str(part.value) for part in app.sidebar.markdown)
