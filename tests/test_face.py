"""The public Python face: what docs/python.md and the examples say works as printed, and nothing loads too early."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prunescope as ps
from engine.commands import main
from engine.errors import PruneScopeError
from engine.store.verification.verify import verify_study

TOP = Path(__file__).resolve().parents[1]
MOST_LINES = 20


def in_a_process(code: str, folder: Path, *words: str) -> str:
    """What a fresh interpreter prints, started in another folder than the repository's."""
    env = {**os.environ, "PYTHONPATH": str(TOP), "PRUNESCOPE_DATA": str(folder)}
    command = [sys.executable, *(words or ("-c", code))]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_is_there_and_none_loads_torch(tmp_path: Path) -> None:
    names = [name for name in ps.__all__ if name != "plots"]
    code = f"import sys, prunescope as ps; early = set(sys.modules); [getattr(ps, n) for n in {names!r}];"
    code += "print('torch' in sys.modules, 'pandas' in early, 'streamlit' in sys.modules)"
    assert in_a_process(code, tmp_path).split() == ["False", "False", "False"]
    with pytest.raises(AttributeError, match="nonsense"):
        ps.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_docs_python_runs_as_printed(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (TOP / "docs" / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    script = tmp_path / "page.py"
    script.write_text("\n".join([*blocks, "print(*(result.state for result in results))"]))
    assert in_a_process("", tmp_path, str(script)).splitlines()[-1] == "done done"
    assert len(ps.Study(tmp_path / "my-studies" / "first").runs()) == 4
    for name in ("first", "own"):
        assert verify_study(ps.Study(tmp_path / "my-studies" / name)) == []


def test_the_own_network_example_is_short_and_runs_twice_in_two_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (TOP / "examples" / "own_network.py").read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in source.splitlines()) <= MOST_LINES
    (tmp_path / "own_network.py").write_text(source)
    first = in_a_process("", tmp_path, "own_network.py")
    study = ps.Study(tmp_path / "my-study")
    assert len(study.runs()) == 4 and verify_study(study) == []
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "my-study" / "runs").rglob("*")}
    assert in_a_process("", tmp_path, "own_network.py") == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "my-study" / "runs").rglob("*")} == stamps
    assert main(["rebuild", study.runs()[0], "--study", str(study.path)]) == 1
    assert "--trust" in capsys.readouterr().err


def test_the_sklearn_example_runs(tmp_path: Path) -> None:
    assert "magnitude" in in_a_process("", tmp_path, str(TOP / "examples" / "sklearn_predictions.py"))
    study = ps.Study(tmp_path / "sklearn-study")
    assert len(study.runs()) == 3 and verify_study(study) == [] and "ink" in study.examples("digits-8x8")


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = json.loads((TOP / "examples" / "read_a_study.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (tmp_path / "data").symlink_to(TOP / "data")
    script = tmp_path / "cells.py"
    script.write_text("\n".join(cells))
    in_a_process("", tmp_path, str(script))
    assert all(not cell.get("outputs") for cell in notebook["cells"])


def test_a_lambda_cannot_travel_to_other_processes(tmp_path: Path) -> None:
    ps.register_technique("no-name", lambda scored: scored.weights)
    spec = ps.RunSpec("digits", "lenet", "no-name", levels=1, epochs=1)
    with pytest.raises(PruneScopeError, match="define it there with `def`"):
        ps.Study(tmp_path / "study").sweep([spec], workers=2)
    assert not (tmp_path / "study").exists()
    with pytest.raises(PruneScopeError, match="is one of ours"):
        ps.register_technique("l1_structured", lambda scored: scored.weights)
