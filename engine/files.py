"""How a file comes to be: whole or not at all. Everything that a study holds is written by `write_file`."""

import errno
import hashlib
import os
import uuid
from pathlib import Path

from engine.records import PruneScopeError

TEMPORARY = ".tmp"
"""Ending of files that are being written; one that is left over was never part of a study."""


def write_file(path: Path, content: bytes) -> str:
    """Digest of what was written: to a temporary file first, synced, then renamed into place, and the folder synced."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}{TEMPORARY}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise PruneScopeError(f"Cannot write {path}: {_reason(error)}. Nothing that was finished is lost.") from error
    return file_digest(content)


def commit_folder(finished: Path, final: Path) -> bool:
    """Whether this folder became the final one; where one is there already, the first stays and this one goes."""
    final.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(finished, final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise PruneScopeError(f"Cannot move a finished run to {final}: {_reason(error)}.") from error
        remove_folder(finished)
        return False
    sync_folder(final.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_folder(folder: Path) -> None:
    """Remove a folder of files and folders; what is gone already is no error."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            (Path(parent) / name).unlink(missing_ok=True)
        try:
            os.rmdir(parent)
        except FileNotFoundError:
            pass


def file_digest(content: bytes) -> str:
    """SHA-256 of the content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def check_writable(folder: Path, megabytes: float) -> None:
    """Refuse a folder that cannot be written to or has less room than asked for."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe.{uuid.uuid4().hex[:8]}{TEMPORARY}"
        probe.write_bytes(b"")
        probe.unlink()
        free = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError as error:
        raise PruneScopeError(f"Cannot write to {folder}: {_reason(error)}. Choose another folder.") from error
    if free is not None and free.f_bavail * free.f_frsize < megabytes * 1e6:
        left = free.f_bavail * free.f_frsize / 1e6
        raise PruneScopeError(f"Only {left:.0f} MB are free in {folder}; this run needs about {megabytes:.0f} MB.")


def _reason(error: OSError) -> str:
    known = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file-size limit is reached",
        errno.EACCES: "permission is missing",
        errno.EROFS: "the disk is read-only",
    }
    return known.get(error.errno or 0, error.strerror or str(error))
