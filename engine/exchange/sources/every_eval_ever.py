"""Instances of Every Eval Ever, the common format of HELM, Inspect and others: one JSON line per model and sample.

A folder has the instances of one model, as `BENCHMARK/DEVELOPER/MODEL/ID_samples.jsonl`. A class is the position of an
answer among the choices, held against `is_correct`; a sample without choices has the outcomes right and wrong.
"""

import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.exchange.cells import shown
from engine.exchange.mapping import ROLES, Constant
from engine.exchange.sources.json_lines import json_objects
from engine.exchange.sources.lm_eval import (
    BATCH,
    FIXED,
    LONGEST,
    MOST_GROUPS,
    N_LOOKED,
    PROMPT,
    RIGHT,
    WRONG,
    model_facts,
    position,
    row_batch,
)
from engine.exchange.sources.several import FoundFile

VERSIONS = ("0.2.", "0.3.")
"""How the versions of the schema begin that are read."""
NO_CHOICE = "no choice"
"""What a model says that answers none of the choices."""


class _Input(msgspec.Struct):
    reference: list[str]
    choices: list[str] | None = None


class _Attribution(msgspec.Struct):
    extracted_value: str
    is_terminal: bool = True


class _Evaluation(msgspec.Struct):
    is_correct: bool


class Instance(msgspec.Struct):
    """The fields of the schema that are read."""

    schema_version: str
    model_id: str
    evaluation_name: str
    sample_id: str
    input: _Input
    evaluation: _Evaluation
    answer_attribution: list[_Attribution] = []
    evaluation_result_id: str | None = None
    sample_hash: str | None = None
    metadata: dict[str, str] | None = None


def found_instances(folder: Path, given: Mapping[str, Mapping[str, Constant]]) -> list[FoundFile]:
    """All instance files in the folder, each with what is known of its model by the folder that it lies in."""
    files = [path for path in sorted(folder.rglob("*.jsonl")) if path.is_file()]
    if not files:
        raise PruneScopeError(f"There is no .jsonl of instances in {folder}.")
    unknown = sorted(set(given) - {path.parent.name for path in files})
    if unknown:
        raise PruneScopeError(f"There is no model folder {unknown[0]!r} in {folder}.")
    facts = {path.parent: model_facts(path.parent, given.get(path.parent.name, {})) for path in files}
    return [FoundFile(path, path.relative_to(folder).as_posix(), facts[path.parent]) for path in files]


def instances(path: Path) -> Iterator[tuple[int, Instance]]:
    """Row and instance, one after the other; what is none is refused, and so is a second model."""
    first = ""
    for row, values in enumerate(json_objects(path), 1):
        version = values.get("schema_version")
        if not isinstance(version, str) or not version.startswith(VERSIONS):
            known = " and ".join(f"{begin}x" for begin in VERSIONS)
            said = "no schema_version" if version is None else f"the schema_version {shown(version)}"
            raise PruneScopeError(f"Row {row:,} has {said}; read are {known}.")
        try:
            own = msgspec.convert(values, Instance)
        except msgspec.ValidationError as error:
            raise PruneScopeError(f"Row {row:,} is no instance of the schema: {shown(error, 120)}.") from None
        first = first or own.model_id
        if own.model_id != first:
            raise PruneScopeError(
                f"Row {row:,} is of the model {shown(own.model_id)}, earlier ones of {shown(first)}; a file has the "
                "instances of one model."
            )
        yield row, own


def instance_columns(path: Path) -> list[str]:
    """Columns that rows of these instances have: the fixed ones, and metadata with few values."""
    values: dict[str, set[str]] = {}
    for row, own in instances(path):
        for name, value in (own.metadata or {}).items():
            values.setdefault(name, set()).add(value)
        if row >= N_LOOKED:
            break
    few = [name for name, seen in values.items() if len(seen) <= MOST_GROUPS and max(map(len, seen)) <= LONGEST]
    return [*FIXED, *(name for name in few if name.isidentifier() and name not in (*FIXED, *ROLES))]


def instance_batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The instances as rows, a few thousand at a time; of several results of an evaluation the first one's."""
    rows: list[dict[str, Any]] = []
    result_of: dict[str, str | None] = {}
    for row, own in instances(path):
        if result_of.setdefault(own.evaluation_name, own.evaluation_result_id) != own.evaluation_result_id:
            continue
        rows.append(_cells(own, row))
        if len(rows) == BATCH:
            yield row_batch(rows, columns)
            rows = []
    yield row_batch(rows, columns)


def _cells(own: Instance, row: int) -> dict[str, str | None]:
    label, prediction = _answers(own, row)
    return {
        **(own.metadata or {}),
        "example": f"{own.evaluation_name}/{own.sample_id}",
        "label": label,
        "prediction": prediction,
        "task": own.evaluation_name,
        PROMPT: own.sample_hash[:16] if own.sample_hash else None,
    }


def _answers(own: Instance, row: int) -> tuple[str, str]:
    """The right answer and the model's: positions of choices, or right beside right or wrong."""
    choices = own.input.choices or []
    golds = [place for text in own.input.reference if (place := _place(text, choices)) is not None]
    is_right = own.evaluation.is_correct
    if not golds:
        return RIGHT, RIGHT if is_right else WRONG
    said = [_place(own.extracted_value, choices) for own in own.answer_attribution if own.is_terminal]
    last = said[-1] if said else None
    if last is not None and (last in golds) != is_right:
        raise PruneScopeError(
            f"Row {row:,}: the answer is {position(last)} and {position(golds[0])} is right, but is_correct is "
            f"{str(is_right).lower()}."
        )
    if is_right:
        return position(golds[0]), position(golds[0])
    return position(golds[0]), NO_CHOICE if last is None else position(last)


def _place(text: str, choices: list[str]) -> int | None:
    """Place of an answer among the choices, by its text or its letter."""
    plain = text.strip()
    texts = [choice.strip() for choice in choices]
    if texts.count(plain) == 1:
        return texts.index(plain)
    letter = plain.strip("().").upper()
    return (
        string.ascii_uppercase.index(letter)
        if letter and letter in list(string.ascii_uppercase[: len(texts)])
        else None
    )
