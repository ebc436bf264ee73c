"""The door for predictions from elsewhere: a child under limits reads the file; what it made of it joins the study."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import PruneScopeError
from engine.exchange.limits import LIMITS, Limits
from engine.exchange.mapping import FILE_NAME
from engine.store.files import file_digest, publish, remove_folder, temporary_beside, write_file
from engine.store.study import Study

TOP = Path(__file__).resolve().parents[2]
WAIT = 2 * LIMITS.seconds
CHILDREN = threading.BoundedSemaphore(2)
"""So many files are read at a time, whoever brings them."""


@dataclass(frozen=True)
class Source:
    """A file that a user brings: where it lies, how they call it, and the sidecar beside it, if any."""

    path: Path
    name: str
    sidecar: Path | None = None


@dataclass(frozen=True)
class Imported:
    """What an import added: runs that are new, runs that were there already, and what the file holds."""

    n_new: int
    n_there: int
    sets: list[dict[str, Any]]


def preview_file(source: Source, mapping: dict[str, Any] | None = None, limits: Limits = LIMITS) -> dict[str, Any]:
    """Columns, first rows and guessed mapping of a file."""
    return _ask("preview", source, mapping, limits)


def import_file(
    source: Source, study: Study, mapping: dict[str, Any] | None = None, title: str = "", limits: Limits = LIMITS
) -> Imported:
    """Add the file's runs to the study, all of them or, where anything is wrong, none."""
    target = study.path.resolve()
    if not FILE_NAME.match(target.name):
        raise PruneScopeError(f"{target.name!r} is no name for a study; use letters, digits, '.', '_' and '-'.")
    folder = temporary_beside(target)
    try:
        made = _ask("stage", source, mapping, limits, folder=str(folder), sha256=_digest(source.path))
        staged = Study(folder)
        new = [key for key in staged.runs() if not _is_there(study, staged, key)]
        for one in made["sets"]:
            _check_examples(study, staged, one["example_set"])
        _join(study, staged, new, made["sets"], title or source.name)
    finally:
        remove_folder(folder)
    n_runs = sum(one["n_runs"] for one in made["sets"])
    return Imported(len(new), n_runs - len(new), made["sets"])


def _ask(task: str, source: Source, mapping: dict[str, Any] | None, limits: Limits, **more: str) -> dict[str, Any]:
    request = {
        "task": task,
        "file": str(source.path.resolve()),
        "name": source.name[:200],
        "sidecar": str(source.sidecar.resolve()) if source.sidecar else "",
        "mapping": mapping or {},
        "megabytes": limits.megabytes,
        "seconds": limits.seconds,
        **more,
    }
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TMPDIR", "HOME", "SYSTEMROOT")}
    try:
        with CHILDREN:
            done = subprocess.run(
                [sys.executable, "-m", "engine.exchange.sandbox_child"],
                input=json.dumps(request),
                capture_output=True,
                text=True,
                cwd=TOP,
                env=env | {"PYTHONPATH": str(TOP)},
                timeout=WAIT,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise PruneScopeError(
            f"{source.name} takes more than {WAIT:,} seconds to read; nothing was imported."
        ) from None
    return _answer(done, source, limits)


def _answer(done: subprocess.CompletedProcess[str], source: Source, limits: Limits) -> dict[str, Any]:
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        answer = json.loads(lines[-1])
        if "refused" in answer:
            raise PruneScopeError(answer["refused"])
        return dict(answer["result"])
    if "MemoryError" in done.stderr or "bad_alloc" in done.stderr or "alloc" in done.stderr.casefold():
        raise PruneScopeError(f"{source.name} needs more than {limits.megabytes:,} MB of memory to be read.")
    if done.returncode < 0:
        raise PruneScopeError(
            f"{source.name} cannot be read within {limits.megabytes:,} MB of memory and {limits.seconds:,} seconds."
        )
    reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    raise PruneScopeError(f"{source.name} cannot be read: {reason[:200]}.")


def _digest(path: Path) -> str:
    return file_digest(path.read_bytes()) if path.stat().st_size < 1 << 28 else ""


def _is_there(study: Study, staged: Study, key: str) -> bool:
    """Whether the study has this run already; refused where it has another one by the same settings."""
    if not study.has_run(key):
        return False
    mine, theirs = study.run_record(key), staged.run_record(key)
    if mine.files["predictions.parquet"] != theirs.files["predictions.parquet"]:
        spec = theirs.spec
        raise PruneScopeError(
            f"The study has a run of {spec.technique}, {spec.network}, seed {spec.seed} on {spec.dataset} with other "
            "predictions; name it otherwise or bring it to another study."
        )
    return True


def _check_examples(study: Study, staged: Study, name: str) -> None:
    """Refuse examples that differ from those of the same name that the study has."""
    if name not in study.example_sets():
        return
    mine, theirs = study.examples(name), staged.examples(name)
    ids = [table.get("example_id", table["example"]).astype(str).to_numpy() for table in (mine, theirs)]
    names = [s.class_facts(name)["name"].tolist() for s in (study, staged)]
    if not np.array_equal(*ids) or not np.array_equal(mine["label"], theirs["label"]) or names[0] != names[1]:
        raise PruneScopeError(
            f"The study has other examples by the name {name!r} ({len(mine):,}, the file has {len(theirs):,}); name "
            "the data set otherwise or bring the same examples in the same order."
        )


def _join(study: Study, staged: Study, new: list[str], sets: list[dict[str, Any]], title: str) -> None:
    for one in sets:
        name = one["example_set"]
        study.write_examples(name, staged.examples(name), staged.class_facts(name))
    for key in new:
        publish(staged.path / "runs" / key, study.path / "runs" / key)
    file = study.path / "study.toml"
    if not file.exists():
        words = "".join(letter for letter in title if letter.isprintable())[:200]
        write_file(file, f"title = {json.dumps(words, ensure_ascii=False)}\nimported = true\n".encode())
