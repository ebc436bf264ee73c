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
WRITING = {"savez", "savez_compressed", "savetxt", "to_csv", "to_json", "to_pickle", "save_file", "tofile"}
"""Functions that write a file if they are given one, and else hand the content back."""
ALWAYS_WRITING = {"write_text", "write_bytes", "touch", "hardlink_to", "symlink_to", "mkstemp", "NamedTemporaryFile"}
PLACING = {"replace", "rename", "renames", "link", "symlink", "open", "fdopen"}
STREAMED = {
    Path("exchange/export.py"): {"temporary.replace(path)"},
    Path("commands/serve_pages.py"): {"link.symlink_to(demo, target_is_directory=True)"},
    Path("jobs/start_job.py"): {"open(job.folder / LOG, 'ab')"},
    Path("shipping/detached.py"): {"open(folder / LOG, 'wb')"},
    Path("store/people/journal.py"): {"os.open(study / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 420)"},
}
"""What the engine may do beside `write_file`: an export is larger than memory and no file of a study, a link in the
user's own folder shows the study that ships, processes of their own write logs, and a journal is added to."""


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


def writes(source: str) -> list[str]:
    """The calls and imports of the source that open a file for writing or put one in place."""
    nodes = list(ast.walk(ast.parse(source)))
    imports = [
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        and (node.module == "shutil" or node.module == "os" and PLACING & {name.name for name in node.names})
    ]
    return imports + [ast.unparse(node) for node in nodes if isinstance(node, ast.Call) and writes_file(node)]


def writes_file(call: ast.Call) -> bool:
    """Whether a call opens a file for writing or puts one in place."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    one_value = len(call.args) == 1 and not call.keywords
    if (owner == "shutil" and name != "disk_usage") or name in ALWAYS_WRITING or (name in WRITING and call.args):
        return True
    if owner == "os":
        return name in PLACING
    if name == "to_parquet":  # The store's function of that name makes bytes, a table's method a file.
        return bool(owner and call.args)
    if name in ("save", "write_table"):
        return owner in ("np", "torch", "pq")
    if name == "replace":  # A text's has two arguments, a record's has keywords.
        return bool(owner) and one_value
    if name == "rename":  # A column's new name is a literal.
        return bool(owner) and one_value and not isinstance(call.args[0], ast.Constant)
    if name == "open" and owner != "Image":
        words = [word for word in (*call.args, *(k.value for k in call.keywords)) if isinstance(word, ast.Constant)]
        return any(isinstance(word.value, str) and bool(set(word.value) & set("wax+")) for word in words)
    return False


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=lambda path: str(path.relative_to(ENGINE)))
def test_every_file_is_written_by_write_file(path: Path) -> None:
    """No other code of the engine opens a file for writing or puts one in place; torchvision's downloads aside."""
    name = path.relative_to(ENGINE)
    calls = set(writes(path.read_text(encoding="utf-8")))
    if name == Path("store/files.py"):
        assert calls, "the one place that writes is not seen to write"
    else:
        assert calls == STREAMED.get(name, set())


@pytest.mark.parametrize(
    "source",
    [
        *("path.write_text(text)", "path.write_bytes(data=content)", "path.touch()", "open(path, 'xb')"),
        *("path.open('a')", "open(path, mode='r+')", "os.open(path, os.O_CREAT)", "os.fdopen(handle, 'wb')"),
        *("path.replace(target)", "path.rename(target)", "path.hardlink_to(target)", "path.symlink_to(target)"),
        *("os.replace(one, two)", "os.rename(one, two)", "os.renames(one, two)", "os.link(one, two)"),
        *("shutil.move(one, two)", "shutil.copyfile(one, two)", "tempfile.mkstemp()", "from os import rename"),
        *("from shutil import move", "np.save(path, array)", "torch.save(state, path)", "table.to_parquet(path)"),
        "pq.write_table(table, path)",
    ],
)
def test_every_way_to_write_a_file_is_seen(source: str) -> None:
    assert writes(source) == [ast.unparse(ast.parse(source))]


@pytest.mark.parametrize(
    "source",
    [
        *("open(path, 'rb')", "path.open()", "Image.open(path)", "table.to_csv(index=False)"),
        *("text.replace('a', 'b')", "replace(spec, seed=1)", "table.rename(columns=names)", "counts.rename('n')"),
        *("to_parquet(table, 'examples')", "writer.write_table(table)"),
    ],
)
def test_what_writes_no_file_is_let_be(source: str) -> None:
    assert writes(source) == []
