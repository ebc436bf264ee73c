"""The record in a shipped folder: the facts from which its card, its bill of materials and its check are made."""

from pathlib import Path
from typing import Any

import msgspec

from engine.errors import PruneScopeError

RECORD = "shipped.json"


class GroupRow(msgspec.Struct, frozen=True):
    """A class or a group: its size, and its accuracy before and after."""

    grouping: str
    group: str
    n: int
    baseline: float | None
    accuracy: float


class Shipped(msgspec.Struct, frozen=True, kw_only=True):
    """The record that lies in the folder."""

    prunescope: str
    made: str
    study: str
    run: str
    level: int
    settings: dict[str, Any]
    sparsity: float
    accuracy: float
    baseline_run: str
    baseline_level: int
    baseline_accuracy: float | None
    classes: list[str]
    image_shape: list[int]
    n_answers: int
    n_equal: int
    n_equal_torch: int
    answers_by: str
    """What gave the answers that were compared: ONNX Runtime, or torch where there is no ONNX file."""
    costs: dict[str, Any]
    dense_costs: dict[str, Any]
    timed_on: str
    groups: list[GroupRow]
    notes: list[str]
    provenance: dict[str, Any]
    versions: dict[str, str]
    files: dict[str, str]
    decision: str = ""
    """Key of the decision in the study that chose this model."""


def read_shipped(folder: Path) -> Shipped:
    """The record of a shipped folder."""
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=Shipped)
    except (OSError, msgspec.MsgspecError) as error:
        raise PruneScopeError(f"{folder} is no shipped model: {RECORD} cannot be read ({error}).") from error
