"""What generated cases share: a folder of unlike studies, to be read only, and sessions on its pages."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from engine.store.annotations import write_mark
from engine.store.records.decisions import propose
from engine.store.study import Study
from tests.fuzz.addresses import TOP
from tests.support.dashboard.whole_study import make_whole_study
from tests.support.studies import make_study
from tests.support.uploads import bring, long_table

FILLED = ("whole", "small", "imported")
"""Studies with runs; the one called `empty` has none."""
SMALL: dict[str, Any] = {
    "techniques": ("l1_structured",),
    "treatments": ("rewind",),
    "classes": ("a", "b", "c"),
    "split": "official",
    "examples": 120,
    "writers": 12,
    "seeds": 1,
}

Session = Callable[..., AppTest]


@pytest.fixture(scope="session", autouse=True)
def components_are_looked_for_once() -> Iterator[None]:
    """Streamlit's tester reads about every installed package on each page; once is enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies that differ in all that a control can depend on; the first has something for every page."""
    folder = tmp_path_factory.mktemp("fuzz-root")
    groups = {"series": ("hsf0", "hsf4"), "sex": ("f", "m", "x")}
    whole = make_whole_study(folder / "whole", examples=240, levels=4, seeds=2, groups=groups)
    write_mark(whole, "qmnist-writers", 1, "hard")
    propose(whole, {}, "Ada")
    make_study(folder / "small", **SMALL, levels=2, groups={"region": ("north", "south")}, dataset="fashion-mnist")
    make_study(folder / "small", **SMALL, levels=1, groups={}, random=3)
    long_table(n=60, seeds=2).to_csv(folder / "imported.csv", index=False)
    bring(folder / "imported.csv", Study(folder / "imported"), {"constants": {"dataset": "own", "network": "net"}})
    (folder / "empty" / "runs").mkdir(parents=True)
    return folder


@pytest.fixture
def session(root: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Opens a page in a new session by what its address says; `studies` may be another folder."""
    monkeypatch.chdir(TOP)

    def opened(file: str, address: dict[str, Any], studies: Path = root) -> AppTest:
        monkeypatch.setenv("PRUNESCOPE_STUDIES", str(studies))
        app = AppTest.from_file(str(TOP / "app.py"), default_timeout=100)
        app.query_params.update(address)
        return (app if file == "app.py" else app.switch_page(file)).run()

    return opened
