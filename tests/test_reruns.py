"""A second try is counted and printed, is given to marked tests only, and happens once."""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
TESTS = """
import pytest
from pathlib import Path

def count(name):
    path = Path(__file__).with_name(name)
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    return len(path.read_text())

@pytest.mark.rerun_once("the first try is slow")
def test_passes_at_the_second(tmp_path):
    assert count("second") == 2 and not list(tmp_path.iterdir())

@pytest.mark.rerun_once("it never works")
def test_never_passes():
    assert count("never") > 9

def test_unmarked():
    assert count("unmarked") == 2

@pytest.mark.rerun_once("not needed")
def test_passes():
    pass
"""


def said_of(tests: str, folder: Path) -> str:
    """What pytest prints of these tests, with the plugin, on two processes."""
    (folder / "test_made.py").write_text(tests)
    (folder / "conftest.py").write_text(
        "from tests.support.harness.reruns import Reruns\n"
        "def pytest_configure(config):\n"
        '    config.addinivalue_line("markers", "rerun_once(why): one more try")\n'
        "    config.pluginmanager.register(Reruns())\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(TOP)}, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_second_tries_are_counted_and_given_to_marked_tests_only(tmp_path: Path) -> None:
    text = said_of(TESTS, tmp_path)
    assert "2 failed, 2 passed" in text
    assert set(re.findall(r"FAILED \S*::(\w+)", text)) == {"test_never_passes", "test_unmarked"}
    assert (
        "reruns: 2\n" in text and "second try: test_made.py::test_passes_at_the_second: the first try is slow" in text
    )
    tries = {name: len((tmp_path / name).read_text()) for name in ("second", "never", "unmarked")}
    assert tries == {"second": 2, "never": 2, "unmarked": 1}


def test_none_is_said_too(tmp_path: Path) -> None:
    assert "reruns: 0\n" in said_of("def test_passes():\n    pass\n", tmp_path)
