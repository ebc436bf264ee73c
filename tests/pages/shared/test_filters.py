"""What is switched on, and what floors are set, when another data set is chosen."""

from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared.names import technique_name, treatment_name
from tests.pages.conftest import OpenPage
from tests.support.studies import make_study

FRONTIER = "pages/frontier.py"
SHARED, FIRST, SECOND = "global_unstructured", "l1_structured", "random"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two data sets that share one technique and one treatment."""
    root = tmp_path_factory.mktemp("filters")
    plain: dict[str, Any] = {"levels": 3, "seeds": 2, "examples": 240}
    make_study(root / "two", techniques=(SHARED, FIRST), treatments=("rewind", "finetune"), **plain)
    other: dict[str, Any] = {"dataset": "fashion-mnist", "split": "official", "groups": {}, "writers": 0}
    make_study(root / "two", techniques=(SHARED, SECOND), treatments=("rewind",), **plain, **other)
    st.cache_resource.clear()
    return root


def names(*keys: str) -> list[str]:
    return [technique_name(key) for key in keys]


def switched_on(app: AppTest) -> tuple[list[str], list[str]]:
    """The techniques and treatments that are on."""
    treatments = next(group for group in app.button_group if group.key == "treatments")
    return sorted(app.multiselect(key="techniques").value), sorted(treatments.value)


def choose(app: AppTest, dataset: str) -> AppTest:
    """The page once this data set is chosen in the sidebar."""
    box = app.selectbox(key="dataset")
    app = box.set_value(next(option for option in box.options if option.startswith(dataset))).run()
    assert not app.exception
    return app


def test_all_that_is_on_stays_all_when_another_data_set_is_chosen(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "two", root, dataset="QMNIST (writers)")
    both = sorted(map(treatment_name, ("rewind", "finetune")))
    assert switched_on(app) == (sorted(names(SHARED, FIRST)), both)
    assert switched_on(choose(app, "Fashion")) == (sorted(names(SHARED, SECOND)), [treatment_name("rewind")])
    assert switched_on(choose(app, "QMNIST")) == (sorted(names(SHARED, FIRST)), both)


@pytest.mark.parametrize(("chosen", "then"), [([SHARED], [SHARED]), ([FIRST], [SHARED, SECOND])])
def test_some_that_are_on_stay_where_they_are_offered(
    open_page: OpenPage, root: Path, chosen: list[str], then: list[str]
) -> None:
    app = open_page(FRONTIER, "two", root, dataset="QMNIST (writers)")
    app.multiselect(key="techniques").set_value(names(*chosen)).run()
    assert switched_on(choose(app, "Fashion"))[0] == sorted(names(*then))


def test_a_floor_that_nobody_reaches_elsewhere_is_forgotten(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "two", root, dataset="QMNIST (writers)")
    usual = choose(open_page(FRONTIER, "two", root), "Fashion").number_input(key="threshold").value
    app.number_input(key="threshold").set_value(100.0).run()
    assert app.number_input(key="threshold").value == 100.0, "who sets it sees that nobody reaches it"
    assert choose(app, "Fashion").number_input(key="threshold").value == usual < 100
    assert app.slider(key="threshold-slide").value == usual


def test_a_floor_that_somebody_reaches_stays(open_page: OpenPage, root: Path) -> None:
    app = open_page(FRONTIER, "two", root, dataset="QMNIST (writers)")
    app.number_input(key="threshold").set_value(31.0).run()
    assert choose(app, "Fashion").number_input(key="threshold").value == 31.0


def links(app: AppTest) -> list[str]:
    """What the menu's links carry to other pages."""
    return [str(link.proto.query_string) for link in app.sidebar.get("page_link")]


def test_links_say_which_are_on_only_where_some_are_off(open_page: OpenPage, root: Path) -> None:
    """All of one data set may be one of many of another: a link that named them would switch the others off there."""
    app = open_page(FRONTIER, "two", root, dataset="QMNIST (writers)").run()  # the menu knows on the second run
    assert links(app) and not [link for link in links(app) if "techniques=" in link or "treatments=" in link]
    some = app.multiselect(key="techniques").set_value(names(SHARED)).run()
    assert any("techniques=" in link for link in links(some))
