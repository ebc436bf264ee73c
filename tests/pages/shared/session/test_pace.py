"""A session that writes too often is told to wait, and nothing else happens to it."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.session import pace
from tests.pages.conftest import OpenPage, words

PRESSES = """
import streamlit as st
from pages.shared.session.access import as_person

st.button("write", on_click=as_person(lambda: st.session_state.update(n=st.session_state.get("n", 0) + 1)))
"""


def test_a_session_writes_so_often_within_a_minute_and_then_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "MOST_WRITES", 3)
    app = AppTest.from_string(PRESSES).run()
    for _ in range(5):
        app.button[0].click().run()
    assert app.session_state["n"] == 3 and "3 changes within a minute" in app.toast[0].value
    monkeypatch.setattr(pace, "WITHIN_SECONDS", 0.0)
    assert app.button[0].click().run().session_state["n"] == 4


def test_who_may_not_write_is_not_asked_for_a_file(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_page("pages/bring.py", "planted").get("file_uploader")
    monkeypatch.setenv("PRUNESCOPE_ACCESS", "demo")
    app = open_page("pages/bring.py", "planted")
    assert not app.get("file_uploader") and "Nothing can be brought in here" in words(app)
