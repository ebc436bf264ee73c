"""Harmed examples says whether dense networks told in advance who would be lost."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from engine.analysis.examples.at_risk import COLUMNS, at_risk_table, disagreement, lost
from engine.store.study import Study
from pages.views.harmed.at_risk import risk_rows, risk_sentence

TOP = Path(__file__).resolve().parents[3]


def row(precision: float, above_low: float, chance: float = 0.05, score: str = "disagreement") -> pd.DataFrame:
    values = (
        score,
        0.05,
        50,
        6,
        precision,
        precision - 0.02,
        precision + 0.02,
        chance,
        precision - chance,
        above_low,
        1.0,
    )
    return pd.DataFrame([values], columns=COLUMNS)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (row(0.2, 0.1), "tell in advance who is at risk**: 4.0 times as often as by chance."),
        (row(0.06, -0.01), "includes 0: the dense networks do not clearly tell"),
        (row(0.06, float("nan")), "One training run says nothing about chance."),
    ],
)
def test_the_sentence_says_what_the_interval_says(table: pd.DataFrame, words: str) -> None:
    assert words in risk_sentence(table)


def test_margins_speak_where_they_are_recorded() -> None:
    both = pd.concat([row(0.2, 0.1), row(0.3, 0.1, score="margin")])
    assert "by small margin), **30.0 % are lost**" in risk_sentence(both)
    shown = risk_rows(both)
    assert shown["lost of them"].tolist() == ["20.0 % ± 2.0", "30.0 % ± 2.0"] and shown["times"].tolist() == [
        "4.0",
        "6.0",
    ]


def test_the_page_of_the_study_that_ships_has_the_sentence_and_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(TOP / "data"))
    monkeypatch.setenv("PRUNESCOPE_DATA", str(tmp_path))
    app = AppTest.from_file(str(TOP / "app.py"), default_timeout=120)
    app.query_params.update({"study": "demo", "dataset": "QMNIST (writers)", "baseline": "dense"})
    app.switch_page("pages/harmed.py").run()
    assert not app.exception, app.exception
    shown = next(frame.value for frame in app.dataframe if "lost of them" in frame.value)
    assert shown["most at risk"].tolist() == ["top 1 %", "top 5 %", "top 10 %"]
    assert any("most at risk before pruning (by disagreement" in str(part.value) for part in app.markdown)


def test_dense_margins_are_what_the_run_kept(tmp_path: Path) -> None:
    from engine.run_spec import RunSpec
    from engine.runs.run import run_experiment

    spec = RunSpec("digits", "lenet", "global_unstructured", levels=1, epochs=1, batch_size=64, seed=3)
    study = Study(tmp_path)
    for changes in (True, False):
        key = run_experiment(RunSpec(**{**spec.__dict__, "keep_scores": changes}), study, tmp_path, "cpu").key
        margins = study.dense_margins(key)
        if not changes:
            assert margins is None
            continue
        kept = study.predictions(key).query("level == 0")["margin"].to_numpy()
        np.testing.assert_array_equal(margins, kept)
    labels = study.examples("digits-official")["label"].to_numpy()
    said = study.prediction_matrix(key)[1]
    hit = lost(labels, said[:1], said[1:])
    assert at_risk_table({"disagreement": disagreement(said[:1], 10)}, hit).empty
