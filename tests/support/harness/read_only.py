"""A folder that nobody can write to."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Keep a folder from being written to: mounted so where this user may mount, else by its modes."""
    mounted = (
        os.name == "posix"
        and subprocess.run(["mount", "--bind", folder, folder], capture_output=True, check=False).returncode == 0
        and subprocess.run(["mount", "-o", "remount,ro,bind", folder], capture_output=True, check=False).returncode == 0
    )
    paths = [] if mounted else [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    try:
        print("read-only by", "mount" if mounted else "modes", file=sys.stderr)
        yield
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
        if mounted:
            subprocess.run(["umount", folder], check=True)
