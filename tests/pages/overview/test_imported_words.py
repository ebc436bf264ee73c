"""What every page says of a study that people brought: their own names, and nothing that nobody stated."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from engine.commands import main
from engine.store.study import Study
from pages.shared.menu import MENU
from tests.pages.conftest import OpenPage, words
from tests.support.uploads import bring, long_table


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was imported, `animals`: three seeds, no treatment, no counts of training examples."""
    root = tmp_path_factory.mktemp("imported-words")
    long_table(n=120, seeds=3).to_csv(root / "animals.csv", index=False)
    bring(root / "animals.csv", Study(root / "animals"), {"constants": {"dataset": "animals"}})
    return root


def axes_of(chart: dict[str, Any]) -> list[tuple[float, float]]:
    """Ends of the axes of a chart that count in percent, where the page sets them."""
    axes = [axis for name, axis in chart["layout"].items() if name.startswith(("xaxis", "yaxis"))]
    return [
        (min(axis["range"]), max(axis["range"]))
        for axis in axes
        if "%" in axis.get("tickformat", "") and "range" in axis and axis.get("type") != "log"
    ]


@pytest.mark.parametrize("file", sorted(entry.file for entry in MENU))
def test_pages_say_only_what_was_stated(file: str, root: Path, open_page: OpenPage) -> None:
    app = open_page(file, "animals", root)
    charts = [spec.proto.spec for spec in app.get("plotly_chart")]
    for text in (words(app), *charts):
        assert "unstated" not in text and "seed 1.0" not in text and "seed 0.0" not in text
    for low, high in (ends for chart in charts for ends in axes_of(json.loads(chart))):
        assert low > -1 and high < 1.5, "an axis of shares does not begin at -100 %"


def test_without_counts_there_is_no_empty_chart_of_training_examples(root: Path, open_page: OpenPage) -> None:
    said = words(open_page("pages/class_curves.py", "animals", root))
    assert "does not say how many examples of each class were trained on" in said


def test_exported_examples_bear_the_users_names(root: Path, tmp_path: Path) -> None:
    assert main(["export", "--study", str(root / "animals"), "--to", str(tmp_path / "out.csv")]) == 0
    brought, exported = pd.read_csv(root / "animals.csv"), pd.read_csv(tmp_path / "out.csv")
    assert set(exported["example"]) == set(brought["example"]) and exported["example"].str.startswith("img").all()
