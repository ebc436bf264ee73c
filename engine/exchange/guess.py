"""What columns mean where nobody says: guessed from their names."""

import re
from collections.abc import Collection, Sequence

import msgspec

from engine.errors import unknown_name
from engine.exchange.mapping import ROLES, ColumnMapping, ModelFacts, names_dense

_MODEL_NAME = re.compile(r"^(?P<technique>[^@#]+?)(?:@(?P<sparsity>0?\.\d+|0|\d{1,2}(?:\.\d+)?%))?(?:#(?P<seed>\d+))?$")


def fill_in_defaults(mapping: ColumnMapping, names: Sequence[str], floats: Collection[str]) -> ColumnMapping:
    """The mapping with what it leaves open guessed from the columns' names; `floats` are columns of fractions."""
    for column in (*mapping.used_columns, *mapping.leave_out):
        if column not in names:
            raise unknown_name(column, list(names), "column")
    if not mapping.guess:
        return mapping
    columns = _guessed_columns(mapping, names)
    taken = {*columns.values(), *mapping.used_columns, *mapping.leave_out}
    left = [name for name in names if name not in taken and name and not name.startswith("Unnamed:")]
    models, layout = mapping.models, mapping.layout
    if layout == "wide" or "prediction" not in columns:
        models = models or {name: facts for name in left if (facts := guessed_model(name))}
        layout = "wide" if models or "sparsity" not in columns else layout
        left = [name for name in left if name not in models]
    groups, attributes = mapping.groups, mapping.attributes
    if not groups and not attributes:
        groups = tuple(name for name in left if name not in floats)
        attributes = tuple(name for name in left if name in floats)
    return msgspec.structs.replace(
        mapping, layout=layout, columns=columns, groups=groups, attributes=attributes, models=models
    )


def _guessed_columns(mapping: ColumnMapping, names: Sequence[str]) -> dict[str, str]:
    """Role -> column: those of the mapping, and those whose name or other name is that of a role."""
    taken, columns = {*mapping.used_columns, *mapping.leave_out}, dict(mapping.columns)
    by_name = {name.casefold().replace(" ", "_").replace("-", "_"): name for name in reversed(names)}
    for role, (_, aliases) in ROLES.items():
        if role in columns or role in mapping.constants:
            continue
        column = next((by_name[a] for a in (role, *aliases) if a in by_name and by_name[a] not in taken), None)
        if column is not None:
            columns[role] = column
            taken.add(column)
    return columns


def guessed_model(name: str) -> ModelFacts | None:
    """What a wide column's name says of its model, as in `magnitude@0.9#1` or `dense#0`; None where it says nothing."""
    match = _MODEL_NAME.match(name.strip())
    if not match:
        return None
    technique, sparsity, seed = match["technique"].strip(), match["sparsity"], int(match["seed"] or 0)
    if sparsity is None:
        return ModelFacts(technique="dense", sparsity=0.0, seed=seed) if names_dense(technique) else None
    share = float(sparsity[:-1]) / 100 if sparsity.endswith("%") else float(sparsity)
    return ModelFacts(technique=technique, sparsity=share, seed=seed)
