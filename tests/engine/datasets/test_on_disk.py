"""What is said to be on this machine can be loaded, and what is not there is not said to be."""

from pathlib import Path

import pytest

from engine.datasets.dataset_table import DATASETS
from engine.datasets.on_disk import PLACES, is_on_disk


def test_every_data_set_has_its_places() -> None:
    assert PLACES.keys() == DATASETS.keys()


@pytest.mark.parametrize("key", list(DATASETS))
def test_there_where_it_is_and_not_where_it_is_not(key: str, tiny_root: Path, tmp_path: Path) -> None:
    assert is_on_disk(key, tiny_root)
    assert is_on_disk(key, tmp_path) == (key == "digits")
