"""What is broken is named, set aside and made again; what is whole is left alone."""

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from engine.commands import main
from engine.errors import PruneScopeError
from engine.store import catalog
from engine.store.annotations import read_marks, write_mark
from engine.store.files import PLACEHOLDER, embed_checksum, file_digest, write_file
from engine.store.parquet import from_parquet, to_parquet
from engine.store.study import Study
from engine.store.verification import run_checks
from engine.store.verification.verify import Fault, set_aside, verify_study
from tests.engine.store.test_files import dead_owner_name
from tests.support.harness.turns import FULL, TURN
from tests.support.run_folders import SPEC, made_study, made_tables
from tests.support.uploads import bring, long_table

RUN = f"runs/{SPEC.key}"
FILES = (
    f"{RUN}/spec.json",
    f"{RUN}/levels.parquet",
    f"{RUN}/classes.parquet",
    f"{RUN}/predictions.parquet",
    f"{RUN}/validation.parquet",
    f"{RUN}/losses.parquet",
    f"{RUN}/checkpoints/level-001.safetensors",
    "examples/digits-official.parquet",
    "examples/digits-official.classes.parquet",
    "examples/digits-official-train.parquet",
    "catalog/index.json",
    "catalog/levels-*",
    "dense/0123456789ab.safetensors",
)


def names(study: Study) -> list[str]:
    return [fault.name for fault in verify_study(study)]


def whole_study(path: Path) -> Study:
    """Two runs, their catalog, and a dense network."""
    from safetensors.numpy import save

    study = made_study(path, 2)
    study.levels()
    dense = save({"weights": made_tables(SPEC).levels["accuracy"].to_numpy()}, {"sha256": PLACEHOLDER.decode()})
    write_file(study.dense_file("0123456789ab"), embed_checksum(dense))
    assert verify_study(study) == []
    return study


@pytest.mark.parametrize("name", FILES)
def test_torn_and_flipped_bytes_are_found_and_harm_no_other_run(tmp_path: Path, name: str) -> None:
    """Tries for each of 13 kinds of files: cut short or with a byte changed, at random places, others each day; twenty
    with PRUNESCOPE_FULL, else four."""
    study, draw = whole_study(tmp_path), random.Random(f"{name} {TURN}")
    path = next(tmp_path.glob(name))
    whole, other = path.read_bytes(), replace(SPEC, seed=1).key
    owners = (RUN, "examples/digits-official-train", "examples/digits-official", "catalog", name)
    owner = next(part for part in owners if name.startswith(part))
    for number in range(20 if FULL else 4):
        place = draw.randrange(len(whole))
        torn = (
            whole[:place]
            if number % 2
            else whole[:place] + bytes([whole[place] ^ draw.randrange(1, 256)]) + whole[place + 1 :]
        )
        path.write_bytes(torn)
        assert owner in names(study), f"byte {place} of {len(whole)}, {'cut' if number % 2 else 'changed'}"
        if number % 4 < 2:
            shutil.rmtree(tmp_path / "catalog")
        levels = study.levels()
        assert len(levels[levels["run"] == other]) == 3
        if owner != "examples/digits-official":
            assert study.prediction_matrix(other)[1].shape == (3, 60)
        path.parent.mkdir(exist_ok=True)
        if owner == "catalog":
            shutil.rmtree(tmp_path / "catalog")
            study.levels()
            path = next(tmp_path.glob(name))
            whole = path.read_bytes()
        else:
            path.write_bytes(whole)


