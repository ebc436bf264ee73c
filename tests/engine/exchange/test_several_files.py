"""Files as people have them: one model a file, in any order, at once or one by one, give the study of one file."""

import gzip
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.commands import main
from engine.errors import PruneScopeError
from engine.exchange import sandbox
from engine.exchange.sandbox import Imported, Source
from engine.exchange.sidecar import mapping_from_json
from engine.exchange.sources.several import found_files, path_facts
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.support.harness.seed import SEED
from tests.support.uploads import answer_here, long_table, study_content

MODEL = ["technique", "sparsity", "seed"]
N_MODELS = 12
N_SHUFFLES = 100


def bring_all(paths: Sequence[Path], study: Study, append: bool = False, **mapping: object) -> Imported:
    """Import files in this process, as the command line does."""
    first, *others = (Source(file.path, file.name, None, file.facts) for file in found_files(paths))
    source = Source(first.path, first.name, None, first.facts, "", tuple(others))
    ask_child, sandbox.ask_child = sandbox.ask_child, answer_here
    try:
        return sandbox.import_file(source, study, mapping_from_json(mapping), append=append)
    finally:
        sandbox.ask_child = ask_child


def said(study: Study) -> dict[str, object]:
    """All that a study says: its examples, and by run the tables of it."""
    tables = {name: study.examples(name).to_dict("list") for name in study.example_sets()}
    classes = {name: study.class_facts(name).to_dict("list") for name in study.example_sets()}
    runs = {key: study.run_record(key).files for key in study.runs()}
    return {"examples": tables, "classes": repr(classes), "runs": runs}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Twelve models: three seeds of a dense network and of three pruned ones."""
    table = long_table(n=30, seeds=3)
    assert len(table[MODEL].drop_duplicates()) == N_MODELS
    return table


@pytest.fixture(scope="module")
def whole(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The study that one file gives."""
    folder = tmp_path_factory.mktemp("whole")
    table.to_csv(folder / "all.csv", index=False)
    study = Study(folder / "study")
    bring_all([folder / "all.csv"], study)
    return study


