"""How a user's columns are to be read: guessed from their names, mended by a sidecar or by hand, then checked."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from engine.errors import PruneScopeError, unknown_name
from engine.exchange.cells import unfit
from engine.exchange.refusal import refused, shown

NEEDED = ("example", "label", "prediction", "sparsity")
IDENTITY = ("dataset", "split", "network", "technique", "treatment", "mitigation")
MODEL_NUMBERS = ("seed", "level", "sparsity", "sparsity_asked", "validation_accuracy", "n_weights", "n_kept")
SCORES = ("probability", "margin", "loss")
ROLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "example": ("Which example the row is about.", ("example_id", "id", "index", "idx", "sample", "image", "file")),
    "label": ("The true class, as a number or a name.", ("y", "y_true", "target", "true", "true_label", "truth")),
    "prediction": ("The class that the model says.", ("pred", "y_pred", "predicted", "yhat", "predicted_label")),
    "sparsity": ("Share of the weights that are cut, 0 (dense) to 1.", ("pruned", "pruning_rate")),
    "seed": ("Which training this is; 0 if there is no such column.", ("random_state", "trial")),
    "level": ("How often it was pruned, 0 is dense; counted from the sparsity if missing.", ("step",)),
    "technique": ('How weights were cut; "dense" rows serve every technique.', ("method", "compression")),
    "network": ("The network.", ("model", "architecture", "arch", "classifier")),
    "treatment": ("What happened to the weights that stayed.", ()),
    "mitigation": ("What was done for fairness.", ()),
    "dataset": ("The data set.", ("data", "data_set")),
    "split": ("How it was divided.", ()),
    "probability": ("The probability of the true class, 0 to 1.", ("prob", "true_probability")),
    "margin": ("Highest minus second highest probability, 0 to 1.", ()),
    "loss": ("The example's loss.", ()),
    "sparsity_asked": ("The sparsity aimed at.", ()),
    "validation_accuracy": ("Accuracy on the validation split.", ()),
    "n_weights": ("Weights that can be pruned.", ()),
    "n_kept": ("Weights that are left.", ()),
    "run": ("The run, as an export names it.", ()),
}
"""What a column may mean, and other names that it goes by."""

DEFAULTS: Mapping[str, Any] = {
    **{"dataset": "imported", "split": "", "network": "model", "technique": "imported"},
    **{"treatment": "unstated", "mitigation": "none", "seed": 0},
}
DENSE = ("dense", "none", "baseline", "unpruned")
FILE_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
_WIDE = re.compile(r"^(?P<technique>[^@#]+?)(?:@(?P<sparsity>0?\.\d+|0|\d{1,2}(?:\.\d+)?%))?(?:#(?P<seed>\d+))?$")


@dataclass(frozen=True)
class ColumnMapping:
    """What each column means; what is in no field is left out."""

    layout: str = "long"
    """"long": one row per model and example; "wide": one row per example, one column per model."""
    columns: dict[str, str] = field(default_factory=dict)
    """Role -> column."""
    constants: dict[str, Any] = field(default_factory=dict)
    """Role -> the one value that it has for the whole file."""
    groups: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Wide: column of a model -> technique, sparsity, seed, ..."""
    classes: tuple[dict[str, Any], ...] = ()
    """All classes in their order, where they are known: name, n_train, entropy."""
    guess: bool = True
    """Whether what is not said is guessed from the names; the page says everything."""
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What an export says of its runs: run -> settings."""

    def to_json(self) -> dict[str, Any]:
        """The plan in JSON's types."""
        return asdict(self)


def mapping_from_json(values: object) -> ColumnMapping:
    """The plan that a sidecar or the page gives; what it does not name is left open."""
    if not isinstance(values, dict):
        raise PruneScopeError("The mapping should be an object with names such as columns, constants, groups, models.")
    allowed = {f.name for f in fields(ColumnMapping)}
    for name in values:
        if name not in allowed and name not in ("prunescope", "title"):
            raise unknown_name(str(name), sorted(allowed), "part of a mapping")
    plain = {name: value for name, value in values.items() if name in allowed}
    for name, kind in {"columns": dict, "constants": dict, "models": dict, "runs": dict}.items():
        if not isinstance(plain.get(name, {}), kind):
            raise PruneScopeError(f"{name} in the mapping should be an object, not {shown(plain[name])}.")
    for name in ("groups", "attributes"):
        value = plain.get(name, ())
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise PruneScopeError(f"{name} in the mapping should be a list of columns, not {shown(value)}.")
        plain[name] = tuple(value)
    plain["classes"] = tuple(
        value if isinstance(value, dict) else {"name": str(value)} for value in plain.get("classes") or ()
    )
    for role, column in plain.get("columns", {}).items():
        if role not in ROLES:
            raise unknown_name(str(role), list(ROLES), "role of a column")
        if not isinstance(column, str):
            raise PruneScopeError(f"The column for {role} in the mapping should be a name, not {shown(column)}.")
    for role in plain.get("constants", {}):
        if role not in ROLES:
            raise unknown_name(str(role), list(ROLES), "constant")
    for column, facts in plain.get("models", {}).items():
        if not isinstance(facts, dict) or set(facts) - {*IDENTITY, *MODEL_NUMBERS}:
            raise refused(
                column, None, f"a model may say {', '.join((*IDENTITY, *MODEL_NUMBERS))}, not {shown(facts)}."
            )
    return ColumnMapping(**plain)


