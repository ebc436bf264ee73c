"""Predictions from any tool become the same runs, and an export imports again to the same tables."""

import json
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

from engine.commands import main
from engine.errors import PruneScopeError
from engine.exchange.export import export_study, neutralised
from engine.exchange.guess import fill_in_defaults, guessed_model
from engine.exchange.mapping import ColumnMapping, ModelFacts
from engine.exchange.sandbox import Source, import_file, preview_file
from engine.run_spec import RunSpec
from engine.store.run_tables import LevelResult, run_tables
from engine.store.study import Study
from tests.support.uploads import N, bring, long_table, study_content, wide_table

TABLES = ("levels", "classes")


def assert_same_predictions(study: Study, table: pd.DataFrame) -> None:
    """Each run says what the rows say, the dense rows as level 0 of both techniques."""
    levels = study.levels()
    assert sorted(levels["technique"].unique()) == ["magnitude", "random"]
    assert levels.groupby("run", observed=True)["level"].apply(list).map(tuple).isin([(0, 1, 2), (0, 1)]).all()
    examples = study.examples("animals")
    names = study.class_facts("animals")["name"].to_numpy()
    for run in levels["run"].unique():
        spec = study.run_record(run).spec
        run_levels, predictions = study.prediction_matrix(run)
        rows = table[(table["seed"] == spec.seed) & table["technique"].isin(["dense", spec.technique])]
        for level, prediction in zip(run_levels, predictions, strict=True):
            sparsity = levels[(levels["run"] == run) & (levels["level"] == level)]["sparsity"].iloc[0]
            mine = rows[rows["sparsity"] == sparsity].set_index("example")
            expected = mine.loc[examples["example_id"], "prediction"]
            assert names[prediction].tolist() == expected.tolist()
            assert names[examples["label"]].tolist() == mine.loc[examples["example_id"], "label"].tolist()


def write_csv(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False)


def write_pandas_index(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path)  # the index as a column without a name


def write_pandas_parquet(table: pd.DataFrame, path: Path) -> None:
    table.astype({"technique": "category"}).to_parquet(path)


def write_r(table: pd.DataFrame, path: Path) -> None:
    """As R's write.table: quoted text, and row names without a name in the header."""
    names = " ".join(f'"{name}"' for name in table)
    cells = table.map(lambda cell: f'"{cell}"' if isinstance(cell, str) else str(cell))
    lines = [f'"{number}"\t' + "\t".join(row) for number, row in enumerate(cells.to_numpy().tolist(), 1)]
    path.write_text("\n".join([names.replace(" ", "\t"), *lines]) + "\n")


def write_r_csv(table: pd.DataFrame, path: Path) -> None:
    """As R's write.csv: row names under an empty name."""
    table.to_csv(path, index_label="", quoting=2)


def write_german(table: pd.DataFrame, path: Path) -> None:
    """As R's write.csv2 and German Excel: semicolons, decimal commas, a byte-order mark, Windows line ends."""
    text = table.to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n")
    path.write_bytes(text.encode("utf-8-sig"))


def write_polars(table: pd.DataFrame, path: Path) -> None:
    polars.from_pandas(table).write_parquet(path, row_group_size=50)


def write_polars_csv(table: pd.DataFrame, path: Path) -> None:
    polars.from_pandas(table).write_csv(path)


def write_duckdb(table: pd.DataFrame, path: Path) -> None:
    rows = table  # duckdb finds it by this name
    assert len(rows)
    duckdb.sql("select * from rows").write_parquet(str(path))


WRITERS = [
    write_csv,
    write_pandas_index,
    write_pandas_parquet,
    write_r,
    write_r_csv,
    write_german,
    write_polars,
    write_polars_csv,
    write_duckdb,
]