def rewrite_table(study: Study, name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Change a table of a run and make all checksums fit again, as a faulty engine would."""
    folder = study.path / RUN
    table = change(from_parquet((folder / f"{name}.parquet").read_bytes(), name).to_pandas())
    (folder / f"{name}.parquet").write_bytes(to_parquet(table, name))
    values = json.loads((folder / "spec.json").read_text())
    values["files"][f"{name}.parquet"] = file_digest((folder / f"{name}.parquet").read_bytes())
    values["sha256"] = PLACEHOLDER.decode()
    (folder / "spec.json").write_bytes(embed_checksum(json.dumps(values, indent=1).encode()))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("levels", lambda t: t.iloc[:2], "it has 2 levels, its spec asks for 3"),
        ("levels", lambda t: t.assign(level=[0, 2, 1]), "numbers of its levels do not grow"),
        ("levels", lambda t: t.assign(accuracy=t["accuracy"] + 0.01), "accuracy"),
        ("classes", lambda t: t.iloc[:-1], "levels of its classes"),
        ("classes", lambda t: t.assign(n=t["n"] + 1), "classes' n "),
        ("classes", lambda t: t.assign(correct=t["correct"].to_numpy()[::-1]), "classes' correct"),
        ("classes", lambda t: t.assign(predicted=t["predicted"] + 1), "classes' predicted"),
        ("predictions", lambda t: t.iloc[::-1], "levels of its predictions"),
        ("predictions", lambda t: t.assign(offset=[row[:-1] for row in t["offset"]]), "examples in offset"),
        ("predictions", lambda t: t.assign(margin=[row[:-2] for row in t["margin"]]), "examples in margin"),
        ("predictions", lambda t: t.drop(columns="probability"), "probability"),
        ("validation", lambda t: t.iloc[:2], "levels of its validation"),
        ("validation", lambda t: t.assign(offset=[row[:-1] for row in t["offset"]]), "more or fewer predictions"),
        ("validation", lambda t: t.assign(offset=[bytes(20)] * 3), "differs from the validation accuracy"),
        ("validation", lambda t: t.assign(offset=[b"\x03" * 20] * 3), "none of the classes"),
        ("validation", lambda t: t.assign(rows=[None] * 3), "say once which training rows"),
        ("validation", lambda t: t.assign(rows=[t["rows"][0]] * 3), "say once which training rows"),
        ("validation", lambda t: t.assign(rows=[bytes(20) + b"\xff\xff\xf0", None, None]), "none of the training"),
        ("losses", lambda t: t[t["level"] < 2], "levels of its losses"),
        ("losses", lambda t: t[t["grouping"] != "class"], "groupings of its losses"),
        ("losses", lambda t: t.replace({"grouping": {"side": "hand"}}), "groupings of its losses"),
        ("losses", lambda t: t.replace({"group": {"l": "r", "r": "l"}}), "count examples otherwise"),
        ("losses", lambda t: t.assign(correct=t["correct"] + 1), "count examples otherwise"),
        ("losses", lambda t: t.assign(cut_correct=t["n"] + 1), "right answers after the cut"),
        ("losses", lambda t: t.assign(loss=1.01 * t["loss"]), "differ from the loss of its levels"),
        ("losses", lambda t: t.assign(cut_loss=t["cut_loss"] + (t["grouping"] == "side")), "differ between groupings"),
    ],
)
def test_tables_that_contradict_each_other_are_found(tmp_path: Path, name: str, change: Callable, message: str) -> None:
    study = made_study(tmp_path, 2)
    rewrite_table(study, name, change)
    (fault,) = verify_study(study)
    assert fault.name == RUN and message in fault.reason


def test_files_that_lack_or_do_not_belong_are_found(tmp_path: Path) -> None:
    study = made_study(tmp_path, 3)
    first, second, third = study.runs()
    (tmp_path / "runs" / first / "levels.parquet").unlink()
    (tmp_path / "runs" / second / "note.txt").write_text("mine")
    (tmp_path / "runs" / third / "spec.json").unlink()
    (tmp_path / "runs" / "stray").mkdir()
    reasons = {fault.name: fault.reason for fault in verify_study(study)}
    assert "levels.parquet is missing" in reasons[f"runs/{first}"]
    assert "note.txt does not belong" in reasons[f"runs/{second}"]
    assert "spec.json is missing" in reasons[f"runs/{third}"] and "runs/stray" in reasons


def test_a_catalog_that_contradicts_its_runs_is_found(tmp_path: Path) -> None:
    study = made_study(tmp_path, 2)
    other = made_study(tmp_path / "other", 2)
    shutil.rmtree(tmp_path / "other" / "runs" / SPEC.key)
    other.write_run(SPEC, made_tables(replace(SPEC, seed=5)), {})
    other.levels()
    shutil.copytree(tmp_path / "other" / "catalog", tmp_path / "catalog")
    (fault,) = verify_study(study)
    assert fault == Fault("catalog", "Its runs and levels and classes differ from those of the runs.")


def test_a_broken_run_is_set_aside_with_its_reason_and_can_be_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = whole_study(tmp_path)
    for number in (1, 2):
        file = tmp_path / RUN / "classes.parquet"
        file.write_bytes(file.read_bytes()[:-9])
        assert main(["verify", "--study", str(tmp_path), "--keep"]) == 1
        assert "classes.parquet is damaged" in capsys.readouterr().out and file.exists()
        assert main(["verify", "--study", str(tmp_path)]) == 1
        said = capsys.readouterr().out
        aside = tmp_path / "broken" / f"{SPEC.key}-{number}"
        assert f"set aside in broken/{aside.name}" in said and "1 broken" in said
        assert "classes.parquet is damaged" in (aside / "reason.txt").read_text()
        assert study.runs() == [replace(SPEC, seed=1).key]
        assert catalog.refresh(study).runs["run"].tolist() == study.runs()
        assert main(["verify", "--study", str(tmp_path)]) == 0
        assert "all whole" in capsys.readouterr().out
        assert study.write_run(SPEC, made_tables(SPEC), {})
        assert study.levels()["run"].nunique() == 2


def test_broken_examples_go_aside_and_what_can_be_made_anew_goes(tmp_path: Path) -> None:
    study = whole_study(tmp_path)
    for name in ("examples/digits-official.parquet", "catalog/index.json", "dense/0123456789ab.safetensors"):
        (tmp_path / name).write_bytes(b"torn")
    (tmp_path / "study.toml").write_text("title =")
    did = {fault.name: set_aside(study, fault) for fault in verify_study(Study(tmp_path))}
    assert did == {
        "study.toml": "left as it is; mend it by hand",
        "examples/digits-official": "set aside in broken/digits-official-1",
        "catalog": "made anew from the runs",
        "dense/0123456789ab.safetensors": "removed; it is made again when it is needed",
    }
    assert len(list((tmp_path / "broken" / "digits-official-1").iterdir())) == 3
    assert study.example_sets() == []
    (tmp_path / "study.toml").unlink()
    (fault,) = verify_study(Study(tmp_path))
    assert fault.name == "examples/digits-official" and set_aside(study, fault) == "the next sweep makes it"


def test_what_was_imported_is_whole(tmp_path: Path) -> None:
    long_table().to_csv(tmp_path / "animals.csv", index=False)
    study = Study(tmp_path / "study")
    bring(tmp_path / "animals.csv", study)
    assert study.runs() and verify_study(study) == []


def test_leftovers_are_no_fault_and_are_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_study(tmp_path, 1)
    left = dead_owner_name(tmp_path / "examples" / "x")
    left.write_bytes(b"half")
    assert main(["verify", "--study", str(tmp_path), "--keep"]) == 0
    assert "1 leftovers of killed processes are there" in capsys.readouterr().out and left.exists()
    assert main(["verify", "--study", str(tmp_path)]) == 0
    assert not left.exists() and os.listdir(tmp_path / "work") == []


def test_a_study_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--study", str(tmp_path / "absent")]) == 1
    assert "There is no study" in capsys.readouterr().err


def test_a_reader_of_a_broken_run_is_told(tmp_path: Path) -> None:
    study = made_study(tmp_path, 1)
    (tmp_path / RUN / "predictions.parquet").write_bytes(b"")
    with pytest.raises(PruneScopeError, match="damaged"):
        study.predictions(SPEC.key)


def test_several_processes_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = made_study(tmp_path, 5)
    study.levels()
    for seed, name in ((1, "levels"), (3, "predictions")):
        file = tmp_path / "runs" / replace(SPEC, seed=seed).key / f"{name}.parquet"
        file.write_bytes(file.read_bytes()[:-1])
    alone = verify_study(study)
    monkeypatch.setattr(run_checks, "FEW", 2)
    assert verify_study(study, workers=2) == alone and len(alone) == 2


def test_a_look_at_what_changed_passes_the_rest_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, file = whole_study(tmp_path), tmp_path / RUN / "levels.parquet"

    def said(*options: str) -> str:
        main(["verify", "--study", str(tmp_path), "--workers", "1", *options])
        return capsys.readouterr().out

    assert "2 runs (0 are as they were)" in said("--changed")
    assert "0 runs (2 are as they were)" in said("--changed")
    whole, times = file.read_bytes(), file.stat()
    file.write_bytes(whole[:-1] + b"?")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert f"{RUN}: " in said("--changed", "--keep")
    file.write_bytes(whole)
    assert "1 runs (1 are as they were)" in said("--changed")
    os.utime(tmp_path / "examples" / "digits-official.parquet")
    assert "2 runs (0 are as they were)" in said("--changed")
    (tmp_path / "catalog" / "verified.json").write_bytes(b"{}")
    assert "2 runs (0 are as they were)" in said("--changed") and "2 runs and" in said()
    assert study.runs()


@pytest.mark.parametrize("name", ["failures/0123456789ab.json", "jobs/1.json", "decisions/first.json"])
def test_small_files_that_cannot_be_read_are_found_and_set_aside(tmp_path: Path, name: str) -> None:
    study = made_study(tmp_path, 1)
    write_file(tmp_path / name, b'{"run": "0123456789ab", "reason": "b"}')
    assert verify_study(study) == []
    for content in (b'{"run": "a", "rea', b"[3]", b"\xff{}"):
        write_file(tmp_path / name, content)
        (fault,) = verify_study(study)
        assert fault.name == name and "set aside in broken/" in set_aside(study, fault)
        assert verify_study(study) == []


@pytest.mark.parametrize(
    "content", [b"{", b"{}", b'{"schema": 1, "example": 1e400, "mark": "hard", "note": "", "time": ""}']
)
def test_marks_that_nobody_wrote_are_found_and_set_aside(tmp_path: Path, content: bytes) -> None:
    study = made_study(tmp_path, 1)
    write_mark(study, "digits-official", 3, "hard")
    assert verify_study(study) == []
    write_file(tmp_path / "marks" / "digits-official" / "4.json", content)
    assert read_marks(study, "digits-official")["example"].tolist() == [3]
    (fault,) = verify_study(study)
    assert fault.name == "marks/digits-official/4.json" and "set aside" in set_aside(study, fault)
    assert verify_study(study) == [] and len(read_marks(study, "digits-official")) == 1