def read_sidecar(content: bytes) -> ColumnMapping:
    """The plan in a sidecar file of JSON."""
    try:
        return mapping_from_json(json.loads(content.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        raise PruneScopeError(f"The sidecar is no JSON in UTF-8: {str(error)[:120]}.") from error


def fill_in_defaults(plan: ColumnMapping, names: Sequence[str], floats: Sequence[str]) -> ColumnMapping:
    """The plan with what it leaves open guessed from the columns' names; `floats` are columns of fractions."""
    for column in (*plan.columns.values(), *plan.groups, *plan.attributes, *plan.models):
        if column not in names:
            raise unknown_name(column, list(names), "column")
    if plan.guess is False:
        return plan
    taken = {*plan.columns.values(), *plan.groups, *plan.attributes, *plan.models}
    columns = dict(plan.columns)
    by_name = {name.casefold().replace(" ", "_"): name for name in reversed(names)}
    for role, (_, aliases) in ROLES.items():
        found = next((by_name[a] for a in (role, *aliases) if a in by_name and by_name[a] not in taken), None)
        if role not in columns and role not in plan.constants and found is not None:
            columns[role] = found
            taken.add(found)
    left = [name for name in names if name not in taken and name and not name.startswith("Unnamed:")]
    models = dict(plan.models)
    layout = plan.layout
    if layout == "wide" or ("prediction" not in columns and "prediction" not in plan.columns):
        layout = "wide"
        if not models:
            models = {name: guessed for name in left if (guessed := guessed_model(name))}
        left = [name for name in left if name not in models]
    free = not plan.groups and not plan.attributes
    groups = tuple(n for n in left if n not in floats) if free else plan.groups
    attributes = tuple(n for n in left if n in floats) if free else plan.attributes
    return replace(plan, layout=layout, columns=columns, groups=groups, attributes=attributes, models=models)


def guessed_model(name: str) -> dict[str, Any] | None:
    """What a wide column's name says of its model, as in `magnitude@0.9#1` or `dense#0`; None where it says nothing."""
    found = _WIDE.match(name.strip())
    if not found:
        return None
    technique, sparsity, seed = found["technique"].strip(), found["sparsity"], found["seed"]
    if sparsity is None:
        return {"technique": "dense", "sparsity": 0.0, "seed": int(seed or 0)} if technique in DENSE else None
    share = float(sparsity[:-1]) / 100 if sparsity.endswith("%") else float(sparsity)
    return {"technique": technique, "sparsity": share, "seed": int(seed or 0)}


def validate_mapping(plan: ColumnMapping) -> ColumnMapping:
    """The plan, refused where it cannot be followed."""
    if plan.layout not in ("long", "wide"):
        raise PruneScopeError(f"The layout is {shown(plan.layout)}; it should be long or wide.")
    per_model = ("prediction", "sparsity") if plan.layout == "wide" else ()
    for role in NEEDED:
        if role not in plan.columns and role not in plan.constants and role not in per_model:
            also = ", ".join(ROLES[role][1][:3])
            raise PruneScopeError(
                f"Column {role} is missing: {ROLES[role][0].rstrip('.').lower()}; name a column for it, such as {also}."
            )
    if plan.layout == "wide":
        if not plan.models:
            raise PruneScopeError(
                "No column of predictions was found: name them like magnitude@0.9#0 or say under models what each is."
            )
        for column, facts in plan.models.items():
            if "sparsity" not in facts and "sparsity" not in plan.constants:
                raise refused(column, None, "its sparsity is missing; say it under models.")
    used = [*plan.columns.values(), *plan.groups, *plan.attributes, *plan.models]
    for column in used:
        if used.count(column) > 1:
            raise refused(column, None, "it is used twice in the mapping.")
    for column in (*plan.groups, *plan.attributes):
        problem = unfit(column)
        if problem:
            raise refused(column, None, f"the name {problem}.")
        if column in ("label", "example", "class"):
            raise refused(column, None, "a group or attribute cannot bear this name; rename it.")
    for role in ("dataset", "split"):
        check_file_name(plan.constants.get(role, DEFAULTS[role]), role)
    return plan


def check_file_name(name: object, role: str, column: str | None = None, row: int | None = None) -> None:
    """Refuse the name of a data set or split that cannot be part of a file's name."""
    text = str(name)
    if (role == "split" and not text) or (FILE_NAME.match(text) and not text.endswith(".classes")):
        return
    rule = "use up to 64 letters, digits, '.', '_' and '-', a letter or digit first"
    raise refused(
        column or role, row, f"{shown(text)} is no name for a {'data set' if role == 'dataset' else role}; {rule}."
    )