@pytest.mark.parametrize("write", WRITERS)
def test_every_tool_s_file_imports_to_the_same_study(write: object, tmp_path: Path) -> None:
    table, path, study = long_table(), tmp_path / "file", Study(tmp_path / "study")
    write(table, path)  # type: ignore[operator]
    done = bring(path, study, {"constants": {"dataset": "animals"}})
    summary = done.example_sets[0]
    assert done.n_new == 4 and summary.groups == ("place", "site") and summary.attributes == ("age",)
    assert_same_predictions(study, table)
    examples = study.examples("animals")
    first = table.drop_duplicates("example").reset_index(drop=True)
    assert examples["site"].tolist() == first["site"].tolist() and examples["place"].tolist() == first["place"].tolist()
    np.testing.assert_allclose(examples["age"], first["age"])


def test_a_wide_table_imports_to_the_same_study(tmp_path: Path) -> None:
    write_csv(wide_table(), tmp_path / "wide.csv")
    study = Study(tmp_path / "study")
    bring(tmp_path / "wide.csv", study, {"constants": {"dataset": "animals"}})
    assert_same_predictions(study, long_table())


def test_columns_are_mapped_by_hand_and_the_rest_left_out(tmp_path: Path) -> None:
    table = long_table().rename(columns={"example": "a", "label": "b", "prediction": "c", "sparsity": "d"})
    write_csv(table.assign(noise="x"), tmp_path / "file.csv")
    study = Study(tmp_path / "study")
    mapping = {
        "columns": {"example": "a", "label": "b", "prediction": "c", "sparsity": "d"},
        "constants": {"dataset": "animals", "network": "forest"},
        "groups": ["site"],
    }
    bring(tmp_path / "file.csv", study, mapping)
    assert_same_predictions(study, long_table())
    assert list(study.examples("animals")) == ["example", "label", "example_id", "site"]
    assert study.levels()["network"].unique().tolist() == ["forest"]


