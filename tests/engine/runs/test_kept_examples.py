"""The data's content belongs to a run: changed labels, groups or images are refused, and `verify` looks as well."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.runs import workspace
from engine.runs.run import run_experiment
from engine.store.parquet import from_parquet, to_parquet
from engine.store.run_files import spec_file
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.support import datasets as tiny

SPEC = RunSpec(
    "folder", "lenet", "global_unstructured", levels=1, epochs=1, batch_size=4, image_size=16, validation=0.5
)


def swap_two_labels(folder: Path) -> None:
    """Exchange the first test images of two classes, with their lines in groups.csv as they are."""
    cat, dog = (sorted((folder / "test" / name).iterdir())[0] for name in ("cat", "dog"))
    first, second = cat.read_bytes(), dog.read_bytes()
    cat.write_bytes(second)
    dog.write_bytes(first)


def paint_a_training_image(folder: Path) -> None:
    path = sorted((folder / "train" / "cat").iterdir())[0]
    pixels = np.asarray(Image.open(path)).copy()
    pixels[12:18] = 255 - pixels[12:18]
    Image.fromarray(pixels).save(path)


def move_to_another_class(folder: Path) -> None:
    """Call a cat a dog, as whoever corrects labels does."""
    path = sorted((folder / "test" / "cat").iterdir())[0]
    path.rename(folder / "test" / "dog" / "9.png")
    groups = folder / "groups.csv"
    groups.write_text(groups.read_text().replace(f"test/cat/{path.name}", "test/dog/9.png"))


def rename_a_group(folder: Path) -> None:
    path = folder / "groups.csv"
    lines = path.read_text().splitlines()
    cells = lines[1].split(",")
    cells[-1] = "elsewhere"
    path.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")


def run_anew(study: Study, root: Path, seed: int) -> None:
    """Run as a process of its own would: nothing of the data is in memory."""
    workspace._on_device.cache_clear()
    run_experiment(replace(SPEC, seed=seed), study, root, "cpu")


@pytest.fixture
def folder_study(tmp_path: Path) -> tuple[Study, Path]:
    """A study of one run on a small folder of images, and the data root."""
    root = tmp_path / "data"
    tiny.write_folder(root)
    study = Study(tmp_path / "study")
    run_anew(study, root, 0)
    return study, root


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (swap_two_labels, "images have changed"),
        (paint_a_training_image, "images have changed"),
        (move_to_another_class, "1 of its 4 test examples have another label"),
        (rename_a_group, "examples have another"),
    ],
)
def test_a_run_on_changed_data_is_refused_in_words(
    folder_study: tuple[Study, Path], change: Callable[[Path], None], words: str
) -> None:
    study, root = folder_study
    change(root / "folder")
    with pytest.raises(PruneScopeError, match=words) as refusal:
        run_anew(study, root, 1)
    assert "another study" in str(refusal.value) and len(study.runs()) == 1
    assert verify_study(study) == []


def test_the_same_data_go_on_and_every_run_says_their_digest(folder_study: tuple[Study, Path]) -> None:
    study, root = folder_study
    run_anew(study, root, 1)
    said = {study.run_record(key).provenance["data_sha256"] for key in study.runs()}
    assert said == {study.data_digest(study.example_sets()[0])} and len(study.runs()) == 2


def test_labels_are_compared_where_an_older_engine_kept_no_digest(folder_study: tuple[Study, Path]) -> None:
    study, root = folder_study
    file = study.path / "examples" / f"{study.example_sets()[0]}.parquet"
    table = from_parquet(file.read_bytes(), file.name)
    file.write_bytes(to_parquet(table, "examples", seal=True))
    run_anew(study, root, 1)
    labels = table["label"].to_numpy().copy()
    labels[:2] = labels[:2][::-1] if labels[0] != labels[1] else 1 - labels[:2]
    file.write_bytes(to_parquet(table.set_column(1, "label", [labels]), "examples", seal=True))
    with pytest.raises(PruneScopeError, match="have another label"):
        run_anew(study, root, 2)


def test_verify_finds_a_run_of_other_data(folder_study: tuple[Study, Path]) -> None:
    study, _ = folder_study
    key = study.runs()[0]
    record = study.run_record(key)
    other = replace(record, provenance=record.provenance | {"data_sha256": "0" * 64})
    (study.path / "runs" / key / "spec.json").write_bytes(spec_file(other))
    assert [fault.name for fault in verify_study(study)] == [f"runs/{key}"]
    assert "other data" in verify_study(study)[0].reason
