"""Frontier, fair between groups of a binary target: its rates can be chosen as measures, and are the engine's."""

from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from engine.analysis.binary_rates import BINARY_RATES
from engine.api.fair_between import study_points
from engine.api.public_study import Study
from engine.store.study import Study as Stored
from pages.shared.cache import catalog
from pages.shared.cache.between import Between
from pages.shared.cache.points import operating
from tests.pages.conftest import OpenPage, words

FRONTIER, N = "pages/frontier.py", 1200
SEX = np.where(np.arange(N) % 3, "f", "m").astype(object)
LABELS = np.where(np.arange(N) % 4, "no", "yes").astype(object)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loan desk: pruning wrongs those without a loan among m, those with one among f."""
    root = tmp_path_factory.mktemp("binary")
    study = Study(root / "loans")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        for sparsity, share in ((0.0, 0.03), (0.5, 0.1), (0.9, 0.3)):
            favoured = (SEX == "m") == (LABELS == "no")
            wrong = rng.random(N) < np.where(favoured, share, 0.03)
            said = np.where(wrong, np.where(LABELS == "no", "yes", "no"), LABELS)
            technique = "lasso" if sparsity else "dense"
            study.record(said, LABELS, sparsity=sparsity, technique=technique, seed=seed, groups={"sex": SEX})
    st.cache_resource.clear()
    return root


def test_rates_are_measures_between_groups_only(open_page: OpenPage, root: Path) -> None:
    labels = {row.label for row in BINARY_RATES.values()}
    app = open_page(FRONTIER, "loans", root, fair="Sex", threshold="70", measure="Equalised odds gap", weight="10")
    assert labels <= set(app.selectbox(key="measure").options) and not app.exception
    assert app.selectbox(key="measure").value == "equalized_odds" and "Positive is yes" in app.selectbox("measure").help
    assert labels <= set(next(table.value for table in app.dataframe if "measure" in table.value)["measure"])
    classes = open_page(FRONTIER, "loans", root, fair="Classes", threshold="70", measure="Equalised odds gap")
    assert not labels & set(classes.selectbox(key="measure").options) and not classes.exception
    assert "sparsity" in words(classes)


def test_they_are_what_the_engine_says(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(root))
    source = catalog.source("loans")
    points = operating(Between(source, catalog.experiments(source)[0], ("sex",)))
    expected = study_points(Stored(root / "loans"), "sex").set_index(["technique", "level"])
    assert len(points) == len(expected)
    for key in BINARY_RATES:
        found = points.set_index(["technique", "level"])[key]
        assert found.sort_index().to_numpy() == pytest.approx(expected[key].sort_index().to_numpy(), abs=1e-12)
    worst = points.sort_values("sparsity").iloc[-1]
    assert worst["fpr_gap"] > 0.15 and worst["equalized_odds"] >= max(worst["fpr_gap"], worst["fnr_gap"]) - 1e-12
