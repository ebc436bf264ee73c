"""Every page on a study of an evaluation harness: models of fewer bits, tasks and subjects as groups."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.store.study import Study
from pages.shared.menu import MENU
from tests.engine.exchange.test_lm_eval import bring_written
from tests.pages.conftest import OpenPage, words

FRONTIER = "pages/frontier.py"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of studies with one of what lm_eval wrote: `llm`."""
    folder = tmp_path_factory.mktemp("harness-pages")
    bring_written(folder / "written", folder / "llm")
    return folder


def numbers_of(sent: Any) -> list[Any]:
    """What a chart sends as a list or, packed, as Plotly's own shorthand for one."""
    if isinstance(sent, dict):
        return np.frombuffer(base64.b64decode(sent["bdata"]), sent["dtype"]).tolist()
    return list(sent)


@pytest.mark.parametrize("file", sorted(entry.file for entry in MENU))
def test_every_page_opens(file: str, root: Path, open_page: OpenPage) -> None:
    app = open_page(file, "llm", root)
    assert app.title and (app.main.markdown or app.main.info) and not app.main.error


def test_the_frontier_answers_by_bits_between_subjects(root: Path, open_page: OpenPage) -> None:
    app = open_page(FRONTIER, "llm", root, fair="Subject", axis="bits of a weight", threshold="20")
    assert app.selectbox(key="axis").value == "bits" and app.selectbox(key="fair").value == "Subject"
    chart = next(json.loads(spec.proto.spec) for spec in app.get("plotly_chart"))
    assert chart["layout"]["xaxis"]["title"] == {"text": "bits of a weight"}
    places = {x for trace in chart["data"] for x in numbers_of(trace.get("x", ()))}
    assert {4, 8, 32} <= places
    assert "rtn" in words(app) or "wanda" in words(app)


def test_bits_and_parameters_are_axes_only_where_somebody_said_them(root: Path, open_page: OpenPage) -> None:
    app = open_page(FRONTIER, "llm", root)
    offered = app.selectbox(key="axis").options
    assert {"bits of a weight", "parameters"} <= set(offered) and "multiplications" not in offered
    planted = open_page(FRONTIER, "planted")
    assert "bits of a weight" not in planted.selectbox(key="axis").options
    assert len(Study(root / "llm").levels()) == 5
