"""Images are in memory once for all workers of a pool, and nothing is left of that afterwards."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.datasets.dataset import Dataset, ungrouped
from engine.run_spec import RunSpec
from engine.runs import shared_images
from engine.runs.shared_images import VARIABLE, new_folder, remove, with_shared_images
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.store.files import TEMPORARY
from engine.sweeps.pool import Pool
from engine.sweeps.worker import Result, RunContext
from engine.training.split import make_split


def dataset(seed: int = 0) -> Dataset:
    draw = np.random.default_rng(seed)
    sides = [ungrouped(draw.integers(0, 256, (n, 1, 8, 8), np.uint8), np.arange(n) % 3) for n in (60, 30)]
    return Dataset("own", "", ("a", "b", "c"), *sides)


def test_two_readers_map_one_file_and_others_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_shared_images(dataset()).train.images.base is None or not list(tmp_path.iterdir())
    monkeypatch.setenv(VARIABLE, str(tmp_path / "images"))
    first, second, other = (with_shared_images(dataset(seed)) for seed in (0, 0, 1))
    assert len(list((tmp_path / "images").iterdir())) == 4, "two sides of two data sets"
    for one, expected in ((first, dataset()), (second, dataset()), (other, dataset(1))):
        assert isinstance(one.train.images, np.memmap)
        assert np.array_equal(one.train.images, expected.train.images)
        assert np.array_equal(one.test.images, expected.test.images)
    assert first.train.images.filename == second.train.images.filename
    split = make_split(first.train.images, first.train.labels, first.train.images, 8, torch.device("cpu"))
    assert split.stored.data_ptr() == first.train.images.ctypes.data, "torch copied what is mapped"


def test_without_room_images_are_read_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "images"))
    assert not isinstance(with_shared_images(dataset()).train.images, np.memmap)


def test_parts_of_a_split_share_its_images() -> None:
    workspace = open_workspace(validate_spec(RunSpec("digits", "lenet", "global_unstructured")), Path("unused"), "cpu")
    assert workspace.training.stored.data_ptr() == workspace.validation.stored.data_ptr()
    whole = torch.from_numpy(workspace.dataset.train.images)
    assert torch.equal(workspace.training.images, whole[torch.from_numpy(workspace.rows)])
    part = workspace.training.part(torch.tensor([5, 3, 8]))
    assert torch.equal(part.images, workspace.training.images[[5, 3, 8]])
    assert torch.equal(part.taken(torch.tensor([2])), part.images[[2]]) and len(part) == 3


def test_a_pool_shares_images_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_images.tempfile, "gettempdir", lambda: str(tmp_path))
    left = new_folder().with_name(f".pool.0123abcd-1-2-0a1b2c3d{TEMPORARY}")
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    spec = validate_spec(RunSpec("digits", "lenet", "global_unstructured", levels=1, epochs=1))
    pool = Pool(1, RunContext(tmp_path / "study", tmp_path, "cpu"), method="fork")
    assert not left.exists(), "a killed pool's"
    try:
        pool.hand_out(replace(spec, seed=7))
        states: list[str] = []
        while not states:
            states = [event.state for event in pool.events(1.0) if isinstance(event, Result)]
        (folder,) = (tmp_path / shared_images.FOLDER).iterdir()
        assert states == ["done"] and len(list(folder.glob("*.npy"))) == 2
    finally:
        pool.close()
    assert list((tmp_path / shared_images.FOLDER).iterdir()) == []
    remove(folder)
