"""What the child does with a user's file: preview it, or stage it as a study."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa

from engine import __version__
from engine.errors import PruneScopeError
from engine.exchange.assemble import stage_runs
from engine.exchange.cells import WHOLE, encoded, natural
from engine.exchange.collect import Part, collect_examples
from engine.exchange.example_set import ExampleSet
from engine.exchange.guess import fill_in_defaults
from engine.exchange.mapping import (
    ColumnMapping,
    class_facts_of,
    merge_mappings,
    only_columns,
    refuse_unnamed_models,
    validate_mapping,
)
from engine.exchange.messages import Cell, FileToRead, Preview, PreviewRequest, Request, Staged, StageRequest
from engine.exchange.sidecar import read_sidecar
from engine.exchange.sources.every_eval_ever import instance_columns
from engine.exchange.sources.known_examples import example_orders, imported_runs, known_sets
from engine.exchange.sources.lm_eval import PROMPT, sample_columns, sample_mapping
from engine.exchange.sources.several import with_path_facts
from engine.exchange.table_file import Table, open_table
from engine.store.files import remove_folder, staged
from engine.store.study import Study, examples_name

HARNESSES = {"lm-eval": sample_columns, "every-eval-ever": instance_columns}
"""What files of a harness are called, and which columns they have."""
N_SHOWN = 8
N_LOOKED = 5000
SIDECAR_BYTES = 50_000_000


def perform(request: Request) -> Preview | Staged:
    """The answer to a request."""
    return preview(request) if isinstance(request, PreviewRequest) else stage_file(request)


def preview(request: PreviewRequest) -> Preview:
    """Columns, the guessed mapping and the first rows of a file."""
    table, mapping, fractions = _open(request.file)
    _, columns = next(iter(table.batches()))
    n_rows = min(N_SHOWN, len(next(iter(columns.values()))))
    rows = ({name: _cell(values[row].as_py()) for name, values in columns.items()} for row in range(n_rows))
    return Preview(table.names, tuple(fractions), mapping, tuple(rows))


def stage_file(request: StageRequest) -> Staged:
    """Write the runs of the file, and of those that come with it, as a study into the folder of the request."""
    files = [request.file, *request.file.more]
    parts = [_part(file, files) for file in files]
    source = {"engine": __version__, "imported": _name_of(files), "sha256": request.sha256}
    study = Study(request.study) if request.study else None
    known = known_sets(study) if study and request.append else []
    if known:
        parts = [_of_known_columns(part, known) for part in parts]
    collected = collect_examples(parts, known)
    if not collected:
        raise PruneScopeError("No file has predictions: columns of examples alone are no models.")
    orders = example_orders(study) if study and not known else {}
    for own in collected:
        own.order = orders.get((own.dataset, own.split))
    if request.file.kind in HARNESSES:
        collected = [with_positions(own) for own in collected]
    made = Study(request.folder)
    with staged():
        summaries = stage_runs(collected, _joint_mapping(parts, known, study), made, source)
    return Staged(tuple(summaries), tuple(_replaced(study, made, collected)) if known and study else ())


def with_positions(own: ExampleSet) -> ExampleSet:
    """The set with all positions of answers as classes, also those that are never right; without prompts."""
    own.groups.pop(PROMPT, None)
    own.declared = own.declared or tuple(natural({*own.labels.texts, *own.predicted.texts}))
    return own


def _part(file: FileToRead, files: Sequence[FileToRead]) -> Part:
    """One file of an import with its mapping, refused where that cannot be followed."""
    try:
        table, mapping, _ = _open(file, is_alone=len(files) == 1)
        if len(files) == 1 or mapping.says("prediction") or mapping.models:
            validate_mapping(mapping, table.names, is_alone=len(files) == 1)
        elif not mapping.says("example"):
            raise PruneScopeError("It names no examples: a column such as id or sample_id is missing.")
        if len(files) == 1 and not file.mapping.groups:
            refuse_unnamed_models(mapping)
        return Part(file.name, table, mapping)
    except PruneScopeError as error:
        raise PruneScopeError(f"{file.name}: {error}") if len(files) > 1 else error from None


def _name_of(files: Sequence[FileToRead]) -> str:
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1:,} more"


def _joint_mapping(parts: Sequence[Part], known: Sequence[ExampleSet], study: Study | None) -> ColumnMapping:
    """What the files say of classes and runs together; classes that the study has stay as they are."""
    classes = next((part.mapping.classes for part in parts if part.mapping.classes), ())
    if known and study:
        names = {examples_name(r.spec) for runs in imported_runs(study).values() for r in runs.values()}
        classes = class_facts_of(study.class_facts(min(names))) if len(names) == 1 else ()
    runs = {run: spec for part in parts for run, spec in part.mapping.runs.items()}
    return msgspec.structs.replace(parts[0].mapping, classes=classes, runs=runs)


def _of_known_columns(part: Part, known: Sequence[ExampleSet]) -> Part:
    """The part without columns of examples that the study does not have: its table of examples stays as it is."""
    groups = {name for own in known for name in own.groups}
    attributes = {name for own in known for name in own.attributes}
    return replace(
        part,
        mapping=msgspec.structs.replace(
            part.mapping,
            groups=tuple(name for name in part.mapping.groups if name in groups),
            attributes=tuple(name for name in part.mapping.attributes if name in attributes),
        ),
    )


def _replaced(study: Study, staged: Study, collected: Sequence[ExampleSet]) -> list[str]:
    """Runs of the study that are in the staged ones with other models, or as part of others; the rest is unstaged."""
    runs, sets = imported_runs(study), {(own.dataset, own.split) for own in collected}
    found = []
    for key in (key for pair in sets for key in runs.get(pair, ())):
        if key in staged.runs() and _answers(study, key) == _answers(staged, key):
            remove_folder(staged.path / "runs" / key)
        else:
            found.append(key)
    return found


def _answers(study: Study, key: str) -> tuple[list[object], ...]:
    rows = study.run_rows(key, "predictions").to_pydict()
    return rows["level"], rows["offset"], study.run_table(key, "levels")["sparsity"].tolist()


def _open(file: FileToRead, is_alone: bool = True) -> tuple[Table, ColumnMapping, list[str]]:
    """The table, its mapping (what is given, completed by what names say), and its columns of fractions."""
    if file.kind in HARNESSES:
        names = HARNESSES[file.kind](Path(file.path))
        mapping = with_path_facts(sample_mapping(names, file.mapping, file.kind), file.facts, ())
        return Table(Path(file.path), file.kind, tuple(names)), mapping, []
    table, mapping = open_table(Path(file.path)), file.mapping
    if file.sidecar:
        mapping = merge_mappings(_read_sidecar(Path(file.sidecar)), mapping)
    fractions = fraction_columns(table)
    if not is_alone:  # a column that only other files have is theirs
        mapping = only_columns(mapping, table.names)
    mapping = with_path_facts(mapping, file.facts, table.names)
    return table, fill_in_defaults(mapping, table.names, fractions), fractions


def _read_sidecar(path: Path) -> ColumnMapping:
    if path.stat().st_size > SIDECAR_BYTES:
        raise PruneScopeError(f"The sidecar is larger than {SIDECAR_BYTES // 1_000_000} MB.")
    return read_sidecar(path.read_bytes())


def fraction_columns(table: Table) -> list[str]:
    """Columns of numbers of which one, among the first rows, is not whole."""
    _, columns = next(iter(table.batches()))
    return [
        name for name, values in columns.items() if _holds_fractions(name, values.slice(0, N_LOOKED), table.decimal)
    ]


def _holds_fractions(name: str, values: pa.Array, decimal: str) -> bool:
    if not pa.types.is_string(values.type):
        return bool(pa.types.is_floating(values.type))
    try:
        _, texts = encoded(values, name, 1)
        plain = [text.replace(decimal, ".") for text in texts]
        return bool([float(text) for text in plain]) and not all(WHOLE.match(text) for text in plain)
    except (PruneScopeError, ValueError):
        return False


def _cell(value: object) -> Cell:
    """A cell as JSON can say it, which knows no infinite numbers."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and not math.isinf(value):
        return None if math.isnan(value) else value
    return str(value)[:200]