@pytest.fixture(scope="module")
def files(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One model a file, examples in another order in each."""
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for number, (_, rows) in enumerate(table.groupby(MODEL)):
        path = folder / f"run-{number}" / "predictions.csv"
        path.parent.mkdir()
        rows.sample(frac=1, random_state=number).to_csv(path, index=False)
        paths.append(path)
    return paths


def dealt_files(table: pd.DataFrame, folder: Path, draw: random.Random) -> list[Path]:
    """One model a file, which model in which file by chance, and so the order of rows, of columns and the format.

    Files are read in the order of their names, so that which model is read first is chance too.
    """
    models = [rows for _, rows in table.groupby(MODEL)]
    paths = []
    for number, rows in enumerate(draw.sample(models, len(models))):
        mixed = rows.sample(frac=1, random_state=draw.randrange(1 << 30))[draw.sample(list(rows), rows.shape[1])]
        path = folder / f"{number:02}.{draw.choice(['csv', 'csv.gz', 'jsonl', 'parquet'])}"
        if path.suffix == ".parquet":
            mixed.to_parquet(path, index=False)
        elif path.suffix == ".jsonl":
            mixed.to_json(path, orient="records", lines=True)
        else:
            mixed.to_csv(path, index=False)
        paths.append(path)
    return draw.sample(paths, len(paths))


def kept(study: Study) -> dict[str, object]:
    """Every byte of its runs' tables, their settings, and its examples, whose columns stand as the first file has them.

    Where runs come from may differ.
    """
    files: dict[str, object] = {
        name: content for name, content in study_content(study).items() if re.match(r"runs/.*\.parquet$", name)
    }
    for name in study.example_sets():
        files[name] = study.examples(name).sort_index(axis=1).to_csv()
        files[f"{name} classes"] = study.class_facts(name).to_csv()
    return files | {key: study.run_record(key).spec for key in study.runs()}


def test_twelve_files_in_any_order_give_the_study_of_one(table: pd.DataFrame, whole: Study, tmp_path: Path) -> None:
    draw, expected = random.Random(SEED), kept(whole)
    assert len(expected) == 2 + 6 * 4, "a table of examples, one of classes; three tables and settings of six runs"
    firsts = set()
    for number in range(N_SHUFFLES):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths = dealt_files(table, folder, draw)
        firsts.add(min(paths).read_bytes())
        study = Study(folder / "study")
        bring_all(paths, study)
        found = kept(study)
        assert found.keys() == expected.keys(), number
        assert [name for name in expected if found[name] != expected[name]] == [], number
    assert len(firsts) > N_SHUFFLES / 2, "the shuffles differ"


def test_a_shuffle_that_changes_an_answer_is_seen(table: pd.DataFrame, whole: Study, tmp_path: Path) -> None:
    other = table.copy()
    other.loc[17, "prediction"] = "owl" if other.loc[17, "prediction"] != "owl" else "cat"
    study = Study(tmp_path / "study")
    bring_all(dealt_files(other, tmp_path, random.Random(SEED)), study)
    assert [name.split("/")[-1] for name, value in kept(study).items() if value != kept(whole)[name]] != []


@pytest.mark.parametrize("seed", range(6))
def test_files_that_are_appended_one_by_one_give_the_study_of_one(
    files: list[Path], whole: Study, seed: int, tmp_path: Path
) -> None:
    study = Study(tmp_path / "study")
    for path in random.Random(seed).sample(files, len(files)):
        bring_all([path], study, append=True)
        assert not (study.path / "incoming").exists() and verify_study(study) == []
    assert said(study) == said(whole)


def test_appending_again_changes_nothing_and_other_answers_are_refused(
    files: list[Path], whole: Study, table: pd.DataFrame, tmp_path: Path
) -> None:
    study = Study(tmp_path / "study")
    bring_all(files[:6], study, append=True)
    before = said(study)
    assert bring_all(files[2:4], study, append=True).n_new == 0 and said(study) == before
    changed = pd.read_csv(files[3])
    changed.loc[4, "prediction"] = "owl" if changed.loc[4, "prediction"] != "owl" else "cat"
    changed.to_csv(tmp_path / "changed.csv", index=False)
    with pytest.raises(PruneScopeError, match="stands twice for the same model; the first time is the study"):
        bring_all([tmp_path / "changed.csv"], study, append=True)
    assert said(study) == before


def test_a_dense_model_may_come_last(table: pd.DataFrame, whole: Study, tmp_path: Path) -> None:
    study, dense = Study(tmp_path / "study"), table["technique"] == "dense"
    table[~dense].to_csv(tmp_path / "pruned.csv", index=False)
    table[dense].to_csv(tmp_path / "dense.csv", index=False)
    bring_all([tmp_path / "pruned.csv"], study, append=True)
    assert (study.levels()["level"] > 0).all(), "nothing pruned is called dense"
    bring_all([tmp_path / "dense.csv"], study, append=True)
    assert said(study) == said(whole)


def test_other_kinds_of_files_say_the_same(table: pd.DataFrame, whole: Study, tmp_path: Path) -> None:
    text = table.to_csv(index=False).encode()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text))
    lines = "".join(json.dumps(row) + "\n" for row in table.to_dict("records")).encode()
    (tmp_path / "b.jsonl").write_bytes(lines)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines))
    for name in ("a.csv.gz", "b.jsonl", "c.jsonl.gz"):
        study = Study(tmp_path / f"from-{name}")
        bring_all([tmp_path / name], study)
        assert said(study) == said(whole), name


def test_a_folder_of_parquet_may_say_models_by_its_folders(table: pd.DataFrame, whole: Study, tmp_path: Path) -> None:
    pq.write_to_dataset(pa.Table.from_pandas(table), tmp_path / "parts", partition_cols=MODEL)
    study = Study(tmp_path / "study")
    bring_all([tmp_path / "parts"], study)
    assert said(study) == said(whole)


def test_labels_may_stand_in_a_file_of_their_own_and_models_be_named_by_files(
    table: pd.DataFrame, whole: Study, tmp_path: Path
) -> None:
    facts = ["example", "label", "place", "site", "age"]
    table[facts].drop_duplicates().to_csv(tmp_path / "examples.csv", index=False)
    for (technique, sparsity, seed), rows in table.groupby(MODEL):
        at = "" if technique == "dense" else f"@{sparsity}"
        rows[["example", "prediction"]].to_csv(tmp_path / f"{technique}{at}#{seed}.csv", index=False)
    study = Study(tmp_path / "study")
    bring_all([tmp_path], study)
    assert said(study) == said(whole)


def test_costs_are_facts_of_models_not_groups(table: pd.DataFrame, tmp_path: Path) -> None:
    costs = {"params": 1000 * (1 - table["sparsity"]), "latency_ms": 2.5, "bits": 8}
    table.assign(**costs).to_csv(tmp_path / "all.csv", index=False)
    study = Study(tmp_path / "study")
    (summary,) = bring_all([tmp_path / "all.csv"], study).example_sets
    assert set(summary.groups) == {"place", "site"} and summary.attributes == ("age",)
    sizes = study.run_tables(study.levels(), "sizes")
    assert sizes["params"].tolist() == pytest.approx((1000 * (1 - sizes["sparsity"])).tolist())
    assert set(sizes["bits"]) == {8} and set(sizes["latency_ms"]) == {2.5}


def test_fewer_bits_are_levels_without_sparsity(table: pd.DataFrame, tmp_path: Path) -> None:
    rows = table[(table["seed"] == 0) & (table["sparsity"] < 0.9)].drop(columns="sparsity")
    dense, other = (rows[rows["technique"] == name] for name in ("dense", "magnitude"))
    parts = [dense.assign(bits=16), other.assign(bits=8, technique="gptq"), other.assign(bits=4, technique="gptq")]
    pd.concat(parts).to_csv(tmp_path / "bits.csv", index=False)
    study = Study(tmp_path / "study")
    bring_all([tmp_path / "bits.csv"], study)
    sizes = study.run_tables(study.levels(), "sizes")
    assert sizes[["level", "bits", "sparsity"]].values.tolist() == [[0, 16, 0], [1, 8, 0], [2, 4, 0]]


def test_a_refusal_names_the_file(table: pd.DataFrame, files: list[Path], tmp_path: Path) -> None:
    wrong = pd.read_csv(files[5])
    wrong.loc[3, "label"] = "owl" if wrong.loc[3, "label"] != "owl" else "cat"
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    with pytest.raises(PruneScopeError, match=r"Column 'label', row \d+: .* contradicts row \d+ of .*predictions.csv"):
        bring_all([*files[:5], tmp_path / "wrong.csv"], Study(tmp_path / "study"))
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(PruneScopeError, match=r"empty.csv: The file is empty"):
        bring_all([*files[:2], tmp_path / "empty.csv"], Study(tmp_path / "study"))
    with pytest.raises(PruneScopeError, match="has no row for example"):
        wrong.head(7).drop(columns="label").to_csv(tmp_path / "wrong.csv", index=False)
        bring_all([*files[:5], tmp_path / "wrong.csv"], Study(tmp_path / "study"))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(table.to_csv(index=False).encode())[:-40])
    with pytest.raises(PruneScopeError):
        bring_all([tmp_path / "cut.csv.gz"], Study(tmp_path / "study"))
    assert not (tmp_path / "study").exists()


def test_paths_say_what_folders_and_names_say() -> None:
    assert path_facts(Path("x/technique=snip/sparsity=0.9/part-0.parquet")) == {"technique": "snip", "sparsity": "0.9"}
    assert path_facts(Path("runs/magnitude@0.9#2/predictions.csv")) == {
        "technique": "magnitude",
        "sparsity": 0.9,
        "seed": 2,
    }
    assert path_facts(Path("runs/3/predictions.csv")) == {}


def test_the_command_takes_several_files(files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", *map(str, files[:3]), "--study", str(tmp_path / "s")]) == 0
    assert main(["import", str(files[3].parent), "--append", "--study", str(tmp_path / "s")]) == 0
    assert "models" in capsys.readouterr().out and len(Study(tmp_path / "s").levels())
