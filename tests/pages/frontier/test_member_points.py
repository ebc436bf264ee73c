"""Frontier with members: other seeds and other writers at once, and writers' losses pulled to the mean of all."""

import re
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from engine.analysis.members.shrunk_changes import shrunk_changes
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache import points as load_points
from pages.shared.cache.between import Between
from pages.views.frontier.payers import payer_sentence
from pages.views.frontier.words import MOST_WORDS
from tests.pages.conftest import OpenPage, words
from tests.support.studies import make_study

FRONTIER = "pages/frontier.py"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of nine seeds, and one of three with more writers than groups may have."""
    root = tmp_path_factory.mktemp("members")
    make_study(root / "nine", seeds=9, techniques=("global_unstructured",), treatments=("rewind",), levels=4)
    make_study(root / "three", levels=4, writers=30, examples=900)
    st.cache_resource.clear()
    return root


def between(root: Path, name: str, column: str = "class") -> Between:
    source = catalog.source(name)
    return Between(source, catalog.experiments(source)[0], (column,))


def test_beyond_few_seeds_writers_are_drawn_again_too(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "nine", root, threshold="0")
    assert "500 redraws of the training runs and of who made the test examples" in words(app)
    asked = between(root, "nine")
    models = load_points.by_seed(asked)
    for measure in ("max_min", "largest_loss"):
        grid = load_points.by_seed_and_point(asked, measure)
        assert grid.of_members and not grid.draws.exact and grid.means is not None
        # What is seen is what the points have; only the draws are of members too.
        slots = models["seed"].to_numpy()
        assert grid.accuracy[slots, models["point"]] == pytest.approx(models["accuracy"].to_numpy())
        assert grid.unfairness[slots, models["point"]] == pytest.approx(models[measure].to_numpy(), nan_ok=True)
        alone = models.groupby("point")["accuracy"].std(ddof=0).to_numpy() / 3
        assert (grid.means[2].std(axis=1) > alone).all(), "writers add to what seeds vary by"
    loss = load_points.by_seed_and_point(asked, "excessive_loss_gap")
    assert not loss.of_members, "losses of members are not recorded"


def test_few_seeds_are_counted_exactly(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "three", root, threshold="0")
    assert "ways to redraw the training runs" in words(app) and "who made the test examples" not in words(app)
    assert load_points.by_seed_and_point(between(root, "three"), "max_min").draws.exact


def test_losses_of_writers_are_pulled(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "three", root, fair="Writer", threshold="0", weight="0.01")
    assert not app.exception
    asked = between(root, "three", "writer")
    points = load_points.operating(asked)
    mine = points[(points["technique"] == "global_unstructured") & (points["treatment"] == "rewind")]
    number = int(mine.loc[mine["sparsity"].idxmax(), "point"])
    rows = load_points.group_rows(asked, number, "dense").set_index("name")
    study = Study(root / "three")
    models = load_points.by_seed(asked)
    models = models[models["point"] == number]
    table = study.examples("qmnist-writers")
    label, names = table["label"].to_numpy(), np.sort(table["writer"].unique())
    changes = []
    for run, level in zip(models["run"], models["level"], strict=True):
        said = study.predictions(str(run))
        after, before = (said.loc[said["level"] == here, "prediction"].to_numpy() == label for here in (level, 0))
        changes.append(after.astype(float) - before)
    member = np.searchsorted(names, table["writer"])
    expected = shrunk_changes(np.array(changes), member, len(names)).set_axis(names.astype(str))
    assert rows["change"].to_numpy() == pytest.approx(expected["change"].reindex(rows.index).to_numpy())
    assert rows["change"].std() < expected["counted"].std() and (rows["low"] <= rows["high"]).all()
    assert rows["change"].is_monotonic_increasing
    paying = load_points.payers(asked, number, "dense")
    mine = paying[paying["columns"] == ("writer",)]
    assert (mine["held"] == "pulled").all() and mine["change"].tolist() == [rows["change"].min()]
    assert (paying.loc[paying["columns"] == ("class",), "held"] == "together").all()
    assert "when pulled towards the mean of all" in payer_sentence(mine)
    answer = formats.unmarked(str(app.main.markdown[0].value))
    assert answer.startswith("Close call: ") and re.search(r"wins in 100 % of redraws; \d+ more may be as", answer)
    assert len(answer.split()) <= MOST_WORDS
    assert (
        f"writer {mine['name'].iloc[0]} loses {formats.points(-rows['change'].min(), sign=False)}"
        in formats.unmarked(words(app))
    )
