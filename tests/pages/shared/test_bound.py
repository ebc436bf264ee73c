"""No state can break a page: whatever a control remembers from elsewhere, it falls back where that does not fit."""

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared.menu import MENU
from tests.support.harness.turns import TURN, cross_in_turn, in_turn
from tests.support.studies import make_study

TOP = Path(__file__).resolve().parents[3]
STUDYLESS = ("pages/bring.py", "pages/method.py")
"""Pages whose controls do not depend on a study."""
PAGES = [entry.file for entry in MENU if entry.file not in STUDYLESS]
RANGED = ("selectbox", "segmented_control", "multiselect", "pills", "select_slider", "slider", "number_input", "radio")
JUNK: tuple[Any, ...] = (20, math.nan, "nonsense", ["nonsense", 3], None, 10**12)
WORDS = ("inf", "nan", "-1", "", "nonsense")


# -- the family -------------------------------------------------------------------------------------------------------


def bound_calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The controls that a file puts on a page, with what they are called on."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RANGED:
            yield ast.unparse(node.func.value), node


def test_every_control_in_the_address_is_bound_in_one_place() -> None:
    found, loose = 0, []
    for path in (TOP / "app.py", *sorted((TOP / "pages").rglob("*.py"))):
        if path.name == "bound.py":
            continue
        for owner, call in bound_calls(path):
            found += owner == "bound"
            if owner != "bound" and any(word.arg == "bind" for word in call.keywords):
                loose.append(f"{path.relative_to(TOP)}:{call.lineno}")
    assert not loose and found > 40


# -- crossing ends with studies ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies that differ in levels, classes, groups, writers, seeds, techniques, treatments and data set."""
    root = tmp_path_factory.mktemp("bound")
    make_study(root / "large", levels=9, examples=600, groups={"series": ("hsf0", "hsf4"), "sex": ("f", "m", "x")})
    other: dict[str, Any] = {"techniques": ("l1_structured",), "treatments": ("rewind",), "seeds": 1, "levels": 2}
    other |= {"groups": {"region": ("north", "south")}, "writers": 12, "classes": ("a", "b", "c"), "split": "official"}
    make_study(root / "small", examples=240, dataset="fashion-mnist", **other)
    make_study(root / "small", examples=240, dataset="qmnist", random=3, **other | {"levels": 1, "groups": {}})
    st.cache_resource.clear()
    return root


@pytest.fixture
def begin(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens a page on a study with what an address says, in a new session."""
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(root))

    def opened(file: str, study: str, left: dict[str, Any] | None = None, **address: str) -> AppTest:
        app = AppTest.from_file(str(TOP / "app.py"), default_timeout=100)
        app.query_params.update({"study": study, **address})
        for key, value in (left or {}).items():
            app.session_state[key] = value
        return go(app, file)

    return opened


def go(app: AppTest, file: str) -> AppTest:
    """The session on another page, which must be whole."""
    app.switch_page(file)
    app.run()
    assert not app.exception, f"{file}: {app.exception[0].message}"
    return app


def controls(app: AppTest) -> list[Any]:
    """Every control of a page but for those of the frame's study and experiment."""
    frame = {"study", "dataset", "network", "protocol"}
    kinds = (app.selectbox, app.multiselect, app.button_group, app.select_slider, app.slider, app.number_input)
    return [one for kind in kinds for one in kind if one.key not in frame and "-" not in str(one.key)]


def push_to(app: AppTest, last: bool) -> set[str]:
    """Set every control to its last or first value; the keys of those that were moved."""
    moved = set()
    for control in controls(app):
        if control.type in ("slider", "number_input"):
            control.set_value(control.max if last else control.min)
        elif control.type == "select_slider":
            control.set_value(control.options[-1 if last else 0])
        elif control.type == "multiselect":
            control.set_value(control.options[-1:] if last else control.options)
        elif control.type == "selectbox":
            control.select_index(len(control.options) - 1 if last else 0)
        else:
            continue
        moved.add(str(control.key))
    return moved


@pytest.mark.parametrize(
    ("file", "end"), cross_in_turn([file for file in PAGES if file != "app.py"], ("last", "first"), 2)
)
def test_ends_of_every_control_survive_another_study(begin: Any, file: str, end: str) -> None:
    """The ends of a page take turns by days; both with PRUNESCOPE_FULL."""
    last = end == "last"
    for here, there in (("large", "small"), ("small", "large")):
        app = begin(file, here)
        push_to(app, last)
        app.run()
        assert not app.exception, f"{file} at its ends: {app.exception[0].message}"
        go(app, "app.py").selectbox(key="study").set_value(there).run()
        assert not app.exception
        go(app, file)
        push_to(app, last)
        app.run()
        assert not app.exception, f"{file} at its ends in {there}: {app.exception[0].message}"


def test_sparsity_at_its_end_survives_another_protocol(begin: Any) -> None:
    for file in ("pages/harmed.py", "pages/subgroups.py", "pages/writers.py"):
        app = begin(file, "large")
        slider = app.select_slider(key="level")
        slider.set_value(slider.options[-1]).run()
        go(app, "pages/class_curves.py").selectbox(key="study").set_value("small").run()
        go(app, "pages/class_curves.py").selectbox(key="dataset").select_index(1).run()
        assert not app.exception
        go(app, file)


@pytest.mark.parametrize("file", PAGES)
def test_what_another_page_left_under_a_key_does_not_matter(begin: Any, file: str) -> None:
    """Half of the junk each day; all with PRUNESCOPE_FULL."""
    keys = [str(control.key) for control in controls(begin(file, "large"))]
    for junk in in_turn(JUNK, 2, TURN + PAGES.index(file)):
        begin(file, "large", dict.fromkeys(keys, junk))


@pytest.mark.parametrize("file", PAGES)
def test_what_an_address_says_does_not_matter(begin: Any, file: str) -> None:
    """Half of the words each day; all with PRUNESCOPE_FULL."""
    app = begin(file, "large")
    keys = [str(control.key) for control in controls(app)] + [str(toggle.key) for toggle in app.toggle]
    for word in in_turn(WORDS, 2, TURN + PAGES.index(file)):
        begin(file, "large", **{key: word for key in keys if key != "None"})
