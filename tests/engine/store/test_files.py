"""Files come whole or not at all, through one function; what dead writers leave is swept out."""

import ast
import errno
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import PruneScopeError
from engine.store import files
from engine.store.files import (
    PLACEHOLDER,
    TEMPORARY,
    check_writable,
    checksum_ok,
    embed_checksum,
    file_digest,
    leftovers,
    publish,
    remove_folder,
    remove_leftovers,
    temporary_beside,
    write_file,
)

ENGINE = Path(__file__).resolve().parents[3] / "engine"
WRITING = {"write_text", "write_bytes", "savez", "savetxt", "to_csv", "to_json", "to_pickle", "save_file", "copyfile"}
PLACING = {"replace", "rename", "link", "symlink", "mkstemp", "NamedTemporaryFile"}


def dead_owner_name(path: Path) -> Path:
    """A temporary beside the path, of a process that is gone."""
    code = f"from pathlib import Path; from engine.store.files import *; print(temporary_beside(Path({str(path)!r})))"
    return Path(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    assert write_file(path, b"one") == file_digest(b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_without_replace_the_first_stays(tmp_path: Path) -> None:
    write_file(tmp_path / "file", b"one", replace=False)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "file", b"two", replace=False)
    assert (tmp_path / "file").read_bytes() == b"one"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_a_write_that_fails_says_why_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    write_file(tmp_path / "file", b"old")

    def fail(handle: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(PruneScopeError, match=words):
        write_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_size_limit_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(PruneScopeError, match="the file-size limit is reached"):
            write_file(tmp_path / "file", bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PruneScopeError, match="Cannot write"):
        write_file(tmp_path / "file" / "below", b"")
    with pytest.raises(PruneScopeError, match="Cannot write to"):
        check_writable(tmp_path / "file", 1)


def test_the_first_folder_stays_and_the_second_goes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_file(tmp_path / name / "file", name.encode())
    assert publish(tmp_path / "one", tmp_path / "runs" / "key")
    assert not publish(tmp_path / "two", tmp_path / "runs" / "key")
    assert (tmp_path / "runs" / "key" / "file").read_bytes() == b"one"
    assert not (tmp_path / "two").exists()


def test_leftovers_are_what_dead_processes_were_writing(tmp_path: Path) -> None:
    for folder in (
        "",
        "examples",
        "dense",
        "catalog",
        "failures",
        "claims",
        "work/key",
        "work/key/checkpoints",
        "runs/x",
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    dead = [dead_owner_name(tmp_path / "x")]
    dead += [tmp_path / folder / dead[0].name for folder in ("examples", "work/key", "work/key/checkpoints", "claims")]
    foreign = [tmp_path / f".x.00000000-1-2-3{TEMPORARY}", tmp_path / f".probe{TEMPORARY}"]
    for path in (*dead, *foreign):
        path.write_bytes(b"half")
    write_file((aside := tmp_path / "work" / dead[0].name) / "levels.parquet", b"")
    dead.append(aside)
    living = temporary_beside(tmp_path / "y")
    living.write_bytes(b"half")
    assert leftovers(tmp_path) == sorted(dead)
    long_ago = time.time() - 2 * files.FORGOTTEN
    os.utime(foreign[0], (long_ago, long_ago))
    assert set(leftovers(tmp_path)) == {*dead, foreign[0]}
    remove_leftovers(tmp_path)
    assert leftovers(tmp_path) == []
    assert living.exists() and foreign[1].exists()


def test_removing_what_somebody_removes_too_is_no_error(tmp_path: Path) -> None:
    write_file(tmp_path / "folder" / "below" / "file", b"")
    remove_folder(tmp_path / "folder")
    remove_folder(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


@given(st.binary(max_size=200), st.binary(max_size=200), st.integers(0), st.integers(1, 255))
def test_a_seal_holds_for_the_sealed_bytes_only(before: bytes, after: bytes, place: int, change: int) -> None:
    content = embed_checksum(before + PLACEHOLDER + after)
    seal = content[len(before) : len(before) + 64]
    assert checksum_ok(content, seal)
    damaged = bytearray(content)
    damaged[place % len(content)] ^= change
    assert not checksum_ok(bytes(damaged), bytes(damaged[len(before) : len(before) + 64]))


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=lambda path: str(path.relative_to(ENGINE)))
def test_every_file_is_written_by_write_file(path: Path) -> None:
    """No other code of the engine opens a file for writing or puts one in place; torchvision's downloads aside."""
    if path.name == "files.py":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        where = f"{path.name}, line {node.lineno}: {ast.unparse(node)[:80]}"
        assert not (name in WRITING and node.args), where
        assert not (name in PLACING and owner in ("os", "shutil", "tempfile", "Path") or owner == "shutil"), where
        if name == "open" and owner != "Image":
            modes = [
                word.value for word in (*node.args, *(k.value for k in node.keywords)) if isinstance(word, ast.Constant)
            ]
            assert not any(isinstance(mode, str) and set(mode) & set("wax+") for mode in modes), where
