"""Whoever may only look sees no button that would be refused: it is grey, with the reason, or not there."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.access import DEMO, VARIABLE
from engine.store.records.decisions import propose
from tests.pages.conftest import OpenPage, words
from tests.support.studies import make_study

REASON = "Nothing can be changed in a demonstration."


def greyed(app: AppTest) -> dict[str, str]:
    """The reasons of the buttons that are grey, by their labels."""
    return {button.label: button.help for button in app.button if button.disabled}


@pytest.mark.parametrize("mode", ["open", DEMO])
def test_the_frontier_greys_what_a_demonstration_refuses(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv(VARIABLE, mode)
    app = open_page("pages/frontier.py", "tiny", threshold="0")
    wanted = {"Get this model": REASON, "Propose this decision": REASON} if mode == DEMO else {}
    assert greyed(app) == wanted
    assert (mode == DEMO) != any(fold.label == "Propose this decision" for fold in app.expander)


@pytest.mark.parametrize("mode", ["open", DEMO])
def test_decisions_have_no_forms_that_a_demonstration_refuses(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str
) -> None:
    propose(make_study(tmp_path / "made", levels=2, seeds=1, examples=240), {}, "Ada")
    monkeypatch.setenv(VARIABLE, mode)
    app = open_page("pages/decisions.py", "made", tmp_path)
    assert {"Approve", "Withdraw"} <= {button.label for button in app.button} or mode == DEMO
    assert (REASON in words(app)) == (mode == DEMO) == (not app.button)
