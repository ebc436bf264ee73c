"""`serve`: which folder it shows, what it tells Streamlit, and how it says no."""

import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit import config

from engine import commands, study_folders
from engine.commands import MODULE, main, program_name, serve_pages
from engine.commands.serve_pages import check_port, server_environment
from engine.errors import PruneScopeError
from tests.support.server import free_port

TOP = Path(__file__).resolve().parents[3]
SETTINGS_IN_FORCE = """
import json, sys
from streamlit import config
from streamlit.web import bootstrap, cli

cli._main_run = lambda script, arguments, flag_options: bootstrap.load_config_options(flag_options)
cli.main(["run", sys.argv[1]], standalone_mode=False)
print(json.dumps({name: config.get_option(name) for name in sys.argv[2:]}))
"""
"""Prints the settings that `streamlit run` of a script would serve with, other than from a file beside it."""
Started = tuple[list[str], dict[str, str]]


def settings_that_ship() -> dict[str, Any]:
    """Streamlit's settings in this repository by their dotted names."""

    def flat(table: Mapping[str, Any], path: str) -> dict[str, Any]:
        rows: dict[str, Any] = {}
        for name, value in table.items():
            rows |= flat(value, f"{path}{name}.") if isinstance(value, dict) else {f"{path}{name}": value}
        return rows

    return flat(tomllib.loads((TOP / ".streamlit" / "config.toml").read_text(encoding="utf-8")), "")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Started]:
    """What would run in the place of this process, of each `serve` that was not refused."""
    calls: list[Started] = []

    def become(command: list[str], environment: Mapping[str, str]) -> int:
        calls.append((command, dict(environment)))
        return 0

    monkeypatch.setattr(serve_pages, "_become", become)
    for name in [name for name in os.environ if name.startswith(("STREAMLIT_", "PRUNESCOPE_ST"))]:
        monkeypatch.delenv(name)
    return calls


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    root = tmp_path / "all"
    for name in ("demo", "mine", "zoo"):
        (root / name / "runs").mkdir(parents=True)
    return root


def test_a_folder_of_studies_is_the_root(studies: Path, started: list[Started]) -> None:
    assert main(["serve", str(studies), "--port", str(free_port())]) == 0
    command, environment = started[0]
    assert command == [sys.executable, "-P", str(TOP / "serve.py")]
    assert environment["PRUNESCOPE_STUDIES"] == str(studies) and "PRUNESCOPE_STUDY" not in environment


@pytest.mark.parametrize("arguments", [["mine"], [".", "--study", "mine"]])
def test_one_study_is_opened_first(
    studies: Path, started: list[Started], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(studies)
    assert main(["serve", *arguments, "--port", str(free_port())]) == 0
    environment = started[0][1]
    assert environment["PRUNESCOPE_STUDIES"] == str(studies) and environment["PRUNESCOPE_STUDY"] == "mine"
    monkeypatch.setenv("PRUNESCOPE_STUDY", "mine")
    assert study_folders.studies_in(studies) == ["mine", "demo", "zoo"]


def test_without_a_folder_the_variable_then_the_clone(
    studies: Path, started: list[Started], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["serve", "--port", str(free_port())]) == 0
    monkeypatch.setenv("PRUNESCOPE_STUDIES", str(studies))
    assert main(["serve", "--port", str(free_port())]) == 0
    assert [one["PRUNESCOPE_STUDIES"] for _, one in started] == [str(TOP / "data"), str(studies)]


def test_installed_this_folder_then_the_study_that_ships(
    studies: Path, tmp_path: Path, started: list[Started], monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped, own = tmp_path / "site" / "studies", tmp_path / "home" / "prunescope" / "studies"
    (shipped / "demo" / "runs").mkdir(parents=True)
    for module in (study_folders, serve_pages):
        monkeypatch.setattr(module, "SHIPPED", shipped)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(studies)
    assert main(["serve", "--port", str(free_port())]) == 0
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["serve", "--port", str(free_port())]) == 0
    assert [one["PRUNESCOPE_STUDIES"] for _, one in started] == [str(studies), str(own), str(own)]
    assert (own / "demo").resolve() == shipped / "demo"

    moved = tmp_path / "elsewhere" / "studies"
    shipped.parent.rename(moved.parent)
    for module in (study_folders, serve_pages):
        monkeypatch.setattr(module, "SHIPPED", moved)
    assert main(["serve", "--port", str(free_port())]) == 0
    assert (own / "demo").resolve() == moved / "demo", "another installation has its own"

    monkeypatch.setenv("XDG_DATA_HOME", "/proc/nowhere")
    assert main(["serve", "--port", str(free_port())]) == 0
    assert started[-1][1]["PRUNESCOPE_STUDIES"] == str(moved)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "There is no folder"),
        (["all/mine/runs"], "holds no study"),
        (["odd name"], "'odd name' is no name for a study"),
        (["all", "--study", "min"], "There is no study 'min'; did you mean 'mine'? Allowed: demo, mine, zoo."),
        (["all", "--host", "no such host"], "There is no host 'no such host'"),
    ],
)
def test_refusals_say_what_was_wrong(
    studies: Path,
    started: list[Started],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    (studies.parent / "odd name" / "runs").mkdir(parents=True)
    monkeypatch.chdir(studies.parent)
    assert main(["serve", *arguments]) == 1
    assert message in capsys.readouterr().err and not started


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_what_is_no_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["serve", f"--port={port}"])
    assert "is no port; use a number from 1 to 65535" in capsys.readouterr().err


