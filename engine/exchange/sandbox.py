"""The door for predictions from elsewhere: a child under limits reads the file; what it made of it joins the study."""

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.access import check_may_write
from engine.errors import PruneScopeError
from engine.exchange.cells import shown
from engine.exchange.limits import LIMITS, Limits
from engine.exchange.mapping import ColumnMapping, Constant
from engine.exchange.messages import (
    Answer,
    ExampleSetSummary,
    FileToRead,
    Preview,
    PreviewRequest,
    Refused,
    Request,
    Staged,
    StageRequest,
    decode_answer,
    encode,
)
from engine.plain_names import PLAIN_NAME
from engine.store.files import (
    file_digest,
    one_at_a_time,
    publish,
    remove_folder,
    remove_left_beside,
    temporary_beside,
    write_file,
)
from engine.store.people.journal import note_deed
from engine.store.run_files import INCOMING, REPLACED
from engine.store.study import Study

TOP = Path(__file__).resolve().parents[2]
WAIT = 2 * LIMITS.seconds
FEW_THREADS = {"MALLOC_ARENA_MAX": "2", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Each thread reserves addresses for its stack and heap, which count against the limit; many cores mean many."""

CHILDREN = threading.BoundedSemaphore(2)
"""So many files are read at a time, whoever imports them."""


@dataclass(frozen=True)
class Source:
    """A file that a user brings: where it lies, how they call it, and the sidecar beside it, if any."""

    path: Path
    name: str
    sidecar: Path | None = None
    facts: Mapping[str, Constant] = field(default_factory=dict)
    """What its path says of all its rows."""
    kind: str = ""
    """What it comes from, where that is no plain table: a harness."""
    more: "tuple[Source, ...]" = ()
    """Files that are read with it, as one table."""

    @property
    def every(self) -> "tuple[Source, ...]":
        """The file and those that come with it."""
        return self, *self.more


@dataclass(frozen=True)
class Imported:
    """What an import added: runs that are new, runs that the study had already, and what the file holds."""

    n_new: int
    n_present: int
    example_sets: tuple[ExampleSetSummary, ...]


def preview_file(source: Source, mapping: ColumnMapping = ColumnMapping(), limits: Limits = LIMITS) -> Preview:
    """Columns, first rows and guessed mapping of a file."""
    request = PreviewRequest(_file_to_read(source, mapping), limits.megabytes, limits.seconds)
    answer = ask_child(request, source)
    assert isinstance(answer, Preview)
    return answer


def import_file(
    source: Source,
    study: Study,
    mapping: ColumnMapping = ColumnMapping(),
    title: str = "",
    limits: Limits = LIMITS,
    *,
    append: bool = False,
) -> Imported:
    """Add the file's runs to the study, all of them or, where anything is wrong, none.

    With `append` its models join the runs of the same technique, network and seed that the study has.
    """
    who = check_may_write("an import")
    target = study.path.resolve()
    if not PLAIN_NAME.match(target.name):
        raise PruneScopeError(f"{target.name!r} is no name for a study; use letters, digits, '.', '_' and '-'.")
    folder = temporary_beside(target)
    try:
        file, digest = _file_to_read(source, mapping), _digest([own.path for own in source.every])
        joins = str(target) if target.is_dir() else ""
        before = Study(target).runs()
        request = StageRequest(file, limits.megabytes, limits.seconds, str(folder), digest, joins, append)
        answer = ask_child(request, source)
        assert isinstance(answer, Staged)
        with one_at_a_time(target.parent):
            if append and Study(target).runs() != before:
                raise PruneScopeError(f"Somebody else imported into {target.name} meanwhile; try again.")
            new = _join(Study(target), Study(folder), answer, title or source.name)
    finally:
        remove_folder(folder)
        if target.parent.is_dir():
            remove_left_beside(target.parent)
    n_runs = sum(summary.n_runs for summary in answer.example_sets)
    if new:
        note_deed(target, who, "imported", f"{source.name}: {new} new runs")
    return Imported(new, max(0, n_runs - new), answer.example_sets)


def _file_to_read(source: Source, mapping: ColumnMapping) -> FileToRead:
    sidecar = str(source.sidecar.resolve()) if source.sidecar else ""
    more = tuple(_file_to_read(own, mapping) for own in source.more)
    return FileToRead(
        str(source.path.resolve()), source.name[:200], sidecar, mapping, dict(source.facts), source.kind, more
    )


def ask_child(request: Request, source: Source) -> Answer:
    """The child's answer; a refusal is raised."""
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TMPDIR", "HOME", "SYSTEMROOT")}
    try:
        line = encode(request)
    except UnicodeEncodeError as error:
        raise PruneScopeError(
            f"{shown(error.object)} is no Unicode text; rename the file, its folder or the column."
        ) from None
    child = _run_child(line, env, source)
    if child.returncode < 0 and child.returncode != -signal.SIGXCPU and not child.stdout.strip():
        if isinstance(request, StageRequest):
            remove_folder(Path(request.folder))
        child = _run_child(line, env, source)  # a machine that was short of something for a moment
    return _answer(child, request, source)


def _run_child(line: bytes, env: dict[str, str], source: Source) -> subprocess.CompletedProcess[bytes]:
    try:
        with CHILDREN:
            return subprocess.run(
                [sys.executable, "-m", "engine.exchange.sandbox_child"],
                input=line,
                capture_output=True,
                cwd=TOP,
                env=env | {"PYTHONPATH": str(TOP), **FEW_THREADS},
                timeout=WAIT,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise PruneScopeError(
            f"{source.name} takes more than {WAIT:,} seconds to read; nothing was imported."
        ) from None


def _answer(child: subprocess.CompletedProcess[bytes], request: Request, source: Source) -> Answer:
    """What the child said; where it said nothing, why, and whether that was the file or the machine."""
    lines = child.stdout.strip().splitlines()
    if lines and child.stdout.endswith(b"\n"):  # all of it was said, whatever happened to the child afterwards
        answer = decode_answer(lines[-1])
        if isinstance(answer, Refused):
            raise PruneScopeError(answer.sentence)
        return answer
    errors = child.stderr.decode(errors="replace").strip()
    if "alloc" in errors.casefold() or "MemoryError" in errors:
        raise PruneScopeError(f"{source.name} needs more than {request.megabytes:,} MB of memory to be read.")
    if child.returncode == -signal.SIGXCPU:
        raise PruneScopeError(f"{source.name} takes more than {request.seconds:,} seconds of processor time to read.")
    if child.returncode < 0:
        raise PruneScopeError(
            f"The process that reads {source.name} was ended twice, by {_signal_words(-child.returncode)}. That says "
            "nothing about the file: is this machine short of memory? Nothing was imported; try again."
        )
    reason = errors.splitlines()[-1] if errors else f"exit code {child.returncode}"
    raise PruneScopeError(f"{source.name} cannot be read: {reason[:200]}.")


def _signal_words(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def _digest(paths: Sequence[Path]) -> str:
    """Digest of a file, or of the digests of several; empty where they are too large to read them once more."""
    if sum(path.stat().st_size for path in paths) >= 1 << 28:
        return ""
    digests = [file_digest(path.read_bytes()) for path in paths]
    return digests[0] if len(digests) == 1 else file_digest("".join(sorted(digests)).encode())


def _has_run(study: Study, staged: Study, key: str) -> bool:
    """Whether the study has this run already; refused where it has another one by the same settings."""
    if not study.has_run(key):
        return False
    mine, theirs = study.run_record(key), staged.run_record(key)
    if mine.files["predictions.parquet"] == theirs.files["predictions.parquet"]:
        return True
    if not study.run_rows(key, "predictions").equals(
        staged.run_rows(key, "predictions")
    ):  # other bytes may say the same
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


def _join(study: Study, staged: Study, answer: Staged, title: str) -> int:
    """Number of new runs, once all that was staged is part of the study; where anything is wrong, nothing is.

    A study that is new appears by one rename. To one that is there the staged folder is handed over by one rename, and
    then put in place: by this process or, should it be killed, by the next who opens the study.
    """
    study.take_incoming()
    present = [key for key in staged.runs() if key not in answer.replaced and _has_run(study, staged, key)]
    n_new = len(staged.runs()) - len(present)
    if answer.replaced:
        write_file(staged.path / REPLACED, json.dumps(sorted(answer.replaced)).encode())
    for summary in answer.example_sets:
        study.check_example_name(summary.example_set)
        _check_examples(study, staged, summary.example_set)
    for key in present:
        remove_folder(staged.path / "runs" / key)
    remove_folder(staged.path / "work")
    if not (study.path / "study.toml").exists():
        words = "".join(letter for letter in title if letter.isprintable())[:200]
        text = f"title = {json.dumps(words, ensure_ascii=False)}\nimported = true\n"
        write_file(staged.path / "study.toml", text.encode())
    if not study.path.exists():
        publish(staged.path, study.path)
    else:
        publish(staged.path, study.path / INCOMING / uuid.uuid4().hex)
        study.take_incoming()
    return n_new
