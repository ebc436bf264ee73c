"""A folder of files that is whole or not there, with the checksum of each."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from engine.errors import PruneScopeError
from engine.store.files import publish, remove_folder, temporary_beside, write_file

SUMS = "SHA256SUMS"


def digests(contents: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each file, by its name."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(contents.items())}


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the files and their sums aside, then rename the folder into place; one that is there is refused."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PruneScopeError(f"{folder} is there already; name a folder that is not.")
    sums = "".join(f"{digest}  {name}\n" for name, digest in digests(contents).items()).encode()
    aside = temporary_beside(folder.absolute())
    try:
        for name, content in {**contents, SUMS: sums}.items():
            write_file(aside / name, content)
        if not publish(aside, folder.absolute()):
            raise PruneScopeError(f"{folder} is there already; name a folder that is not.")
    except BaseException:
        remove_folder(aside)
        raise


def wrong_files(folder: Path) -> list[str]:
    """What is wrong with a folder's files, one sentence each: missing, changed, or not listed."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PruneScopeError(f"{folder} is no shipped model: {SUMS} cannot be read ({error}).") from error
    pairs = [line.partition("  ") for line in lines]
    if any(len(digest) != 64 or not name or Path(name).name != name for digest, _, name in pairs):
        raise PruneScopeError(f"{folder / SUMS} is not what PruneScope writes.")
    texts = []
    for digest, _, name in pairs:
        file = folder / name
        if not file.is_file():
            texts.append(f"{name} is missing.")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            texts.append(f"{name} is not what was shipped: its checksum differs.")
    listed = {name for _, _, name in pairs}
    texts += [f"{path.name} was added." for path in sorted(folder.iterdir()) if path.name not in {*listed, SUMS}]
    return texts
