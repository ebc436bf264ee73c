"""Images come from the study, else from this machine; without either a button fetches them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from engine.datasets.dataset_table import Request, load_dataset
from engine.run_spec import RunSpec
from engine.store.study import Study
from pages.shared.cache.catalog import Source
from pages.shared.example_images import ExampleImages, example_images, fetch_failure

TOP = Path(__file__).resolve().parents[3]
DEMO = Source(str(TOP / "data" / "demo"), 0)
FASHION = RunSpec("fashion-mnist", "lenet", "global_unstructured", split="official")


@pytest.fixture
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRUNESCOPE_DATA", str(tmp_path / "nothing"))
    return tmp_path


def test_the_study_that_ships_shows_its_images_without_any_data_set(nothing_here: Path) -> None:
    labels = Study(DEMO.path).examples("fashion-mnist-official")["label"].to_numpy()
    found = example_images(DEMO, FASHION, labels, "All is")
    assert found.images is not None and found.images.shape == (10_000, 1, 28, 28)
    assert "Zalando" in found.credit and "MIT" in found.credit and not found.problem


def test_images_of_other_examples_are_not_shown_and_the_machine_is_asked(nothing_here: Path) -> None:
    labels = Study(DEMO.path).examples("fashion-mnist-official")["label"].to_numpy()[::-1]
    found = example_images(DEMO, FASHION, labels, "All is")
    assert found.images is None and "not on this machine" in found.problem
    assert found.fetchable == "fashion-mnist"


def test_a_study_without_images_takes_those_of_this_machine(tiny_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRUNESCOPE_DATA", str(tiny_root))
    side = load_dataset("qmnist", tiny_root, Request("writers")).test
    spec = RunSpec("qmnist", "lenet", "global_unstructured", split="writers")
    found = example_images(Source(str(tiny_root), 0), spec, side.labels, "All is")
    assert found.images is not None and "CC BY-SA 3.0" in found.credit
    np.testing.assert_array_equal(found.images, side.images)


def test_faces_have_no_button_and_say_what_to_bring(nothing_here: Path) -> None:
    spec = RunSpec("utkface", "lenet", "global_unstructured", split="official", target="gender")
    found = example_images(Source(str(nothing_here), 0), spec, np.zeros(3, int), "All is")
    assert found == ExampleImages(None, found.problem) or not found.fetchable
    assert "Put the aligned and cropped JPEGs" in found.problem


def fetch_page() -> None:
    from pages.shared.example_images import ExampleImages, show_problem

    show_problem(ExampleImages(None, "**Not here.**", fetchable="cifar10"))


def test_the_button_fetches_and_a_failure_is_one_sentence(nothing_here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.shared.cache.images import fetches

    for name in ("https_proxy", "http_proxy", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    fetches().clear()
    app = AppTest.from_function(fetch_page, default_timeout=60).run()
    assert app.button[0].label == "Fetch CIFAR\\-10" and not app.warning
    app.button[0].click().run()
    assert set(fetches()) == {"cifar10"}
    assert fetches()["cifar10"].wait(60)
    app.run()
    assert app.warning[0].value.startswith("**CIFAR\\-10 could not be fetched.** Is this machine connected")
    assert str(nothing_here) not in app.warning[0].value
    fetches().clear()


def test_a_failure_says_what_was_said_last() -> None:
    said: Any = fetch_failure("SVHN", "SVHN could not be fetched into /x: <urlopen error timed out>")
    assert said.endswith("It said: \\<urlopen error timed out\\>") and "/x" not in said


@pytest.mark.parametrize(
    ("page", "dataset", "credit"),
    [
        ("writers", "QMNIST (writers)", "CC BY"),
        ("harmed", "QMNIST (writers)", "CC BY"),
        ("harmed", "Fashion-MNIST", "Zalando SE"),
    ],
)
def test_pages_of_the_study_that_ships_have_pictures_on_first_start(
    page: str, dataset: str, credit: str, nothing_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(TOP / "data"))
    app = AppTest.from_file(str(TOP / "app.py"), default_timeout=120)
    app.query_params.update({"study": "demo", "dataset": dataset})
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception, app.exception
    said = "\n".join(str(part.value) for part in (*app.caption, *app.info))
    assert credit in said.replace("\\", "") and "not on this machine" not in said
    assert len(app.get("image")) >= 8
