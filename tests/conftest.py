"""What tests share: tiny data sets in true formats, and the real files where this machine has them."""

import os
import sys
from pathlib import Path

import hypothesis
import pytest

from tests import tiny

hypothesis.settings.register_profile("steady", deadline=None)
hypothesis.settings.load_profile("steady")


@pytest.fixture(autouse=True)
def tiny_floats() -> None:
    """Numbers near zero count again: training turns them off for its process, and hypothesis draws them."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def real_root() -> Path:
    """The root of the real data sets; without it the test is skipped."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    root = Path(os.environ.get("PRUNESCOPE_DATA") or beside)
    if not (root / "MNIST" / "raw").is_dir():
        pytest.skip(f"no real data sets in {root}; set PRUNESCOPE_DATA to a root that has MNIST, QMNIST, FashionMNIST")
    return root


@pytest.fixture(scope="session")
def tiny_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with every data set, a few examples each; to be read only."""
    root = tmp_path_factory.mktemp("tiny")
    for write in tiny.WRITERS:
        write(root)
    return root
