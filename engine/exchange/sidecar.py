"""A mapping as JSON, from a sidecar file or the command line: what each name holds is checked, and refused by name."""

import json
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

import msgspec

from engine.errors import PruneScopeError, unknown_name
from engine.exchange.cells import refused, shown
from engine.exchange.mapping import IDENTITY, ROLES, ClassFacts, ColumnMapping, Constant, Layout, ModelFacts, Number
from engine.run_spec import RunSpec, spec_from_settings

ABOUT = ("prunescope", "title")
"""What an export writes about itself, for readers."""


def read_sidecar(content: bytes) -> ColumnMapping:
    """The mapping in a sidecar file of JSON."""
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise PruneScopeError(f"The sidecar is no JSON in UTF-8: {str(error)[:120]}.") from error
    return mapping_from_json(values)


def mapping_from_json(values: object) -> ColumnMapping:
    """The mapping that these values describe; what they do not name is left open."""
    if not isinstance(values, dict):
        raise PruneScopeError("The mapping should be an object with names such as columns, constants, groups, models.")
    allowed = ColumnMapping.__struct_fields__
    _refuse_unknown(values, (*allowed, *ABOUT), sorted(allowed), "part of a mapping")
    columns, constants = _object(values, "columns"), _object(values, "constants")
    _refuse_unknown(columns, ROLES, list(ROLES), "role of a column")
    _refuse_unknown(constants, ROLES, list(ROLES), "constant")
    layout, guess = values.get("layout", "long"), values.get("guess", True)
    return ColumnMapping(
        layout=_typed(layout, Layout, f"The layout is {shown(layout)}; it should be long or wide."),
        columns={role: _column(role, name) for role, name in columns.items()},
        constants={role: _constant(role, value) for role, value in constants.items()},
        groups=_column_list(values, "groups"),
        attributes=_column_list(values, "attributes"),
        leave_out=_column_list(values, "leave_out"),
        models={column: _model(column, facts) for column, facts in _object(values, "models").items()},
        classes=tuple(_class(facts) for facts in _list(values, "classes")),
        guess=_typed(guess, bool, f"guess in the mapping should be true or false, not {shown(guess)}."),
        runs={run: _run(run, settings) for run, settings in _object(values, "runs").items()},
    )


def _typed(value: object, kind: Any, sentence: str, strict: bool = True) -> Any:
    """The value as the kind, or the sentence as a refusal."""
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError:
        raise PruneScopeError(sentence) from None


def _refuse_unknown(names: Iterable[str], allowed: Iterable[str], shown_names: list[str], noun: str) -> None:
    for name in names:
        if name not in allowed:
            raise unknown_name(name, shown_names, noun)


def _object(values: dict[str, object], name: str) -> dict[str, object]:
    value = values.get(name, {})
    items: dict[str, object] = _typed(
        value, dict[str, object], f"{name} in the mapping should be an object, not {shown(value)}."
    )
    return items


def _list(values: dict[str, object], name: str) -> list[object]:
    value = values.get(name) or []
    items: list[object] = _typed(value, list[object], f"{name} in the mapping should be a list, not {shown(value)}.")
    return items


def _column_list(values: dict[str, object], name: str) -> tuple[str, ...]:
    value = values.get(name, ())
    columns: tuple[str, ...] = _typed(
        value, tuple[str, ...], f"{name} in the mapping should be a list of columns, not {shown(value)}."
    )
    return columns


def _column(role: str, name: object) -> str:
    sentence = f"The column for {role} in the mapping should be a name, not {shown(name)}."
    return str(_typed(name, str, sentence))


def _constant(role: str, value: object) -> Constant:
    sentence = f"The constant {role} in the mapping should be text or a number, not {shown(value)}."
    constant: Constant = _typed(value, Constant, sentence)
    return constant


def _model(column: str, facts: object) -> ModelFacts:
    """What a sidecar says of a model; numbers may be written as text, and text as numbers."""
    allowed = ModelFacts.__struct_fields__
    if not isinstance(facts, dict):
        raise refused(column, None, f"a model may say {', '.join(allowed)}, not {shown(facts)}.")
    for name in facts:
        if name not in allowed:
            nearest = get_close_matches(name, allowed, 1, 0)[0]
            raise refused(
                column, None, f"a model may say {', '.join(allowed)}, not {shown(name)} (did you mean {nearest!r}?)."
            )
    checked: dict[str, Any] = {}
    for role, value in facts.items():
        kind, words = (Constant, "text") if role in IDENTITY else (Number, "a number")
        sentence = str(refused(column, None, f"its {role} should be {words}, not {shown(value)}."))
        checked[role] = _typed(value, kind | None, sentence, strict=role in IDENTITY)
        if role in IDENTITY and checked[role] is not None:
            checked[role] = str(checked[role])
    return ModelFacts(**checked)


def _class(facts: object) -> ClassFacts:
    """A class by its name alone, or with what an export says of it."""
    if not isinstance(facts, dict):
        return ClassFacts(_class_name(facts))
    allowed = ClassFacts.__struct_fields__
    _refuse_unknown(facts, allowed, list(allowed), "fact of a class")
    name = _class_name(facts.get("name"))
    where = f"of class {shown(name)} in the mapping should be"
    n_train, entropy = facts.get("n_train"), facts.get("entropy")
    return ClassFacts(
        name,
        _typed(n_train or 0, int, f"n_train {where} a whole number, not {shown(n_train)}.", strict=False),
        _typed(entropy, float | None, f"entropy {where} a number, not {shown(entropy)}.", strict=False),
    )


def _class_name(name: object) -> str:
    return str(_typed(name, Constant, f"A class in the mapping should be a name, not {shown(name)}."))


def _run(run: str, settings: object) -> RunSpec:
    """The settings of a run as they stand; a number keeps its type, since the run's key depends on it."""
    sentence = f"The settings of run {shown(run)} should be an object, not {shown(settings)}."
    try:
        spec = spec_from_settings(_typed(settings, dict[str, object], sentence))
    except TypeError:
        raise PruneScopeError(f"The settings of run {shown(run)} should name dataset, network and technique.") from None
    for item in fields(RunSpec):
        value = getattr(spec, item.name)
        _typed(value, item.type, f"The setting {item.name} of run {shown(run)} is {shown(value)}.")
    return spec
