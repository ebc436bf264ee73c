"""What a user's columns mean: the record of it, the roles that there are, and when it cannot be followed."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import pandas as pd

from engine.errors import PruneScopeError
from engine.exchange.cells import refused, shown, unfit
from engine.plain_names import PLAIN_NAME
from engine.run_spec import RunSpec

NEEDED = ("example", "label", "prediction", "sparsity")
IDENTITY = ("dataset", "split", "network", "technique", "treatment", "mitigation")
MODEL_NUMBERS = ("seed", "level", "sparsity", "sparsity_asked", "validation_accuracy", "n_weights", "n_kept", "bits")
SCORES = ("probability", "margin", "loss")
_EXAMPLE_NAMES = (
    *("example_id", "id", "index", "idx", "sample", "sample_id", "sample_idx", "image", "image_id", "file", "filename"),
    *("file_name", "item_id", "instance_id", "doc_id", "uid", "row_id"),
)
_LABEL_NAMES = (
    *("y", "y_true", "target", "true", "true_label", "truth", "ground_truth", "gt", "gold", "actual", "true_class"),
    *("label_true", "labels", "targets"),
)
_PREDICTION_NAMES = (
    *("pred", "y_pred", "predicted", "yhat", "y_hat", "predicted_label", "predicted_class", "pred_label", "pred_class"),
    *("label_pred", "preds", "predictions"),
)
_SPARSITY_NAMES = ("pruned", "pruning_rate", "pruning_ratio", "prune_ratio", "sparsity_ratio", "prune_rate", "amount")
_TECHNIQUE_NAMES = ("method", "compression", "pruning_method", "pruner", "pruning_technique", "compression_method")
ROLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "example": ("Which example the row is about.", _EXAMPLE_NAMES),
    "label": ("The true class, as a number or a name.", _LABEL_NAMES),
    "prediction": ("The class that the model says.", _PREDICTION_NAMES),
    "sparsity": ("Share of the weights that are cut, 0 (dense) to 1.", _SPARSITY_NAMES),
    "seed": (
        "Which training this is; 0 if there is no such column.",
        ("random_state", "trial", "replicate", "run_seed"),
    ),
    "level": ("How often it was pruned, 0 is dense; counted from the sparsity if missing.", ("step",)),
    "technique": ('How weights were cut; "dense" rows serve every technique.', _TECHNIQUE_NAMES),
    "network": ("The network.", ("model", "architecture", "arch", "classifier", "model_name", "backbone")),
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
    "params": ("Parameters of the model.", ("n_params", "num_params", "parameters", "param_count")),
    "macs": ("Multiplications with addition for one example.", ("mac", "n_macs", "multiply_adds")),
    "latency_ms": ("Milliseconds for one example.", ("latency_milliseconds", "inference_ms", "ms_per_example")),
    "bytes": ("Bytes of the model's file.", ("size_bytes", "model_bytes", "file_bytes", "n_bytes")),
    "bits": ("Bits of a weight.", ("n_bits", "bit_width", "bitwidth", "wbits", "weight_bits")),
    "run": ("The run, as an export names it.", ()),
}
"""What a column may mean, and other names that it goes by."""

Layout = Literal["long", "wide"]
Number = int | float
Constant = str | int | float
"""One value for a whole file; the command line gives numbers as text."""

DEFAULTS: Mapping[str, Constant] = {
    **{"dataset": "imported", "split": "", "network": "model", "technique": "imported"},
    **{"treatment": "unstated", "mitigation": "none", "seed": 0},
}
_DENSE = ("dense", "none", "baseline", "base", "unpruned", "original", "uncompressed", "unquantized")


def names_dense(technique: str) -> bool:
    """Whether a technique's name says that nothing is pruned."""
    return technique.strip().casefold() in _DENSE


class ModelFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is said of the model in one column of a wide table; None where nothing is."""

    dataset: str | None = None
    split: str | None = None
    network: str | None = None
    technique: str | None = None
    treatment: str | None = None
    mitigation: str | None = None
    seed: Number | None = None
    level: Number | None = None
    sparsity: Number | None = None
    sparsity_asked: Number | None = None
    validation_accuracy: Number | None = None
    n_weights: Number | None = None
    n_kept: Number | None = None
    params: Number | None = None
    macs: Number | None = None
    latency_ms: Number | None = None
    bytes: Number | None = None
    bits: Number | None = None

    def given(self) -> dict[str, Constant]:
        """What is said, by role."""
        values = {role: getattr(self, role) for role in self.__struct_fields__}
        return {role: value for role, value in values.items() if value is not None}


class ClassFacts(msgspec.Struct, frozen=True):
    """A class: its name, its training examples (0 where nobody says), the entropy of its images."""

    name: str
    n_train: int = 0
    entropy: float | None = None


class ColumnMapping(msgspec.Struct, frozen=True):
    """What each column means; a column that is in no field is left out."""

    layout: Layout = "long"
    """"long": one row per model and example; "wide": one row per example, one column per model."""
    columns: dict[str, str] = {}
    """Role -> column."""
    constants: dict[str, Constant] = {}
    """Role -> the one value that it has for the whole file."""
    groups: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    """Columns that mean nothing here, and are not guessed to be groups."""
    models: dict[str, ModelFacts] = {}
    """Wide: column of a model -> technique, sparsity, seed, ..."""
    classes: tuple[ClassFacts, ...] = ()
    """All classes in their order, where they are known."""
    guess: bool = True
    """Whether what is not said is guessed from the names; the page says everything."""
    runs: dict[str, RunSpec] = {}
    """What an export says of its runs: run -> settings."""

    def says(self, role: str) -> bool:
        """Whether a column or one value for all is named for the role; bits alone say that nothing is pruned."""
        if role == "sparsity" and self.says("bits"):
            return True
        return role in self.columns or role in self.constants

    @property
    def used_columns(self) -> list[str]:
        """All columns that mean something, as often as they are named."""
        return [*self.columns.values(), *self.groups, *self.attributes, *self.models]


def merge_mappings(sidecar: ColumnMapping, given: ColumnMapping) -> ColumnMapping:
    """The sidecar's mapping with what is given before it; one that leaves nothing to guess replaces its lists."""
    complete = not given.guess
    return ColumnMapping(
        layout=given.layout if complete or given.layout != ColumnMapping().layout else sidecar.layout,
        columns=sidecar.columns | given.columns,
        constants=sidecar.constants | given.constants,
        groups=given.groups if complete or given.groups else sidecar.groups,
        attributes=given.attributes if complete or given.attributes else sidecar.attributes,
        leave_out=given.leave_out or sidecar.leave_out,
        models=given.models if complete or given.models else sidecar.models,
        classes=given.classes or sidecar.classes,
        guess=given.guess and sidecar.guess,
        runs=given.runs or sidecar.runs,
    )


def only_columns(mapping: ColumnMapping, names: Sequence[str]) -> ColumnMapping:
    """The mapping without columns that a file does not have, for one of several files."""
    there = set(names)
    return msgspec.structs.replace(
        mapping,
        columns={role: column for role, column in mapping.columns.items() if column in there},
        groups=tuple(name for name in mapping.groups if name in there),
        attributes=tuple(name for name in mapping.attributes if name in there),
        leave_out=tuple(name for name in mapping.leave_out if name in there),
        models={column: facts for column, facts in mapping.models.items() if column in there},
    )


def class_facts_of(classes: pd.DataFrame) -> tuple[ClassFacts, ...]:
    """The classes of a study's table as a mapping lists them."""
    return tuple(
        ClassFacts(str(row["name"]), int(row["n_train"]), None if pd.isna(row["entropy"]) else float(row["entropy"]))
        for row in classes.to_dict("records")
    )


