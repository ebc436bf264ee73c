"""Which runs were found whole, and what their files looked like then: so that a later look can pass them by.

It tells a file that was changed, not a disk that forgets: size and times of such a file stay as they were.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from engine import __version__
from engine.errors import PruneScopeError
from engine.run_spec import digest
from engine.store.catalog_segments import FOLDER
from engine.store.files import PLACEHOLDER, checksum_ok, embed_checksum, write_file
from engine.store.study import Study

FILE = f"{FOLDER}/verified.json"


def run_stamps(study: Study) -> dict[str, str]:
    """Letters for each run that change with its files, and with the examples of the study."""
    examples = _stamp(study.path / "examples")
    return {key: digest({"run": _stamp(study.path / "runs" / key), "examples": examples}) for key in study.runs()}


def changed_runs(study: Study, stamps: Mapping[str, str]) -> list[str]:
    """Those of the runs that were not found whole as they are now."""
    kept = _kept(study)
    return [key for key, stamp in stamps.items() if kept.get(key) != stamp]


def keep_whole(study: Study, stamps: Mapping[str, str]) -> None:
    """Note that these runs were found whole when they had these stamps; of others nothing is known any more."""
    values = {"engine": __version__, "runs": stamps, "sha256": PLACEHOLDER.decode()}
    try:
        write_file(study.path / FILE, embed_checksum(json.dumps(values).encode()))
    except PruneScopeError:
        pass  # a study that cannot be written to is looked at as a whole each time


def _kept(study: Study) -> dict[str, str]:
    try:
        content = (study.path / FILE).read_bytes()
        values = json.loads(content)
        is_ours = values["engine"] == __version__ and checksum_ok(content, values["sha256"].encode())
        return dict(values["runs"]) if is_ours else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _stamp(folder: Path) -> str:
    """Letters that change with the files of a folder: their names, sizes and times."""
    facts = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            file = os.stat(path := os.path.join(parent, name))
            facts[os.path.relpath(path, folder)] = [file.st_size, file.st_mtime_ns, file.st_ctime_ns, file.st_ino]
    return digest(facts)
