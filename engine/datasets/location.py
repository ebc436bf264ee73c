"""Where data sets lie on this machine."""

import os
import sys
from pathlib import Path


def data_root(option: str | None = None) -> Path:
    """The folder of the data sets: the option, else PRUNESCOPE_DATA of the environment, else a cache of the user's."""
    chosen = option or os.environ.get("PRUNESCOPE_DATA")
    return Path(chosen).expanduser() if chosen else cache_folder()


def cache_folder() -> Path:
    """The folder of this user's that keeps what can be fetched or made again."""
    variable, usual = {
        "win32": ("LOCALAPPDATA", "~/AppData/Local"),
        "darwin": ("XDG_CACHE_HOME", "~/Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    return Path(os.environ.get(variable) or usual).expanduser() / "prunescope"
