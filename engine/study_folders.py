"""Where studies lie on this machine: in the folder asked for, beside the source, here, or in the installed package."""

import os
from pathlib import Path

from engine.errors import PruneScopeError
from engine.plain_names import PLAIN_NAME

SOURCE = Path(__file__).resolve().parents[1]
"""The folder of the engine, the pages and the server: a clone, or where packages are installed."""
SHIPPED = SOURCE / "pages" / "studies"
"""The studies of an installed package; a clone has none there, because it has them in `data`."""


def is_study(path: Path) -> bool:
    """Whether the folder holds runs."""
    return (path / "runs").is_dir()


def studies_in(root: Path) -> list[str]:
    """Names of the studies in a folder: the one that $PRUNESCOPE_STUDY names first, then `demo`."""
    names = [path.name for path in root.iterdir() if PLAIN_NAME.match(path.name) and is_study(path)]
    first = os.environ.get("PRUNESCOPE_STUDY")
    return sorted(names, key=lambda name: (name != first, name != "demo", name))


def studies_root() -> Path:
    """The folder whose subfolders are the studies to choose from, where nobody names one."""
    if named := os.environ.get("PRUNESCOPE_STUDIES"):
        return Path(named)
    if not SHIPPED.is_dir():
        return SOURCE / "data"
    here = Path.cwd()
    return here if studies_in(here) else SHIPPED


def study_and_root(folder: Path) -> tuple[Path, str]:
    """The root of the studies and the study to open first, empty for any, where a user names a folder."""
    folder = Path(os.path.abspath(folder.expanduser()))
    if not folder.is_dir():
        raise PruneScopeError(f"There is no folder {folder}.")
    if is_study(folder):
        if not PLAIN_NAME.match(folder.name):
            raise PruneScopeError(
                f"{folder.name!r} is no name for a study. "
                "Use letters, digits, '.', '_' and '-', a letter or digit first."
            )
        return folder.parent, folder.name
    if not studies_in(folder):
        raise PruneScopeError(
            f"{folder} holds no study. A study is a folder with `runs` in it, as "
            f"`python -m engine run ... --study {folder / 'mine'}` makes one; name such a folder, or one with several."
        )
    return folder, ""
