"""An environment that holds a few packages and what they require, and nothing else of what is installed here."""

import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

RUN = "import sys; sys.path[:0] = sys.argv[1:3]; exec(sys.stdin.read())"


def closure(names: list[str]) -> dict[str, Distribution]:
    """The packages and all that they require without extras, by their names."""
    found: dict[str, Distribution] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = distribution(name)
            needed = map(Requirement, found[name].requires or [])
            todo += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def run_with_only(
    names: list[str], script: str, folder: Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """The script's end, run in the folder by a Python that finds its own library, the folder, and these packages."""
    site = folder / "only"
    site.mkdir()
    tops = {Path(str(one.locate_file(file.parts[0]))) for one in closure(names).values() for file in one.files or []}
    for top in tops:
        if top.name not in ("..", "__pycache__"):
            (site / top.name).symlink_to(top)
    words = [sys.executable, "-I", "-S", "-c", RUN, str(site), str(folder)]
    return subprocess.run(words, cwd=folder, input=script, capture_output=True, text=True, check=False, env=environment)
