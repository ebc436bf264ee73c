"""Which settings make sense: a spec is checked and completed here before anything runs."""

from dataclasses import replace

from engine.datasets.dataset_table import DATASETS
from engine.datasets.groups import CLASS
from engine.errors import PruneScopeError, unknown_name
from engine.import_path import is_import_path
from engine.plain_names import PLAIN_NAME
from engine.pruning.schedules import SCHEDULES, schedule_settings
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import DEFAULTS, SETTINGS, RunSpec
from engine.setting import Setting
from engine.specs.choices import choices_of
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS, RULES, mitigation_settings
from engine.table import Table


def validate_spec(spec: RunSpec) -> RunSpec:
    """The spec with its split filled in, or a refusal that says which setting is wrong and what is allowed."""
    for check in (_check_type, _check_choice, _check_range):
        for setting in SETTINGS.values():
            check(setting, getattr(spec, setting.name))
    splits = DATASETS[spec.dataset].splits
    if spec.split and spec.split not in splits:
        raise unknown_name(spec.split, splits, f"split of {spec.dataset}")
    for setting in SETTINGS.values():
        _check_names(setting, getattr(spec, setting.name))
    _check_schedule(spec)
    _check_optimizer(spec)
    _check_quantization(spec)
    _check_mitigation(spec)
    _check_balance(spec)
    for name in (*spec.diagnose, spec.mitigated_group, spec.balanced_group or CLASS):
        _check_grouping(spec, name)
    return replace(spec, split=spec.split or splits[0])


def _check_type(setting: Setting, value: object) -> None:
    if not setting.kind.fits(value) or isinstance(value, list):
        raise PruneScopeError(f"{setting.name} is {value!r}; it should be {setting.kind.words}.")


def _check_choice(setting: Setting, value: object) -> None:
    table = choices_of(setting.name)
    if isinstance(table, Table) and is_import_path(str(value)):
        table[str(value)]  # refused where it is not trusted or cannot be imported
    elif table is not None and value not in table:
        raise unknown_name(str(value), table, setting.name)


def _check_range(setting: Setting, value: object) -> None:
    allowed = setting.about.allowed
    if allowed is not None and isinstance(value, int | float) and not allowed.holds(value):
        raise PruneScopeError(f"{setting.name} is {value}; allowed is {setting.about.allowed_words}.")


def _check_names(setting: Setting, value: object) -> None:
    """Refuse a free text that could not be part of a file's name."""
    if setting.about.choices or value == setting.default:
        return
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and not PLAIN_NAME.match(text):
            raise PruneScopeError(f"The name {text!r} is not allowed; use letters, digits, '.', '_' and '-'.")


def _check_schedule(spec: RunSpec) -> None:
    own = SCHEDULES[spec.schedule].settings
    for name in schedule_settings():
        if name not in own and getattr(spec, name) != DEFAULTS[name]:
            raise PruneScopeError(
                f"{name} has no meaning for the schedule {spec.schedule!r}; it takes {', '.join(own)}."
            )
    if "sparsities" not in own:
        return
    values, allowed = spec.sparsities, SETTINGS["sparsities"].about.allowed
    is_outside = allowed is not None and not all(map(allowed.holds, values))
    if not values or is_outside or list(values) != sorted(set(values)):
        raise PruneScopeError(f"sparsities is {list(values)}; it should be numbers between 0 and 1 that grow.")
    if spec.schedule == "gradual" and spec.end_step <= spec.begin_step:
        raise PruneScopeError(f"end_step is {spec.end_step}; it should be above begin_step, {spec.begin_step}.")


def _check_optimizer(spec: RunSpec) -> None:
    if spec.momentum and spec.optimizer != "sgd":
        raise PruneScopeError(f"momentum has no meaning for the optimizer {spec.optimizer!r}; only sgd takes it.")


def _check_quantization(spec: RunSpec) -> None:
    row = TECHNIQUES[spec.technique]
    if row.cuts == "nothing" and spec.treatment != "finetune":
        raise PruneScopeError(
            f"treatment is {spec.treatment!r}; the technique {row.key!r} keeps the trained weights: say 'finetune'."
        )
    if not row.trains_after and MITIGATIONS[spec.mitigation].pruned:
        raise PruneScopeError(
            f"mitigation is {spec.mitigation!r}; after the technique {row.key!r} nothing is trained that could be "
            "mitigated, so it is 'none' or 'before'."
        )
    if row.quantizes and spec.diagnose:
        raise PruneScopeError(
            f"diagnose is {list(spec.diagnose)}; networks in eight bits have no gradients to diagnose, so it is empty "
            f"for the technique {row.key!r}."
        )


def _check_balance(spec: RunSpec) -> None:
    if TECHNIQUES[spec.technique].needs_groups and not spec.balanced_group:
        allowed = ", ".join((CLASS, *(name for name in DATASETS[spec.dataset].groups if name != spec.target)))
        raise PruneScopeError(
            f"balanced_group is missing; the technique {spec.technique!r} keeps groups in balance, so name one of "
            f"{allowed}."
        )


def _check_mitigation(spec: RunSpec) -> None:
    row, arm = CONSTRAINTS[spec.constraint], MITIGATIONS[spec.mitigation]
    changed = [name for name in mitigation_settings() if getattr(spec, name) != DEFAULTS[name]]
    if spec.mitigation == "none" and changed:
        raise PruneScopeError(f"{changed[0]} has no meaning for the mitigation 'none'; choose before, after or both.")
    rule = RULES[spec.mitigation_rule]
    for name in changed:
        if name not in rule.settings and any(name in other.settings for other in RULES.values()):
            raise PruneScopeError(
                f"{name} has no meaning for the rule {rule.key!r}; it takes {', '.join(rule.settings)}."
            )
    for name in ("tolerance", "replay"):
        if name in changed and not row.is_one_sided:
            raise PruneScopeError(f"{name} has no meaning for the constraint {row.key!r}; only drop takes it.")
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
