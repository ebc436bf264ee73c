"""How a file comes to be: whole or not at all. Every file that the engine writes is written by `write_file`."""

import errno
import hashlib
import json
import os
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from engine.errors import PruneScopeError
from engine.store.process_identity import ProcessIdentity, is_alive, this_process

TEMPORARY = ".tmp"
"""Ending of what is being written; one that is left over was never part of a study."""

FORGOTTEN = 86_400.0
"""Seconds after which a temporary of another machine counts as left over."""

PLACEHOLDER = b"(the SHA-256 of this file, taken with these words in its place.)"
"""What stands in a file in place of its seal, its own digest, while that is computed."""


_JOINING = threading.Lock()
_STAGES: ContextVar[bool] = ContextVar("stages", default=False)


def write_file(path: Path, content: bytes, replace: bool = True) -> str:
    """Digest of what was written: to a temporary file first, synced, then renamed into place, and the folder synced.

    Without `replace` the first writer wins, and every other one gets a FileExistsError. What is `staged` is written in
    place: the whole folder is such a temporary.
    """
    if is_staging():
        return _write_in_place(path, content)
    temporary = temporary_beside(path)
    try:
        make_folder(path.parent)
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        (os.replace if replace else os.link)(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        if isinstance(error, FileExistsError) and not replace:
            raise
        raise _unwritten(path, error) from error
    finally:
        _remove_file(temporary)
    return file_digest(content)


def _write_in_place(path: Path, content: bytes) -> str:
    """Digest of what was written, of which the disk knows once all that is staged is synced."""
    try:
        make_folder(path.parent)
        with open(path, "xb") as file:
            file.write(content)
    except OSError as error:
        raise _unwritten(path, error) from error
    return file_digest(content)


def _unwritten(path: Path, error: OSError) -> PruneScopeError:
    return PruneScopeError(f"Cannot write {path}: {_reason(error)}. Nothing that was finished is lost.")


def publish(finished: Path, final: Path) -> bool:
    """Whether this became the final file or folder; a folder that is there already stays, and this one goes."""
    try:
        make_folder(final.parent)
        os.rename(finished, final)
        sync_folder(final.parent)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise PruneScopeError(f"Cannot move {finished.name} to {final}: {_reason(error)}.") from error
        remove_folder(finished)
        return False
    return True


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that each of them survives a power cut."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the system can."""
    if os.name != "posix" or is_staging():
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_staging() -> bool:
    """Whether what is written now lies in a folder that is `staged`."""
    return _STAGES.get()


@contextmanager
def staged() -> Iterator[None]:
    """Have files that are written meanwhile, each once, reach the disk by one sync at the end.

    For a folder that is itself a temporary, which nobody reads before it is whole and renamed into place.
    """
    before = _STAGES.set(True)
    try:
        yield
    finally:
        _STAGES.reset(before)
    if os.name == "posix":
        os.sync()


def remove_folder(folder: Path) -> None:
    """Remove a folder of files and folders; what is gone already or still being written to is no error."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            _remove_file(Path(parent) / name)
        try:
            os.rmdir(parent)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise PruneScopeError(f"Cannot remove {parent}: {_reason(error)}.") from error


def _remove_file(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        pass  # what cannot be removed now is removed with the other leftovers


# -- temporaries ------------------------------------------------------------------------------------------------


def temporary_beside(path: Path) -> Path:
    """A new name beside the path for what is not finished; it says which process writes it."""
    owner = this_process()
    return path.with_name(f".{path.name}.{owner.host}-{owner.process}-{owner.began}-{uuid.uuid4().hex[:8]}{TEMPORARY}")


def leftovers(folder: Path) -> list[Path]:
    """What writers that are dead left unfinished, anywhere in the folder but in its finished runs."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        found += [Path(parent) / name for name in (*folders, *names) if name.endswith(TEMPORARY)]
        folders[:] = [name for name in folders if name != "runs" and not name.endswith(TEMPORARY)]
    return sorted(path for path in found if _is_left_over(path))


def remove_leftovers(folder: Path) -> None:
    """Remove what writers that are dead left unfinished."""
    for path in leftovers(folder):
        if path.is_dir():
            remove_folder(path)
        else:
            _remove_file(path)


def remove_left_beside(folder: Path) -> None:
    """Remove what dead writers left unfinished directly in the folder, such as imports beside their studies."""
    for path in folder.glob(f".*{TEMPORARY}"):
        if _is_left_over(path):
            remove_folder(path) if path.is_dir() else _remove_file(path)


def _is_left_over(path: Path) -> bool:
    try:
        host, process, began, _ = path.name.removesuffix(TEMPORARY).rpartition(".")[2].split("-")
        alive = is_alive(ProcessIdentity(host, int(process), began))
    except ValueError:
        alive = None
    try:
        return not alive if alive is not None else time.time() - path.stat().st_mtime > FORGOTTEN
    except OSError:
        return False


# -- checksums --------------------------------------------------------------------------------------------------


def file_digest(content: bytes) -> str:
    """SHA-256 of the content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def embed_checksum(content: bytes) -> bytes:
    """The content with its own digest in place of the `PLACEHOLDER` in it."""
    return content.replace(PLACEHOLDER, file_digest(content).encode())


def checksum_ok(content: bytes, seal: bytes) -> bool:
    """Whether the content is what was sealed."""
    return file_digest(content.replace(seal, PLACEHOLDER)).encode() == seal


def sealed_json(values: Mapping[str, Any], indent: int | None = None) -> bytes:
    """The values as JSON with the digest of the file in it."""
    sealed = {**values, "sha256": PLACEHOLDER.decode()}
    return embed_checksum(json.dumps(sealed, indent=indent, allow_nan=False).encode())


def unsealed_json(content: bytes, older: Collection[Collection[str]] = ()) -> dict[str, Any]:
    """The values of such a file; ValueError where it is not what was sealed.

    Older engines did not seal every kind of file: one with just the fields that `older` allows will do.
    """
    values = json.loads(content)
    if not isinstance(values, dict):
        raise ValueError("it holds no facts by name")
    if "sha256" not in values:
        if set(values) not in map(set, older):
            raise ValueError("it has no checksum")
        return values
    if not checksum_ok(content, str(values.pop("sha256")).encode()):
        raise ValueError("its checksum differs from its content")
    return values


def checked_tensors(path: Path, place: str = "", says_place: bool = True) -> bytes:
    """Content of a safetensors file; ValueError where it is not what was sealed, or was sealed for another place.

    Without `says_place`, or without a place, a file that says none will do: the first engines sealed without, and
    before that not at all.
    """
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    facts = header.pop("__metadata__", None) or {} if isinstance(header, dict) else None
    if facts is None or not all(isinstance(row, dict) and "dtype" in row for row in header.values()):
        raise ValueError("its header is damaged")
    said, _, seal = str(facts.get("seal") or facts.get("sha256")).rpartition(" ")
    if facts and (len(facts) > 1 or not checksum_ok(content, seal.encode())):
        raise ValueError("its checksum differs from its content")
    if place and said != place and (said or says_place):
        raise ValueError(f"it was written as {said or 'something else'}, not as {place}")
    return content


# -- locks ------------------------------------------------------------------------------------------------------


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """While the block runs, no other process or thread is in one for this folder; the system lets go where one dies."""
    make_folder(folder)
    with _JOINING:
        try:
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
        except (ImportError, OSError):  # a system without such locks: threads of this process are apart all the same
            yield
            return
        try:
            with suppress(OSError):  # a file system without them
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


# -- room -------------------------------------------------------------------------------------------------------


def check_writable(folder: Path, megabytes: float) -> None:
    """Refuse a folder that cannot be written to or has less room than asked for."""
    try:
        make_folder(folder)
        write_file(probe := folder / f".probe{TEMPORARY}", b"")
        _remove_file(probe)
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
