"""What the first page shows is there before anyone asks, and what cannot be read is left to the page."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
import streamlit as st
from click import Abort
from streamlit.web import cli

import serve
from engine.analysis.curves.baseline import CONTROL
from engine.errors import PruneScopeError
from engine.store import catalog
from pages.shared.cache import catalog as load
from serve import AHEAD, read_ahead
from tests.support.studies import make_study


@pytest.fixture(autouse=True)
def _no_caches() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def test_the_first_page_finds_everything_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study(tmp_path / "made")
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(tmp_path))
    said: list[logging.LogRecord] = []
    listener = logging.Handler()
    listener.emit = said.append  # type: ignore[method-assign]
    logger = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    logger.addHandler(listener)
    try:
        ahead = Thread(target=read_ahead, name=AHEAD)
        ahead.start()
        ahead.join()
    finally:
        logger.removeHandler(listener)
    assert not said

    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(catalog, "refresh", refuse)
    monkeypatch.setattr(load, "red_flags", refuse)
    source = load.source("made")
    assert len(load.flags(source, load.experiments(source)[0], CONTROL).table)


@pytest.mark.parametrize("has_study", [False, True])
def test_nothing_to_read_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_study: bool) -> None:
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(tmp_path))
    if has_study:
        (tmp_path / "empty" / "runs").mkdir(parents=True)
    asked: list[str] = []
    monkeypatch.setattr(load, "experiments", lambda source: asked.append(source.study.path.name) or [])
    read_ahead()
    assert asked == ["empty"] * has_study


def test_what_cannot_be_read_is_left_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PruneScopeError("torn")

    make_study(tmp_path / "made")
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(tmp_path))
    monkeypatch.setattr(catalog, "refresh", refuse)
    read_ahead()
    with pytest.raises(PruneScopeError, match="torn"):
        load.experiments(load.source("made"))


@pytest.mark.parametrize("address", ["", "http://localhost:8501"])
def test_a_browser_opens_once_where_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    opened: list[str] = []
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(tmp_path))
    monkeypatch.setenv("PRUNESCOPE_BROWSER", address)
    monkeypatch.setattr(serve.webbrowser, "open", opened.append)

    async def start_twice() -> None:
        for _ in range(2):
            async with serve.reading_ahead(serve.app):
                pass

    before = set(threading.enumerate())
    asyncio.run(start_twice())
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert opened == [address] * bool(address)


def test_ctrl_c_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: list[str], standalone_mode: bool) -> None:
        assert arguments == ["run", serve.__file__] and not standalone_mode
        raise Abort

    monkeypatch.setattr(cli, "main", interrupted)
    serve.main()
