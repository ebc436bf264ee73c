"""What page tests share: a folder of studies to be read only, and a way to open a page on one of them."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.store.study import Study
from tests.support.studies import make_study

TOP = Path(__file__).resolve().parents[2]
NASTY = "<img src=x onerror=alert(1)>*b*[x](y):red[z]$a$"
"""A name that would show if markdown or HTML in it were read."""

OpenPage = Callable[..., AppTest]


@pytest.fixture(scope="session", autouse=True)
def components_are_looked_for_once() -> Iterator[None]:
    """Streamlit's tester reads about every installed package on each page; once is enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session")
def study_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small studies: `empty`, `tiny` (one real run), and made-up ones with a planted pattern.

    To be read only: the folder is shared by all tests.
    """
    root = tmp_path_factory.mktemp("study-root")
    (root / "empty" / "runs").mkdir(parents=True)
    run_experiment(
        RunSpec("digits", "lenet", "global_unstructured", levels=3, epochs=1, learning_rate=0.05),
        Study(root / "tiny"),
        root,
        device="cpu",
    )
    make_study(root / "planted", examples=1200)
    make_study(root / "missing-class", without_examples=(3,), seeds=1, treatments=("rewind",))
    make_study(root / "no-dense", dense=False, seeds=2)
    for mitigation in ("none", "before"):
        few: dict[str, Any] = {
            "techniques": ("l1_structured",),
            "treatments": ("rewind",),
            "levels": 2,
            "examples": 240,
        }
        make_study(root / "mitigated", **few, mitigation=mitigation)
    make_study(
        root / "nasty",
        classes=(f"{NASTY}0", f"{NASTY}1", f"{NASTY}2"),
        groups={f"{NASTY}s": (f"{NASTY}a", f"{NASTY}b")},
        techniques=(NASTY, "global_unstructured"),
        treatments=(NASTY,),
        network=NASTY,
        dataset="own",
        split="",
        title=NASTY,
        description=NASTY,
        examples=240,
        levels=3,
    )
    return root


@pytest.fixture(scope="session")
def demo_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study that ships, under its name; its catalog is written here, not in the repository."""
    root, shipped = tmp_path_factory.mktemp("demo-root"), TOP / "data" / "demo"
    (root / "demo").mkdir()
    for name in ("analyses", "runs", "examples", "study.toml"):
        (root / "demo" / name).symlink_to(shipped / name)
    return root


@pytest.fixture
def open_page(study_root: Path, monkeypatch: pytest.MonkeyPatch) -> OpenPage:
    """Opens a page by its file on a study by its name, with what an address says; `root` may hold other studies."""
    monkeypatch.chdir(TOP)

    def opened(file: str, study: str, root: Path | None = None, **address: str) -> AppTest:
        monkeypatch.setenv("PRUNESCOPE_STUDIES", str(root or study_root))
        app = AppTest.from_file(str(TOP / "app.py"), default_timeout=60)
        app.query_params.update({"study": study, **address})
        app = (app if file == "app.py" else app.switch_page(file)).run()
        assert not app.exception, app.exception
        return app

    return opened


def unfold(app: AppTest, key: str) -> AppTest:
    """The page once what is folded away under this key is folded out, as by a click on it."""
    app.session_state[key] = True
    return app.run()


def words(app: AppTest) -> str:
    """All words of a page's body."""
    parts = [*app.main.markdown, *app.main.info, *app.main.caption, *app.main.warning, *app.main.error]
    return "\n".join(str(part.value) for part in parts)