def test_labels_may_be_numbers_in_any_dress(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": range(4), "y": [1, 2, 10, 1], "pred": [1.0, 2.0, 10.0, 2.0], "sparsity": 0.0})
    table["pred"] = table["pred"].astype(str)
    write_csv(table, tmp_path / "file.csv")
    study = Study(tmp_path / "study")
    bring(tmp_path / "file.csv", study)
    assert study.class_facts("imported")["name"].tolist() == ["1", "2", "10"]
    assert study.levels()["accuracy"].tolist() == [0.75]


def test_what_is_unknown_is_nan_and_the_catalog_bears_it(tmp_path: Path) -> None:
    write_csv(long_table(), tmp_path / "file.csv")
    study = Study(tmp_path / "study")
    bring(tmp_path / "file.csv", study)
    levels, classes = study.levels(), study.classes()
    assert levels[["loss", "validation_accuracy", "n_weights", "n_kept"]].isna().all().all()
    assert classes["loss"].isna().all() and classes["n"].sum() == len(levels) * N
    assert levels["protocol"].unique().tolist() == ["imported"]
    record = study.run_record(study.runs()[0])
    assert record.provenance["imported"] == "file.csv"


def test_scores_are_kept_and_make_a_loss(tmp_path: Path) -> None:
    table = long_table().assign(probability=0.5, margin=0.25)
    write_csv(table, tmp_path / "file.csv")
    study = Study(tmp_path / "study")
    bring(tmp_path / "file.csv", study)
    assert study.predictions(study.runs()[0])["probability"].eq(0.5).all()
    np.testing.assert_allclose(study.levels()["loss"], np.log(2))


def made_study(path: Path, scores: bool = True) -> Study:
    """Two runs as the engine writes them, with loss, scores, counts of weights and a class without a test example."""
    random, study = np.random.default_rng(1), Study(path)
    labels = random.integers(0, 3, 60)
    examples = pd.DataFrame(
        {
            "example": range(60),
            "label": labels,
            "series": random.choice(["hsf0", "@"], 60),
            "writer": random.integers(0, 9, 60),
            "tilt": random.normal(size=60),
        }
    )
    classes = pd.DataFrame(
        {
            "class": range(4),
            "name": ["+", "b", "c", "d"],
            "n_train": [9, 8, 7, 6],
            "n_test": np.bincount(labels, minlength=4),
            "entropy": [1.5, 1.25, 1.0, 0.1],
        }
    )
    study.write_examples("made-writers", examples, classes)
    for seed in range(2):
        spec = RunSpec("made", "lenet", "l1_structured", seed=seed, split="writers", epochs=3, keep_scores=scores)
        outcomes = [
            LevelResult(
                level=level,
                sparsity_asked=0.5 * level,
                n_weights=1000,
                n_kept=1000 - 499 * level,
                validation_accuracy=0.9,
                prediction=random.integers(0, 4, 60),
                probability=random.random(60).astype(np.float16),
                margin=random.random(60).astype(np.float16),
                loss=random.random(60),
            )
            for level in range(2)
        ]
        study.write_run(spec, run_tables(outcomes, labels, 4, scores), {"engine": "test", "seconds": 1.0})
    return study


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("scores", [True, False])
def test_an_export_imports_again_to_the_same_tables(ending: str, scores: bool, tmp_path: Path) -> None:
    first, again = made_study(tmp_path / "first", scores), Study(tmp_path / "again")
    n_rows, sidecar = export_study(first, tmp_path / f"out{ending}")
    assert n_rows == 2 * 2 * 60
    bring(tmp_path / f"out{ending}", again, sidecar=sidecar)
    assert again.runs() == first.runs() and again.example_sets() == first.example_sets()
    pd.testing.assert_frame_equal(again.examples("made-writers"), first.examples("made-writers"), check_dtype=False)
    pd.testing.assert_frame_equal(
        again.class_facts("made-writers"), first.class_facts("made-writers"), check_dtype=False
    )
    for key in first.runs():
        assert again.run_record(key).spec == first.run_record(key).spec
        pd.testing.assert_frame_equal(again.predictions(key), first.predictions(key), check_dtype=False)
        for name in TABLES:
            mine, theirs = again.run_table(key, name), first.run_table(key, name)
            pd.testing.assert_frame_equal(mine, theirs, check_dtype=False, rtol=1e-9)
            exact = [c for c in mine if c != "loss"]
            pd.testing.assert_frame_equal(mine[exact], theirs[exact], check_dtype=False, check_exact=True)


def test_an_export_without_its_sidecar_still_imports(tmp_path: Path) -> None:
    first, again = made_study(tmp_path / "first"), Study(tmp_path / "again")
    export_study(first, tmp_path / "out.parquet")
    with pytest.raises(PruneScopeError, match="'d' is no example's label"):
        bring(tmp_path / "out.parquet", again)
    bring(tmp_path / "out.parquet", again, {"classes": ["+", "b", "c", "d"]})
    assert sorted(again.levels()["accuracy"]) == sorted(first.levels()["accuracy"])


def test_exported_text_is_no_formula(tmp_path: Path) -> None:
    study = made_study(tmp_path / "first")
    export_study(study, tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text()
    assert '"\'@"' in text and '"\'+"' in text
    assert not {cell for line in text.splitlines() for cell in line.split(",") if cell.strip('"')[:1] in "=+@" and cell}
    safe = neutralised(pa.table({"a": ["=1+1", "-x", "ok", None, "-3", "@a"], "n": [-1, 2, 3, 4, 5, 6]}))
    assert safe["a"].to_pylist() == ["'=1+1", "'-x", "ok", None, "-3", "'@a"]
    assert safe["n"].to_pylist() == [-1, 2, 3, 4, 5, 6]


def test_a_second_import_adds_and_the_same_again_changes_nothing(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    table = long_table()
    write_csv(table[table["technique"] != "random"], tmp_path / "one.csv")
    write_csv(table[table["technique"] != "magnitude"], tmp_path / "two.csv")
    assert bring(tmp_path / "one.csv", study).n_new == 2
    before = study_content(study)
    assert bring(tmp_path / "one.csv", study).n_present == 2
    assert study_content(study) == before
    assert bring(tmp_path / "two.csv", study).n_new == 2
    assert len(study.runs()) == 4


def test_other_predictions_or_examples_by_the_same_name_are_refused(tmp_path: Path) -> None:
    study, table = Study(tmp_path / "study"), long_table()
    write_csv(table, tmp_path / "one.csv")
    bring(tmp_path / "one.csv", study)
    before = study_content(study)
    write_csv(table.assign(prediction="cat"), tmp_path / "two.csv")
    with pytest.raises(PruneScopeError, match="with other predictions"):
        bring(tmp_path / "two.csv", study)
    write_csv(
        table[table["example"] != "img000"].assign(technique="other", sparsity=0.5)[: N - 1], tmp_path / "three.csv"
    )
    with pytest.raises(PruneScopeError, match="other examples by the name 'imported'"):
        bring(tmp_path / "three.csv", study)
    assert study_content(study) == before


def test_the_command_line_brings_and_exports_by_a_child(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(long_table(), tmp_path / "file.csv")
    study = str(tmp_path / "study")
    assert main(["import", str(tmp_path / "file.csv"), "--study", study, "--set", "dataset=animals"]) == 0
    assert "animals: 4 runs, 10 models, 40 examples, 3 classes" in capsys.readouterr().out
    assert main(["export", "--study", study, "--to", str(tmp_path / "out.parquet")]) == 0
    assert "400 rows" in capsys.readouterr().out
    assert main(["import", str(tmp_path / "out.parquet"), "--study", str(tmp_path / "again")]) == 0
    assert Study(tmp_path / "again").runs() == Study(study).runs()
    assert main(["import", str(tmp_path / "none.csv"), "--study", study]) == 1
    assert main(["import", str(tmp_path / "file.csv"), "--study", study, "--map", "label"]) == 1
    assert "should look like ROLE=value" in capsys.readouterr().err


def test_a_preview_guesses_what_columns_mean(tmp_path: Path) -> None:
    table = long_table().rename(columns={"example": "id", "label": "y_true", "prediction": "y_pred"})
    write_csv(table, tmp_path / "file.csv")
    preview = preview_file(Source(tmp_path / "file.csv", "file.csv"))
    assert preview.mapping.columns == {
        **{"example": "id", "label": "y_true", "prediction": "y_pred"},
        **{"technique": "technique", "sparsity": "sparsity", "seed": "seed"},
    }
    assert preview.mapping.groups == ("place", "site") and preview.mapping.attributes == ("age",)
    assert len(preview.rows) == 8 and preview.rows[0]["y_true"] == "cat"


def test_wide_names_say_what_a_model_is() -> None:
    assert guessed_model("magnitude@0.9#2") == ModelFacts(technique="magnitude", sparsity=0.9, seed=2)
    assert guessed_model("magnitude@90%") == ModelFacts(technique="magnitude", sparsity=0.9, seed=0)
    assert guessed_model("dense#1") == ModelFacts(technique="dense", sparsity=0.0, seed=1)
    assert guessed_model("age") is None


def test_a_sidecar_says_what_columns_do_not(tmp_path: Path) -> None:
    table = wide_table()
    renamed = {name: f"m{number}" for number, name in enumerate(c for c in table if "#" in c)}
    models = {new: msgspec.to_builtins(guessed_model(old)) for old, new in renamed.items()}
    write_csv(table.rename(columns=renamed), tmp_path / "wide.csv")
    sidecar = tmp_path / "wide.csv.json"
    sidecar.write_text(json.dumps({"layout": "wide", "models": models, "constants": {"dataset": "animals"}}))
    bring(tmp_path / "wide.csv", Study(tmp_path / "study"), sidecar=sidecar)
    assert_same_predictions(Study(tmp_path / "study"), long_table())


def test_names_of_columns_are_found_whatever_their_case() -> None:
    mapping = fill_in_defaults(ColumnMapping(), ["Id", "Label", "Prediction", "Sparsity", "Age Group"], [])
    assert mapping.columns == {"example": "Id", "label": "Label", "prediction": "Prediction", "sparsity": "Sparsity"}
    assert mapping.groups == ("Age Group",)


def test_a_new_study_has_a_title(tmp_path: Path) -> None:
    write_csv(long_table(), tmp_path / "file.csv")
    study = Study(tmp_path / "study")
    import_file(Source(tmp_path / "file.csv", 'my "own" file.csv'), study)
    assert Study(study.path).info["title"] == 'my "own" file.csv'
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.csv", "study"], "nothing is left behind"