def validate_mapping(mapping: ColumnMapping, names: Sequence[str] = (), is_alone: bool = True) -> ColumnMapping:
    """The mapping, refused where it cannot be followed; a file that is not alone may leave labels to another."""
    needed = NEEDED if is_alone else tuple(role for role in NEEDED if role != "label")
    _refuse_missing_roles(mapping, needed, names)
    if mapping.layout == "wide":
        _refuse_missing_models(mapping)
    used = mapping.used_columns
    for column in used:
        if used.count(column) > 1:
            raise refused(column, None, "it is used twice in the mapping.")
    for column in (*mapping.groups, *mapping.attributes):
        problem = unfit(column)
        if problem:
            raise refused(column, None, f"the name {problem}.")
        if column in ("label", "example", "class"):
            raise refused(column, None, "a group or attribute cannot bear this name; rename it.")
    for role in ("dataset", "split"):
        check_file_name(mapping.constants.get(role, DEFAULTS[role]), role)
    return mapping


def _refuse_missing_roles(mapping: ColumnMapping, needed: Sequence[str], names: Sequence[str]) -> None:
    per_model = ("prediction", "sparsity") if mapping.layout == "wide" else ()
    missing = [role for role in needed if not mapping.says(role) and role not in per_model]
    if missing and not mapping.models:
        missing += [role for role in per_model if not mapping.says(role)]
    if not missing:
        return
    meanings = "; ".join(f"{role} ({ROLES[role][0].rstrip('.').lower()})" for role in missing)
    sentence = f"{len(missing)} columns are missing: {meanings}; name a column for each"
    if len(missing) == 1:
        meaning, aliases = ROLES[missing[0]]
        sentence = f"Column {missing[0]} is missing: {meaning.rstrip('.').lower()}; name a column for it, such as "
        sentence += ", ".join(aliases[:3])
    left = [shown(name, 30) for name in names if name not in mapping.columns.values()]
    if left:
        flags = " ".join(f"--map {role}=COLUMN" for role in missing)
        sentence += f", or say which of {', '.join(left[:8])}{', …' * (len(left) > 8)} it is ({flags})"
    if missing == ["sparsity"]:
        sentence += "; one for the whole file may stand in its name, as in magnitude@0.9#1.csv"
    raise PruneScopeError(f"{sentence}.")


def _refuse_missing_models(mapping: ColumnMapping) -> None:
    if not mapping.models:
        raise PruneScopeError(
            "No column of predictions was found: name them like magnitude@0.9#0 or say under models what each is."
        )
    for column, facts in mapping.models.items():
        if facts.sparsity is None and facts.bits is None and not mapping.says("sparsity"):
            raise refused(column, None, "its sparsity is missing; say it under models.")


def refuse_unnamed_models(mapping: ColumnMapping) -> None:
    """Refuse a wide table of which only dense models are known by name: others may pass for groups."""
    pruned = [facts for facts in mapping.models.values() if facts.sparsity or facts.bits]
    if mapping.guess and mapping.layout == "wide" and mapping.groups and not pruned:
        raise PruneScopeError(
            f"Only {', '.join(map(shown, mapping.models))} is known as a model, and it is not pruned; name the other "
            f"columns of predictions like magnitude@0.9#0, or say that {', '.join(map(shown, mapping.groups[:4]))} "
            "are groups (--groups)."
        )


def check_file_name(name: object, role: str, column: str | None = None, row: int | None = None) -> None:
    """Refuse the name of a data set or split that cannot be part of a file's name."""
    text = str(name)
    if (role == "split" and not text) or (PLAIN_NAME.match(text) and not text.endswith(".classes")):
        return
    rule = "use up to 64 letters, digits, '.', '_' and '-', a letter or digit first"
    raise refused(
        column or role, row, f"{shown(text)} is no name for a {'data set' if role == 'dataset' else role}; {rule}."
    )
