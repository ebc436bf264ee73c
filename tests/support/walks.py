"""How many modules does a walk through the product pass? Counted by a trace: `python -m tests.support.walks`."""

import csv
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

TOP = Path(__file__).resolve().parents[2]
FOLDERS = ("engine", "pages")


@contextmanager
def traced() -> Iterator[set[str]]:
    """The modules of the product in which a function is called within this block, in any thread that starts in it."""
    modules: set[str] = set()
    known: dict[CodeType, str | None] = {}

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code not in known:
            known[frame.f_code] = module = _module(frame.f_code)
            if module:
                modules.add(module)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield modules
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _module(code: CodeType) -> str | None:
    """The module of a function of ours; None for others, and for the body of a module, which runs when it loads."""
    path = Path(code.co_filename)
    if code.co_name == "<module>" and path.parent.name != "pages" or not path.is_relative_to(TOP):
        return None
    relative = path.relative_to(TOP)
    return str(relative) if relative.parts[0] in (*FOLDERS, "app.py") else None


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
    from engine.exchange import sandbox_child

    file = folder / "models.csv"
    with file.open("w", newline="", encoding="utf-8") as target:
        rows = csv.writer(target)
        rows.writerow(["example", "label", "prediction", "sparsity", "technique", "seed"])
        rows.writerows(
            [i, i % 3, (i + (s > 0.5 and i < 9)) % 3, s, "mine", 0] for s in (0, 0.5, 0.9) for i in range(30)
        )
    with traced() as modules:
        main(["import", str(file), "--study", str(folder / "study")])
        sandbox_child.answer_here(file, folder / "staged")
    return modules


WALKS: dict[str, Callable[[Path], set[str]]] = {
    "a run to its files": run_to_files,
    "a slider to its figure": slider_to_figure,
    "a file to its study": file_to_study,
}


if __name__ == "__main__":
    for name, walk in WALKS.items():
        with tempfile.TemporaryDirectory() as scratch:
            print(f"{name}: {len(walk(Path(scratch)))} modules", file=sys.stderr)
