"""README's commands work as they are printed: all of them parse, and those that take seconds are run by a shell."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from engine.commands import parsed

TOP = Path(__file__).resolve().parents[1]
PROGRAMS = (".venv/bin/prunescope", "prunescope")
SLOW = (["data", "get"], ["sweep", "run"], ["rebuild"], ["serve"])
"""Beginnings of commands that fetch, take minutes or go on for ever."""


def shell_lines(text: str) -> list[str]:
    """Lines of the code blocks without a language, continued ones joined, remarks left out."""
    blocks = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [" ".join(line.partition(" #")[0].split()) for line in lines if line.strip()]


LINES = shell_lines((TOP / "README.md").read_text(encoding="utf-8"))
COMMANDS = [(words[0], words[1:]) for words in map(shlex.split, LINES) if words[0] in PROGRAMS]


def is_slow(arguments: list[str]) -> bool:
    return any(arguments[: len(beginning)] == beginning for beginning in SLOW)


def test_every_line_is_a_command_that_somebody_checks() -> None:
    others = [line for line in LINES if line.split()[0] not in PROGRAMS]
    assert [line for line in others if not re.fullmatch(r"make \w+|pip install \.", line)] == []
    assert len(COMMANDS) > 10


@pytest.mark.parametrize(("program", "arguments"), COMMANDS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_parses(program: str, arguments: list[str]) -> None:
    assert callable(parsed(arguments, program).act)


def test_studies_are_written_where_the_picker_looks() -> None:
    studies = [
        Path(words[words.index("--study") + 1])
        for _, words in COMMANDS
        if words[0] in ("run", "sweep") and "--study" in words
    ]
    assert studies and all(study.parent == Path("data") for study in studies)
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    assert "$(BIN)/prunescope serve" in makefile and "--editable ." in makefile, (
        "`make run` leaves .venv/bin/prunescope"
    )


def test_extras_that_readme_names_exist() -> None:
    named = set(re.findall(r"'\.\[(\w+)\]'", (TOP / "README.md").read_text(encoding="utf-8")))
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert named == set(project["optional-dependencies"])


def test_cheap_commands_run_as_printed(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "prunescope"
    program.parent.mkdir(parents=True)
    code = "import sys; sys.argv[0] = 'prunescope'; from engine.commands import main; sys.exit(main())"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -c "{code}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    lines = [line for line in LINES if line.startswith(PROGRAMS[0]) and not is_slow(shlex.split(line)[1:])]
    assert {shlex.split(line)[1] for line in lines} == {"list", "run", "show", "verify", "sweep"}
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PRUNESCOPE_")}
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env={**variables, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"Run \w{12} finished in \d+ s; kept in data/mine", done.stdout)
    assert "1 runs, 21 models." in done.stdout and "all whole" in done.stdout and "18 runs, 234 models" in done.stdout
