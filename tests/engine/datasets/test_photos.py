"""Photographs: CelebA, UTKFace and the user's own folders, with every way in which the latter go wrong."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.datasets.dataset_table import Request, data_root, load_dataset
from engine.datasets.readers.faces import CELEBA_ATTRIBUTES
from engine.datasets.readers.photos import read_photos
from engine.errors import PruneScopeError
from tests.support import datasets as tiny

ROOT = data_root()


def test_photo_is_cut_to_its_centre(tmp_path: Path) -> None:
    pixels = np.zeros((20, 60, 3), np.uint8)
    pixels[:, 20:40] = (10, 200, 90)
    tiny.write_image(tmp_path / "wide.png", pixels)
    photo = read_photos([tmp_path / "wide.png"], 10)[0]
    assert photo.shape == (3, 10, 10)
    assert (photo[:, :, 1:-1] == np.array([10, 200, 90])[:, None, None]).all()


def test_photo_is_turned_as_its_camera_was(tmp_path: Path) -> None:
    pixels = np.zeros((16, 16), np.uint8)
    pixels[:8] = 255
    exif = Image.Exif()
    exif[0x0112] = 3
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    assert read_photos([tmp_path / "turned.png"], 16, n_channels=1)[0, 0, 12].min() == 255


def test_sixteen_bits_are_refused_rather_than_clipped(tmp_path: Path) -> None:
    tiny.write_image(tmp_path / "deep.png", np.full((8, 8), 30_000, np.uint16))
    with pytest.raises(PruneScopeError, match="8 bits per channel"):
        read_photos([tmp_path / "deep.png"], 8)


def test_celeba_takes_target_and_groups_by_name(tiny_root: Path) -> None:
    dataset = load_dataset("celeba", tiny_root)
    assert tuple(tiny.CELEBA_NAMES.split()) == CELEBA_ATTRIBUTES
    assert dataset.classes == ("not Blond_Hair", "Blond_Hair")
    assert list(dataset.train.labels) == [1, 0, 1, 0, 1, 0] and list(dataset.test.labels) == [1, 0]
    assert list(dataset.train.groups["Male"]) == ["yes", "no", "no", "yes", "no", "no"]
    assert dataset.train.images.shape == (6, 3, 64, 64)
    other = load_dataset("celeba", tiny_root, Request(target="Male", groups=("Bald", "Blond_Hair"), image_size=32))
    assert list(other.train.labels) == [1, 0, 0, 1, 0, 0]
    assert list(other.test.groups) == ["Bald", "Blond_Hair"] and other.test.images.shape == (2, 3, 32, 32)


def test_celeba_default_group_gives_way_to_the_target(tiny_root: Path) -> None:
    assert list(load_dataset("celeba", tiny_root, Request(target="Male")).test.groups) == ["Young"]


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("list_attr_celeba.txt", lambda text: text.replace("10\n", "12\n", 1), "says '12' images and has 10 rows"),
        ("list_attr_celeba.txt", lambda text: text.replace("Bald ", "Hairless "), "CelebA's 40 attributes"),
        ("list_attr_celeba.txt", lambda text: "", "is not a table"),
        ("list_eval_partition.txt", lambda text: text[:-13], "10 images and list_eval_partition.txt 9"),
    ],
)
def test_celeba_lists_must_agree(name: str, change: Callable[[str], str], reason: str, tmp_path: Path) -> None:
    tiny.write_celeba(tmp_path)
    path = tmp_path / "celeba" / name
    path.write_text(change(path.read_text()))
    with pytest.raises(PruneScopeError, match=reason):
        load_dataset("celeba", tmp_path)


@pytest.mark.parametrize(
    ("target", "n_classes", "groups"),
    [("ethnicity", 5, {"age", "gender"}), ("age", 9, {"ethnicity", "gender"}), ("gender", 2, {"ethnicity", "age"})],
)
def test_utkface_reads_its_file_names(target: str, n_classes: int, groups: set[str], tiny_root: Path) -> None:
    dataset = load_dataset("utkface", tiny_root, Request(target=target, image_size=8))
    assert len(dataset.classes) == n_classes and set(dataset.test.groups) == groups
    assert len(dataset.train.labels) + len(dataset.test.labels) == 30
    assert 0 < len(dataset.test.labels) < len(dataset.train.labels)


def test_utkface_bins_ages(tmp_path: Path) -> None:
    for side in range(20):
        tiny.write_image(tmp_path / "UTKFace" / f"19_1_3_{side}.jpg", tiny.noise(8, 8, 3))
        tiny.write_image(tmp_path / "UTKFace" / f"116_0_4_{side}.jpg", tiny.noise(8, 8, 3))
    groups = load_dataset("utkface", tmp_path).train.groups
    assert set(zip(groups["age"], groups["gender"], strict=True)) == {("10-19", "female"), ("80 and over", "male")}


def test_utkface_without_one_good_name_is_refused(tmp_path: Path) -> None:
    tiny.write_image(tmp_path / "UTKFace" / "face.jpg", tiny.noise(8, 8, 3))
    with pytest.raises(PruneScopeError, match="has no images"):
        load_dataset("utkface", tmp_path)


def test_utkface_keeps_identical_files_on_one_side_and_leaves_out_those_that_disagree(tmp_path: Path) -> None:
    folder = tmp_path / "UTKFace"
    for number in range(40):
        tiny.write_image(folder / f"25_0_1_{number:03}.jpg", tiny.noise(8, 8, 3))
    for number in range(20):
        tiny.write_image(folder / f"35_1_2_{number:03}.jpg", tiny.noise(8, 8, 3))
        for copy in ("b", "c"):
            shutil.copy(folder / f"35_1_2_{number:03}.jpg", folder / f"35_1_2_{number:03}{copy}.jpg")
    for number in range(3):  # one in age within a band of ten years, one in gender, one in ethnicity
        copied = f"{'26' if number == 0 else '25'}_{int(number == 1)}_{3 if number == 2 else 1}_{number:03}b.jpg"
        shutil.copy(folder / f"25_0_1_{number:03}.jpg", folder / copied)
    dataset = load_dataset("utkface", tmp_path, Request(target="gender", image_size=8))
    train, test = ({image.tobytes() for image in side.images} for side in (dataset.train, dataset.test))
    assert not train & test and len(train | test) == 37 + 20
    assert len(dataset.train.labels) + len(dataset.test.labels) == 37 + 3 * 20
    for said in ("Of 103 files, 0 are left out", "23 sets of files are identical", "3 sets (6 files) are left out"):
        assert said in dataset.note
    assert "20 sets (60 files) stay together" in dataset.note


@pytest.mark.skipif(not (ROOT / "UTKFace").is_dir(), reason="UTKFace is not here")
def test_utkface_has_the_identical_files_that_are_known_of_it() -> None:
    dataset = load_dataset("utkface", ROOT, Request(target="gender", image_size=8))
    assert "Of 23,704 files" in dataset.note and "375 sets of files are identical" in dataset.note
    assert len(dataset.train.labels) + len(dataset.test.labels) == 23704 - 531
    assert "259 sets (531 files) are left out" in dataset.note and "116 sets (234 files) stay together" in dataset.note


def test_folder_takes_classes_and_groups(tiny_root: Path) -> None:
    dataset = load_dataset("folder", tiny_root, Request(image_size=16))
    assert dataset.classes == ("cat", "dog")
    assert list(dataset.train.labels) == [0, 0, 0, 1, 1, 1] and list(dataset.test.labels) == [0, 0, 1, 1]
    assert dataset.test.images.shape == (4, 1, 16, 16)
    assert list(dataset.test.groups["camera"]) == ["new", "old", "new", "old"]
    assert set(dataset.test.groups["place"]) == {"unknown"}


def test_folder_may_have_another_name_colour_and_no_groups(tmp_path: Path) -> None:
    tiny.write_folder(tmp_path)
    (tmp_path / "folder" / "groups.csv").unlink()
    tiny.write_image(tmp_path / "folder" / "test" / "dog" / "9.JPG", tiny.noise(30, 20, 3))
    (tmp_path / "folder").rename(tmp_path / "pets")
    test = load_dataset("folder", tmp_path, Request(target="pets")).test
    assert test.images.shape == (5, 3, 64, 64) and not len(test.groups.columns)


def edit_groups(old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "groups.csv"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return edit


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "file missing from csv": (edit_groups("test/dog/1.png,old,\n", ""), "does not name 'test/dog/1.png'"),
    "csv names unknown file": (edit_groups("test/dog/1.png", "test/dog/7.png"), "does not exist, 'test/dog/7.png'"),
    "csv names a file twice": (edit_groups("dog/1.png", "dog/0.png"), "more than once 'train/dog/0.png'"),
    "csv without files": (
        edit_groups("file,", "path,"),
        "has the columns path, camera, place; it needs one called file",
    ),
    "csv with a taken name": (edit_groups("camera", "tilt"), "calls a group 'tilt'"),
    "csv is empty": (lambda folder: (folder / "groups.csv").write_text(""), "is not a CSV"),
    "empty class": (lambda folder: (folder / "train" / "bird").mkdir(), "bird has no images; allowed are"),
    "class only in test": (
        lambda folder: (folder / "test" / "cow").mkdir(),
        "class folder 'cow'; train only has cat, dog",
    ),
    "unreadable image": (
        lambda folder: (folder / "test" / "dog" / "1.png").write_text("no image"),
        "1.png is not a readable image",
    ),
    "cut-off image": (
        lambda folder: (folder / "test/dog/1.png").write_bytes((folder / "test/dog/0.png").read_bytes()[:200]),
        "1.png is not a readable image",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_folder_says_what_is_wrong(fault: str, tmp_path: Path) -> None:
    spoil, reason = FAULTS[fault]
    tiny.write_folder(tmp_path)
    spoil(tmp_path / "folder")
    with pytest.raises(PruneScopeError, match=reason):
        load_dataset("folder", tmp_path)


@pytest.mark.parametrize("name", ["..", "../secret", "/tmp", ".hidden", "a/b"])
def test_folder_stays_in_the_root(name: str, tiny_root: Path) -> None:
    with pytest.raises(PruneScopeError, match="allowed is one plain name"):
        load_dataset("folder", tiny_root, Request(target=name))
