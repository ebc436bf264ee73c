"""Which settings make sense: a spec is checked and completed here before anything runs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, get_origin, get_type_hints

from engine.datasets.dataset_table import DATASETS
from engine.datasets.groups import CLASS
from engine.errors import PruneScopeError, unknown_name
from engine.networks.network_table import NETWORKS
from engine.pruning.schedules import SCHEDULES, TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import MITIGATION_SETTINGS, ONLY_QUANTIZED, RunSpec
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS

TABLES: Mapping[str, Mapping[str, Any]] = {
    "dataset": DATASETS,
    "network": NETWORKS,
    "technique": TECHNIQUES,
    "treatment": TREATMENTS,
    "schedule": SCHEDULES,
    "mitigation": MITIGATIONS,
    "constraint": CONSTRAINTS,
}

_POSITIVE: tuple[Callable[[float], bool], str] = (lambda value: value > 0, "a number above 0")
_COUNT: tuple[Callable[[float], bool], str] = (lambda value: value >= 0, "0 or more")
_SHARE: tuple[Callable[[float], bool], str] = (lambda value: 0 < value < 1, "a number between 0 and 1")

RANGES: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "share": _SHARE,
    "levels": (lambda value: 1 <= value <= 1000, "1 to 1000"),
    "epochs": _POSITIVE,
    "epochs_after": _COUNT,
    "batch_size": _POSITIVE,
    "learning_rate": _POSITIVE,
    "momentum": (lambda value: 0 <= value < 1, "0 or more and below 1"),
    "weight_decay": _COUNT,
    "crop": (lambda value: 0 <= value <= 32, "0 to 32 pixels"),
    "validation": (lambda value: 0 < value < 1, "a number between 0 and 1"),
    "seed": _COUNT,
    "image_size": _COUNT,
    "begin_step": _COUNT,
    "every_steps": _POSITIVE,
    "dual_step": _COUNT,
    "dual_decay": _COUNT,
    "tolerance": (lambda value: 0 <= value < 1, "0 or more and below 1"),
}
_DEFAULTS = {f.name: f.default for f in fields(RunSpec)}
_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    name: ((int, float) if kind is float else get_origin(kind) or kind, kind.__name__)
    for name, kind in get_type_hints(RunSpec).items()
}
"""Which type each setting has, and its name."""

_OF_SCHEDULES = sorted({setting for row in SCHEDULES.values() for setting in row.settings})
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")


def validate_spec(spec: RunSpec) -> RunSpec:
    """The spec with its split filled in, or a refusal that says which setting is wrong and what is allowed."""
    _check_types(spec)
    for name, table in TABLES.items():
        if getattr(spec, name) not in table:
            raise unknown_name(getattr(spec, name), table, name)
    for name, (holds, allowed) in RANGES.items():
        if not holds(getattr(spec, name)):
            raise PruneScopeError(f"{name} is {getattr(spec, name)}; allowed is {allowed}.")
    splits = DATASETS[spec.dataset].splits
    if spec.split and spec.split not in splits:
        raise unknown_name(spec.split, splits, f"split of {spec.dataset}")
    for name in (*spec.groups, *spec.diagnose, spec.mitigated_group, *filter(None, (spec.target,))):
        if not _NAME.match(name):
            raise PruneScopeError(f"The name {name!r} is not allowed; use letters, digits, '.', '_' and '-'.")
    _check_schedule(spec)
    _check_quantization(spec)
    _check_mitigation(spec)
    for name in (*spec.diagnose, spec.mitigated_group):
        _check_grouping(spec, name)
    return replace(spec, split=spec.split or splits[0])


def _check_types(spec: RunSpec) -> None:
    for name, (allowed, words) in _TYPES.items():
        value = getattr(spec, name)
        if not isinstance(value, allowed) or (isinstance(value, bool) and allowed is not bool):
            raise PruneScopeError(f"{name} is {value!r}; it should be of type {words}.")


def _check_schedule(spec: RunSpec) -> None:
    own = SCHEDULES[spec.schedule].settings
    for name in _OF_SCHEDULES:
        if name not in own and getattr(spec, name) != _DEFAULTS[name]:
            raise PruneScopeError(
                f"{name} has no meaning for the schedule {spec.schedule!r}; it takes {', '.join(own)}."
            )
    if "sparsities" not in own:
        return
    values = spec.sparsities
    if not values or any(not 0 < value < 1 for value in values) or list(values) != sorted(set(values)):
        raise PruneScopeError(f"sparsities is {list(values)}; it should be numbers between 0 and 1 that grow.")
    if spec.schedule == "gradual" and spec.end_step <= spec.begin_step:
        raise PruneScopeError(f"end_step is {spec.end_step}; it should be above begin_step, {spec.begin_step}.")


def _check_quantization(spec: RunSpec) -> None:
    row = TECHNIQUES[spec.technique]
    if row.cuts == "nothing" and spec.treatment != "finetune":
        raise PruneScopeError(
            f"treatment is {spec.treatment!r}; the technique {row.key!r} keeps the trained weights: say 'finetune'."
        )
    if spec.technique in ONLY_QUANTIZED and MITIGATIONS[spec.mitigation].pruned:
        raise PruneScopeError(
            f"mitigation is {spec.mitigation!r}; after the technique {row.key!r} nothing is trained that could be "
            "mitigated, so it is 'none' or 'before'."
        )
    if row.quantizes and spec.diagnose:
        raise PruneScopeError(
            f"diagnose is {list(spec.diagnose)}; networks in eight bits have no gradients to diagnose, so it is empty "
            f"for the technique {row.key!r}."
        )


def _check_mitigation(spec: RunSpec) -> None:
    row, arm = CONSTRAINTS[spec.constraint], MITIGATIONS[spec.mitigation]
    changed = [name for name in MITIGATION_SETTINGS if getattr(spec, name) != _DEFAULTS[name]]
    if spec.mitigation == "none" and changed:
        raise PruneScopeError(f"{changed[0]} has no meaning for the mitigation 'none'; choose before, after or both.")
    if "tolerance" in changed and not row.is_one_sided:
        raise PruneScopeError(f"tolerance has no meaning for the constraint {row.key!r}; only drop takes it.")
    if row.is_one_sided and arm.dense:
        raise PruneScopeError(
            f"The constraint {row.key!r} looks back at the dense network, so its mitigation is 'after', "
            f"not {spec.mitigation!r}."
        )
    if (arm.dense and spec.epochs < 2) or (arm.pruned and (spec.epochs_after or spec.epochs) < 2):
        raise PruneScopeError("Mitigation learns from each epoch for the next one, so it needs 2 epochs or more.")


def _check_grouping(spec: RunSpec, name: str) -> None:
    row = DATASETS[spec.dataset]
    if row.targets is not None and name not in (CLASS, *row.groups):
        raise unknown_name(name, (CLASS, *row.groups), f"grouping of {spec.dataset}")