def test_a_port_in_use_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PruneScopeError, match=f"Port {port} is in use; choose another one with --port."):
            check_port("localhost", port)
    check_port("localhost", port)


def test_host_and_port_win_over_variables_and_those_over_the_file(
    studies: Path, started: list[Started], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, other = str(free_port()), str(free_port())
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")
    monkeypatch.setenv("STREAMLIT_SERVER_PORT", port)
    assert main(["serve", str(studies)]) == 0
    assert main(["serve", str(studies), "--host", "127.0.0.2", "--port", other]) == 0
    (_, first), (_, second) = started
    assert (first["STREAMLIT_SERVER_ADDRESS"], first["STREAMLIT_SERVER_PORT"]) == ("0.0.0.0", port)
    assert (second["STREAMLIT_SERVER_ADDRESS"], second["STREAMLIT_SERVER_PORT"]) == ("127.0.0.2", other)
    assert first["STREAMLIT_SERVER_ALLOWED_HOSTS"] == "localhost 127.0.0.1 ::1"
    assert second["STREAMLIT_SERVER_ALLOWED_HOSTS"] == "localhost 127.0.0.1 ::1 127.0.0.2"


@pytest.mark.parametrize(
    ("display", "option", "opens"), [("", "", False), (":0", "", True), (":0", "--no-browser", False)]
)
def test_a_browser_opens_where_there_is_a_window(
    studies: Path, started: list[Started], monkeypatch: pytest.MonkeyPatch, display: str, option: str, opens: bool
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    port = str(free_port())
    assert main(["serve", str(studies), "--port", port, *option.split()]) == 0
    assert started[0][1].get("PRUNESCOPE_BROWSER", "") == (f"http://localhost:{port}" if opens else "")


def test_variables_are_those_of_streamlit_and_say_what_the_file_says(tmp_path: Path) -> None:
    ours = server_environment({}, tmp_path, "")
    settings = settings_that_ship()
    by_variable = {config._config_options_template[name].env_var: value for name, value in settings.items()}
    assert ours.keys() - by_variable.keys() == {"PRUNESCOPE_STUDIES"} and by_variable.keys() <= ours.keys()
    shown = subprocess.run(
        [sys.executable, "-P", "-c", SETTINGS_IN_FORCE, str(TOP / "app.py"), *settings],
        cwd=tmp_path,
        env={**os.environ, **ours},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    in_force = json.loads(shown)
    # Streamlit knows one of them as a word: "auto", "true" or "false".
    assert in_force == settings | {"client.showErrorLinks": "false"}


def test_each_name_of_the_command_is_the_one_it_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert program_name("/some/.venv/bin/prunescope") == program_name("prunescope.exe") == "prunescope"
    assert program_name("/some/engine/__main__.py") == program_name("") == MODULE
    monkeypatch.setattr(commands.sys, "argv", ["/some/.venv/bin/prunescope"])
    monkeypatch.setenv("PRUNESCOPE_DATA", str(tmp_path))
    run = ["run", "--dataset", "kmnist", "--network", "lenet", "--technique", "l1_structured", "--study"]
    assert main([*run, str(tmp_path / "study")]) == 1
    assert "Get it with: prunescope data get kmnist" in capsys.readouterr().err
    (tmp_path / "study" / "runs").mkdir(parents=True, exist_ok=True)
    assert main(["show", "--study", str(tmp_path / "study")]) == 0
    assert "`prunescope run --help`" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert capsys.readouterr().out.startswith("usage: prunescope ")
