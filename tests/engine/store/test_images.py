"""Images that a study carries: as they were, whole or refused, only where their licence allows it."""

from pathlib import Path

import numpy as np
import pytest

from engine.commands import main
from engine.datasets.dataset_table import DATASETS, Request, load_dataset
from engine.errors import PruneScopeError
from engine.store.images import SHEET, image_sets, images_name, read_images, write_images
from engine.store.study import Study
from engine.store.verification.verify import set_aside, verify_study
from tests.support.run_folders import made_study

DEMO = Study(Path(__file__).resolve().parents[3] / "data" / "demo")


@pytest.mark.parametrize(("n", "channels"), [(1, 1), (SHEET, 1), (SHEET + 1, 3), (150, 1)])
def test_images_come_back_as_they_were(tmp_path: Path, n: int, channels: int) -> None:
    draw = np.random.default_rng(n)
    images = draw.integers(0, 256, (n, channels, 7, 5)).astype(np.uint8)
    labels = draw.integers(0, 300, n)
    size = write_images(Study(tmp_path), "made-up", images, labels)
    assert size == (tmp_path / "images/made-up.parquet").stat().st_size
    found = read_images(Study(tmp_path), "made-up")
    assert found is not None
    np.testing.assert_array_equal(found[0], images)
    np.testing.assert_array_equal(found[1], labels)
    assert found[0].dtype == np.uint8 and found[0].flags["C_CONTIGUOUS"]
    assert read_images(Study(tmp_path), "others") is None and image_sets(Study(tmp_path)) == ["made-up"]


def test_a_changed_byte_is_refused_and_verify_names_and_removes_it(tmp_path: Path) -> None:
    study = made_study(tmp_path / "study", 1)
    study.levels()
    labels = study.examples("digits-official")["label"].to_numpy()
    images = np.zeros((len(labels), 1, 8, 8), np.uint8)
    write_images(study, "digits-official", images, labels)
    assert verify_study(study) == []
    write_images(study, "digits-official", images, (labels + 1) % 10)
    assert ["labels are not those" in fault.reason for fault in verify_study(study)] == [True]
    write_images(study, "digits-official", images, labels)
    file = study.path / "images/digits-official.parquet"
    content = bytearray(file.read_bytes())
    content[200] ^= 1
    file.write_bytes(content)
    with pytest.raises(PruneScopeError, match="is damaged"):
        read_images(study, "digits-official")
    (fault,) = verify_study(study)
    assert fault.name == "images/digits-official"
    set_aside(study, fault)
    assert verify_study(study) == [] and not file.exists()


def test_only_images_that_may_be_passed_on_are_laid_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cifar10", "utkface", "celeba"):
        assert main(["data", "images", name, "--study", str(tmp_path)]) == 1
        assert "may not be passed on" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert all(row.credit for row in DATASETS.values() if row.may_ship)


def test_the_command_lays_in_the_test_side_of_a_split(
    tiny_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "images", "qmnist", "--study", str(tmp_path), "--data", str(tiny_root)]) == 0
    assert "CC BY-SA 3.0" in capsys.readouterr().out
    test = load_dataset("qmnist", tiny_root, Request("writers")).test
    found = read_images(Study(tmp_path), "qmnist-writers")
    assert found is not None
    np.testing.assert_array_equal(found[0], test.images)


def test_the_study_that_ships_carries_the_images_of_its_examples() -> None:
    carried = image_sets(DEMO)
    assert carried == ["fashion-mnist-official", "qmnist-writers"]
    for dataset, split in (("fashion-mnist", "official"), ("qmnist", "writers")):
        found = read_images(DEMO, images_name(dataset, split))
        assert found is not None and found[0].shape[1:] == (1, 28, 28)
        np.testing.assert_array_equal(found[1], DEMO.examples(f"{dataset}-{split}")["label"])
    assert sum(path.stat().st_size for path in (DEMO.path / "images").iterdir()) < 10e6
