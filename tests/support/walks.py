"""How many modules does a walk through the product pass? Counted by a trace: `python -m tests.support.walks`."""

import csv
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

TOP = Path(__file__).resolve().parents[2]
FOLDERS = ("engine", "pages")


@contextmanager
def traced() -> Iterator[set[str]]:
    """Modules of ours that call each other within this block, in any thread that starts in it; what runs because a
    module is loaded does not count."""
    modules: set[str] = set()
    files: dict[str, str | None] = {}

    def module_of(code: CodeType) -> str | None:
        if code.co_filename not in files:
            files[code.co_filename] = _module(Path(code.co_filename))
        return files[code.co_filename]

    def note(frame: FrameType, event: str, arg: Any) -> None:
        callee = module_of(frame.f_code) if event == "call" and frame.f_code.co_name != "<module>" else None
        if callee is None:
            return
        callers = list(_callers(frame, module_of))
        loads = any(code.co_name == "<module>" and not _is_page(module) for code, module in callers)
        if callers and not loads and callers[0][1] != callee:
            modules.update({callers[0][1], callee})

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield modules
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _callers(frame: FrameType, module_of: Callable[[CodeType], str | None]) -> Iterator[tuple[CodeType, str]]:
    """Functions of ours that called this one, the nearest first."""
    above = frame.f_back
    while above is not None:
        if module := module_of(above.f_code):
            yield above.f_code, module
        above = above.f_back


def _module(path: Path) -> str | None:
    """The path of a module of ours; None for others."""
    if not path.is_relative_to(TOP):
        return None
    relative = path.relative_to(TOP)
    return str(relative) if relative.parts[0] in (*FOLDERS, "app.py") else None


def _is_page(module: str) -> bool:
    """Whether Streamlit runs the file as a script."""
    return module == "app.py" or (module.startswith("pages/") and module.count("/") == 1)


def run_to_files(folder: Path) -> set[str]:
    """Modules between the command `run` and the files of its run."""
    from engine.commands import main

    words = "run --dataset digits --network lenet --technique l1_structured --levels 2 --epochs 1 --device cpu --study"
    with traced() as modules:
        main([*words.split(), str(folder / "study")])
    return modules


def slider_to_figure(folder: Path) -> set[str]:
    """Modules between a move of the Frontier's slider and its figure."""
    from streamlit.testing.v1 import AppTest

    os.environ["PRUNESCOPE_STUDIES"] = str(TOP / "data")
    app = AppTest.from_file(str(TOP / "app.py"), default_timeout=120)
    app.query_params["study"] = "demo"
    app = app.switch_page("pages/frontier.py").run()
    assert not app.exception
    slider = app.select_slider[0] if app.select_slider else app.slider[0]
    slider.set_value(slider.options[3] if hasattr(slider, "options") else slider.max)
    with traced() as modules:
        app.run()
    return modules


def file_to_study(folder: Path) -> set[str]:
    """Modules between a file of predictions and the study that it becomes, those of the child included."""
    from engine.commands import main
    from engine.exchange import messages, sandbox, tasks

    def in_this_process(command: list[str], input: bytes, **_: object) -> subprocess.CompletedProcess[bytes]:
        answer = tasks.perform(messages.decode_request(input))
        return subprocess.CompletedProcess(command, 0, messages.encode(answer) + b"\n", b"")

    file = folder / "models.csv"
    with file.open("w", newline="", encoding="utf-8") as target:
        rows = csv.writer(target)
        rows.writerow(["example", "label", "prediction", "sparsity", "technique", "seed"])
        rows.writerows(
            [i, i % 3, (i + (s > 0.5 and i < 9)) % 3, s, "mine", 0] for s in (0, 0.5, 0.9) for i in range(30)
        )
    with patch.object(sandbox.subprocess, "run", in_this_process), traced() as modules:
        assert main(["import", str(file), "--study", str(folder / "study")]) == 0
    return modules | {"engine/exchange/sandbox_child.py"}


WALKS: dict[str, Callable[[Path], set[str]]] = {
    "a run to its files": run_to_files,
    "a slider to its figure": slider_to_figure,
    "a file to its study": file_to_study,
}


if __name__ == "__main__":
    for name, walk in WALKS.items():
        with tempfile.TemporaryDirectory() as scratch:
            print(f"{name}: {len(walk(Path(scratch)))} modules", file=sys.stderr)
