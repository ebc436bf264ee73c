"""What tests share: tiny data sets in true formats, and the real files where this machine has them."""

import os
import platform
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from engine.training.device import LIBRARIES
from tests.support import datasets as tiny
from tests.support.harness.reruns import Reruns
from tests.support.harness.seed import HOW_TO_REPLAY, SEED
from tests.support.harness.turns import HOW_TO_TAKE_AGAIN

if platform.machine() == "x86_64":
    os.environ.update(LIBRARIES)  # before any test computes: processes that tests start settle it by themselves

hypothesis.settings.register_profile("same each time", deadline=None, derandomize=True)
hypothesis.settings.register_profile("by the seed", deadline=None, print_blob=True)
hypothesis.settings.load_profile("by the seed" if SEED else "same each time")


MEMORY = Path("/dev/shm")
"""Files here are in memory: the suite syncs tens of thousands, and none has to outlive it."""
ROOM_BYTES = 4e9
TOGETHER = "pages"
"""The folder whose tests share studies and what is computed of them."""
LONGEST = (
    *(TOGETHER, "test_walk_browser", "test_accessible", "browser", "test_jobs", "test_detached", "test_sweep_faults"),
    *("test_compact", "test_face", "test_lenet_step", "test_shipment", "test_compaction"),
    *("test_packaging", "test_readme", "test_reproduce", "test_masks", "test_scopes", "test_device", "test_verify"),
)
"""Files and folders that take longest, and so are begun first."""


def pytest_configure(config: pytest.Config) -> None:
    """Count second tries, draw by the seed where one is given, and keep the tests' files in memory.

    The last where there is room, and unless the command says where they go.
    """
    config.pluginmanager.register(Reruns())
    if SEED and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)
    is_main = not hasattr(config, "workerinput")
    if is_main and not config.option.basetemp and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
        config.option.basetemp = tempfile.mkdtemp(prefix="prunescope-tests-", dir=MEMORY)
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


def group_of(test: str) -> str:
    """What a test is kept together with in one process, which then prepares what they share once."""
    file = test.split("::")[0]
    return TOGETHER if TOGETHER in PurePosixPath(file).parts else file


def place_of(test: str) -> int:
    """How early a test is begun."""
    path = PurePosixPath(test.split("::")[0])
    return next((place for place, name in enumerate(LONGEST) if name in (*path.parts, path.stem)), len(LONGEST))


class ByGroup(LoadScopeScheduling):
    """Hands out whole groups, in their order."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGroup:
    """Groups go to the processes whole; xdist's own marks for that are lost under pytest 9.2."""
    config.option.loadscopereorder = False
    return ByGroup(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long is begun first."""
    items.sort(key=lambda item: place_of(item.nodeid))


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int) -> None:
    """How to draw the same again, where something failed."""
    if exitstatus:
        terminalreporter.write_line(HOW_TO_REPLAY)
        terminalreporter.write_line(HOW_TO_TAKE_AGAIN)


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
