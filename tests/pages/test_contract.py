"""One contract of all pages on all kinds of studies, finished or being written.

A page opens without an error, has its title and answers, or says in a sentence what is missing and a way on; and it
changes no table that sessions share.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.store.files import TEMPORARY
from engine.store.study import Study
from pages.shared.cache import catalog as load
from pages.shared.menu import MENU
from tests.pages.conftest import NASTY, TOP, OpenPage, words
from tests.support.harness.cache_watch import CacheWatch, watched_caches
from tests.support.studies import make_study
from tests.support.uploads import bring, long_table

LABELS = {entry.file: entry.label for entry in MENU}
FILES = sorted({*LABELS, *(f"pages/{path.name}" for path in (TOP / "pages").glob("*.py"))})
STUDIES = (
    "empty",
    "tiny",
    "one-seed",
    "no-dense",
    "missing-class",
    "no-losses",
    "mitigated",
    "nasty",
    "imported",
    "only-dense",
    "being-written",
)
SENTENCE_AND_WAY_ON = re.compile(r"\*\*.+\*\* \S")
"""As `stop_with` puts it: what is missing, and then what to do."""
WITHOUT_STUDY = ("pages/bring.py", "pages/run.py")
"""Pages that work on no study, or on one without runs."""
MITIGATED = RunSpec(
    "qmnist", "lenet", "global_unstructured", levels=1, epochs=2, learning_rate=0.05, diagnose=("class", "writer")
)
FEW = {"examples": 120, "writers": 6, "levels": 3, "treatments": ("rewind",)}


@dataclass(frozen=True)
class Opened:
    """A study of the contract, and the watch over what pages keep of it."""

    name: str
    root: Path
    caches: CacheWatch


@pytest.fixture(scope="module")
def contract_root(study_root: Path, tiny_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every study of the contract."""
    root = tmp_path_factory.mktemp("contract-root")
    for name in ("empty", "tiny", "no-dense", "missing-class", "nasty"):
        (root / name).symlink_to(study_root / name)
    for arm in ("none", "after"):
        run_experiment(replace(MITIGATED, mitigation=arm), Study(root / "mitigated"), tiny_root, "cpu")
    make_study(root / "one-seed", **FEW, seeds=1)
    make_study(root / "no-losses", **FEW, losses=False)
    table = long_table(n=60, seeds=2).replace({"technique": {"random": "*b* [x](y) $a$ :red[z]"}})
    for name, rows in (
        ("imported", table),
        ("only-dense", table[(table["technique"] == "dense") & (table["seed"] == 0)]),
    ):
        rows.to_csv(root / f"{name}.csv", index=False)
        bring(root / f"{name}.csv", Study(root / name), {"constants": {"dataset": name, "network": "net `x`"}})
    write_half_a_study(root / "being-written", root / "aside")
    return root


def write_half_a_study(path: Path, aside: Path) -> None:
    """A study in the middle of a sweep: unfinished folders and files, a catalog that is behind, a run set aside."""
    study = make_study(path, **FEW, seeds=2)
    study.levels()  # the catalog knows two seeds; the third comes after it
    make_study(path, **FEW, seeds=3)
    first, *_, last = study.runs()
    aside.mkdir()
    (path / "runs" / last).rename(aside / last)
    half = path / "runs" / "0123456789ab"
    half.mkdir()
    shutil.copy(path / "runs" / first / "levels.parquet", half)
    shutil.copytree(half, path / "runs" / f".{last}.elsewhere-1-2-0a1b2c3d{TEMPORARY}")
    (path / "work" / last).mkdir(parents=True)
    (path / "work" / last / "level-001.outcome").write_bytes(b"half")
    for folder in ("examples", "catalog", "runs"):
        (path / folder / f".levels.parquet.elsewhere-1-2-0a1b2c3d{TEMPORARY}").write_bytes(b"PAR1")


@pytest.fixture(scope="module", params=STUDIES)
def study(request: pytest.FixtureRequest, contract_root: Path) -> Iterator[Opened]:
    """One study after another; what pages keep of it is watched for all pages together."""
    with watched_caches() as caches:
        yield Opened(request.param, contract_root, caches)


@pytest.mark.parametrize("file", FILES)
def test_page_keeps_the_contract(file: str, study: Opened, open_page: OpenPage) -> None:
    app = open_page(file, study.name, study.root)
    assert_whole(app, file)
    if study.name == "being-written":
        one_more_run_comes_and_goes(app, file, study.root)
    changed = study.caches.changed()
    assert not changed, f"{file} changes what all sessions share"
    assert "<img" not in words(app).replace("\\<img", ""), "a name is read as HTML"
    assert NASTY not in words(app), "a name is read as markdown"
    assert ("no finished run" in words(app)) == (study.name == "empty" and file not in WITHOUT_STUDY)


def one_more_run_comes_and_goes(app: AppTest, file: str, root: Path) -> None:
    """Between two reruns a run is finished; before the third it is set aside again."""
    aside = next((root / "aside").iterdir())
    finished = root / "being-written" / "runs" / aside.name
    for before, after in ((aside, finished), (finished, aside)):
        before.rename(after)
        app.run()
        assert not app.exception, app.exception
        assert_whole(app, file)


def assert_whole(app: AppTest, file: str) -> None:
    """The page has its title, no error, and an answer or a sentence with a way on."""
    assert [title.value for title in app.main.title] == [LABELS[file]]
    text = words(app)
    assert not app.error and not app.warning and "Traceback" not in text and "Error:" not in text
    set_larger = [part.value for node in app.main if getattr(node, "key", None) == "answer" for part in node.markdown]
    in_bold = [part.value for part in app.main.markdown if part.value.startswith("**")]
    ways_on = [info.value for info in app.main.info if SENTENCE_AND_WAY_ON.match(info.value)]
    assert any(set_larger) or in_bold or ways_on, text


def test_menu_leads_to_every_page() -> None:
    assert set(LABELS) == set(FILES)


def test_a_changed_table_is_found(contract_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(contract_root))
    with watched_caches() as caches:
        source = load.source("one-seed")
        experiment = load.experiments(source)[0]
        rows, names = load.levels(source, experiment), load.class_names(source, experiment)
        _, said = load.predictions(source, source.study.runs()[0])
        more = load.unfairness(source, experiment)
        assert caches.parts and not caches.changed()
        rows.loc[0, "accuracy"] += 1e-9
        names[0] = "nought"
        said[0, 0] += 1
        more.insert(0, "mine", 0)
        expected = ["levels", "class_names", "predictions[1]", "unfairness"]
        assert [name.rpartition(".")[2] for name in caches.changed()] == expected
        assert not caches.changed(), "each is told once: of the page that did it"
