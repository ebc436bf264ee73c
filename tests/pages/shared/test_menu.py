"""The menu: four groups, every page in one of them, and grey with a reason where a study has nothing to show."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pages.shared import menu
from pages.shared.menu import GROUPS, MENU, REASONS
from tests.pages.conftest import TOP, OpenPage
from tests.support.studies import make_study


def links(app: Any) -> Sequence[Any]:
    """The links of the menu, in order."""
    return [link.proto for link in app.sidebar.get("page_link")]


def test_every_page_stands_in_one_group_of_the_menu(open_page: OpenPage) -> None:
    assert sorted(entry.file for entry in MENU) == sorted(
        ["app.py", *(f"pages/{path.name}" for path in (TOP / "pages").glob("*.py"))]
    )
    assert list(dict.fromkeys(entry.group for entry in MENU)) == list(GROUPS)
    app = open_page("app.py", "planted")
    assert [box.label for box in app.sidebar.expander] == list(GROUPS)
    assert len(links(app)) == len(MENU)


@pytest.mark.parametrize(("file", "opened"), [("app.py", "Decide"), ("pages/causes.py", "Research")])
def test_the_group_of_the_open_page_is_open(open_page: OpenPage, file: str, opened: str) -> None:
    boxes = {box.label: box.proto.expanded for box in open_page(file, "planted").sidebar.expander}
    assert boxes[opened] and boxes["Decide"] and boxes["Who pays"] and not boxes["Data"]


def test_pages_without_data_are_grey_and_say_why(open_page: OpenPage, tmp_path: Path) -> None:
    make_study(tmp_path / "bare", writers=0, groups={}, examples=240, levels=2, seeds=2)
    grey = {link.label: link.help for link in links(open_page("app.py", "bare", tmp_path)) if link.disabled}
    labels = {entry.file: entry.label for entry in MENU}
    assert grey == {f"{labels[file]} · {why.short}": why.sentence for file, why in REASONS.items()}


def test_what_one_experiment_has_is_not_grey(open_page: OpenPage) -> None:
    grey = [link.label for link in links(open_page("app.py", "mitigated")) if link.disabled]
    assert grey == ["Causes · not measured"]


def test_a_study_that_cannot_be_read_greys_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty" / "runs").mkdir(parents=True)
    assert menu.missing(menu.Source(str(tmp_path / "empty"), 0)) == {}


def test_a_page_without_a_study_draws_the_menu_of_the_first(open_page: OpenPage) -> None:
    assert len(links(open_page("pages/bring.py", "planted"))) == len(MENU)
