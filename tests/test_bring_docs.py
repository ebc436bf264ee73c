"""The round trip that the docs show is run as it is printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.commands import main
from engine.store.study import Study

TOP = Path(__file__).resolve().parents[1]
PAGE = TOP / "docs" / "bring-your-own.md"


def test_the_scikit_learn_round_trip_works_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    lines = [line for line in code[1].splitlines() if line.strip()]
    assert len(lines) <= 20
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code[1]], check=True)
    command = re.search(r"^prunescope (import digits\.csv .*)", text, re.MULTILINE)
    assert command is not None
    assert main(command[1].split()) == 0
    levels = Study(tmp_path / "data" / "sklearn").levels()
    assert levels.groupby("level")["sparsity"].first().tolist() == [0, 0.5, 0.8, 0.9]
    assert levels["seed"].nunique() == 3 and levels["network"].unique().tolist() == ["MLP"]
    by_level = levels.groupby("level")["accuracy"].mean()
    assert by_level[0] > 0.9 > by_level[3]


def test_the_loop_of_pytorch_works_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## From a training loop of your own")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code[1]], check=True)
    levels = Study(tmp_path / "data" / "torch").levels()
    assert levels["sparsity"].tolist() == [0, 0.5] and set(levels["technique"]) == {"l1"}
    assert levels["accuracy"].iloc[0] > 0.75
