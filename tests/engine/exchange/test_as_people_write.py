"""Tables as people write them: dense by another name or by none, columns about models, free text, lists, odd names."""

from pathlib import Path

import pandas as pd
import pytest

from engine.commands import main
from engine.errors import PruneScopeError
from engine.exchange import sandbox
from engine.exchange.imported_runs import MODEL, runs_by_level
from engine.store.study import Study
from tests.support.uploads import answer_here, bring, long_table, wide_table

ROWS = long_table(n=24, seeds=2)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files are read in this process."""
    monkeypatch.setattr(sandbox, "ask_child", answer_here)
    monkeypatch.chdir(tmp_path)


def brought(rows: pd.DataFrame, *words: str, name: str = "a.csv") -> Study:
    """The study that a file of these rows gives on the command line."""
    rows.to_csv(name, index=False) if name.endswith("csv") else rows.to_parquet(name, index=False)
    assert main(["import", name, "--study", "study", *words]) == 0
    return Study("study")


def said(rows: pd.DataFrame) -> str:
    """What these rows are refused with."""
    rows.to_csv("a.csv", index=False)
    with pytest.raises(PruneScopeError) as error:
        bring(Path("a.csv"), Study("study"))
    return str(error.value)


@pytest.mark.parametrize("name", ["Dense", "original", "BASELINE", "base", "uncompressed", None])
def test_an_unpruned_network_serves_all_techniques_whatever_it_is_called(name: str | None) -> None:
    study = brought(ROWS.assign(technique=ROWS["technique"].where(ROWS["sparsity"] > 0, name)))
    levels = study.levels()
    assert set(levels["technique"]) == {"magnitude", "random"}
    assert (levels.groupby("run", observed=True)["sparsity"].min() == 0).all() and len(study.runs()) == 4


def test_a_pruned_network_of_a_dense_name_is_not_dropped() -> None:
    models = pd.DataFrame([["", "net", t, "", "none", 0, None, s, *[None] * 5] for t, s in (("none", 0.5), ("x", 0.9))])
    models.columns = pd.Index(MODEL)
    assert [len(levels) for levels in runs_by_level(models).values()] == [1, 1]


def test_columns_about_models_and_free_text_are_refused_and_left_out_where_that_is_said() -> None:
    rows = ROWS.assign(checkpoint=ROWS["sparsity"].map("at {}.pt".format), review="two\nlines")
    assert said(rows.drop(columns="review")).endswith(
        "leave the column out (--leave-out) if it is about models or free text."
    )
    assert "'review', row 1" in (words := said(rows.drop(columns="checkpoint"))) and "(--leave-out)" in words
    study = brought(rows, "--leave-out", "checkpoint, review")
    assert set(study.examples("imported")) == {"example", "label", "example_id", "place", "site", "age"}


def test_a_column_to_leave_out_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    ROWS.to_csv("a.csv", index=False)
    assert main(["import", "a.csv", "--study", "study", "--leave-out", "plaice"]) == 1
    assert "did you mean 'place'?" in capsys.readouterr().err and not Path("study").exists()


def test_a_list_in_parquet_is_left_out_but_not_in_place_of_an_answer() -> None:
    study = brought(ROWS.assign(features=[[1.0, 2.0]] * len(ROWS)), name="a.parquet")
    assert "features" not in study.examples("imported") and len(study.levels()) == 10
    ROWS.assign(prediction=[["cat"]] * len(ROWS)).to_parquet("b.parquet", index=False)
    with pytest.raises(PruneScopeError, match="Column 'prediction': it holds list<"):
        bring(Path("b.parquet"), Study("other"))


def test_a_missing_column_is_asked_for_with_the_columns_that_are_there() -> None:
    words = said(ROWS.rename(columns={"example": "Patient No"})[["Patient No", "label", "prediction", "sparsity"]])
    assert words.endswith("or say which of 'Patient No' it is (--map example=COLUMN).")
    words = said(ROWS.drop(columns=["sparsity", "age", "site"]))
    assert "(--map sparsity=COLUMN)" in words and words.endswith("in its name, as in magnitude@0.9#1.csv.")
    assert said(ROWS.drop(columns="prediction")).startswith("Column prediction is missing")


def test_columns_of_models_do_not_pass_for_groups() -> None:
    rows = wide_table().rename(
        columns=lambda name: name.replace("magnitude@0.", "pruned_").replace("dense", "original")
    )
    rows = rows[["example", "label", "place", "original#0", "pruned_5#0"]].rename(columns={"original#0": "original"})
    words = said(rows)
    assert words.startswith("Only 'original' is known as a model, and it is not pruned") and "'pruned_5#0'" in words
    study = brought(rows, "--groups", "place")
    assert study.levels()["sparsity"].tolist() == [0]
