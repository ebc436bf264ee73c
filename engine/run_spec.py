"""What crosses the engine's borders: the settings of a run, its key, and progress.

Frozen dataclasses only; nothing here reads files or loads torch.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from engine.errors import PruneScopeError

SCHEMA = 1
"""Version of every file of a study; raised when the meaning of a column changes."""


@dataclass(frozen=True)
class RunSpec:
    """Settings of one run: everything that its result depends on, and nothing else."""

    dataset: str
    network: str
    technique: str
    treatment: str = "rewind"
    seed: int = 0
    split: str = ""
    target: str = ""
    groups: tuple[str, ...] = ()
    image_size: int = 0
    schedule: str = "iterative"
    share: float = 0.2
    levels: int = 20
    sparsities: tuple[float, ...] = ()
    begin_step: int = 1000
    end_step: int = 9000
    every_steps: int = 500
    epochs: int = 30
    epochs_after: int = 0
    batch_size: int = 32
    learning_rate: float = 0.01
    momentum: float = 0.0
    weight_decay: float = 0.0
    crop: int = 0
    flip: bool = False
    validation: float = 0.2
    mitigation: str = "none"
    constraint: str = "loss"
    mitigated_group: str = "class"
    dual_step: float = 0.03
    dual_decay: float = 0.0
    tolerance: float = 0.01
    diagnose: tuple[str, ...] = ()
    keep_scores: bool = True
    keep_checkpoints: bool = False

    @property
    def key(self) -> str:
        """Name of the run: a hash of the settings that differ from their defaults."""
        return digest(settings(self))

    @property
    def dense_key(self) -> str:
        """Name of the dense network that the run starts from; runs that only prune differently share it.

        The arms `none` and `after` share the plain one, `before` and `both` the mitigated one.
        """
        shared = {name: _DEFAULTS[name] for name in AFTER_DENSE}
        if self.mitigation in MITIGATED_DENSE:
            return digest(settings(replace(self, **shared, mitigation=MITIGATED_DENSE[0])))
        plain = {name: _DEFAULTS[name] for name in ("mitigation", *MITIGATION_SETTINGS)}
        return digest(settings(replace(self, **shared, **plain)))

    @property
    def n_levels(self) -> int:
        """Number of levels after the dense one."""
        if self.technique in ONLY_QUANTIZED:
            return 1
        return self.levels if self.schedule == "iterative" else len(self.sparsities)

    @property
    def n_epochs_after(self) -> int:
        """Epochs of training at each of those levels."""
        return 0 if self.technique in ONLY_QUANTIZED else self.epochs_after or self.epochs


AFTER_DENSE = (
    "technique",
    "treatment",
    "schedule",
    "share",
    "levels",
    "sparsities",
    "begin_step",
    "end_step",
    "every_steps",
    "epochs_after",
    "diagnose",
    "keep_scores",
    "keep_checkpoints",
)
"""Settings that matter only once the dense network is trained."""

ONLY_QUANTIZED = ("int8_dynamic", "int8_static")
"""Techniques that leave every weight: they have one level after the dense one, and train no more."""

CONTROL = "unpruned"
"""The technique that cuts nothing but trains on as the others do: what pruning is told from longer training by."""

MITIGATED_DENSE = ("before", "both")
"""Arms of mitigation whose dense network is mitigated too."""

MITIGATION_SETTINGS = ("constraint", "mitigated_group", "dual_step", "dual_decay", "tolerance")
"""Settings that matter only where something is mitigated."""

IDENTITY = ("dataset", "split", "network", "technique", "treatment", "mitigation", "schedule", "seed")
"""Settings that stand as columns of their own in every table of many runs."""

_NAMES = tuple(f.name for f in fields(RunSpec))
_DEFAULTS: dict[str, Any] = {"technique": "none"} | {
    f.name: f.default for f in fields(RunSpec) if f.default is not MISSING
}


def settings(spec: RunSpec) -> dict[str, Any]:
    """The settings that differ from their defaults, in JSON's types."""
    values = ((name, getattr(spec, name)) for name in _NAMES)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }


def spec_from_settings(values: dict[str, Any]) -> RunSpec:
    """The spec that `settings` wrote, with an unknown setting refused."""
    unknown = sorted(set(values).difference(_NAMES))
    if unknown:
        raise PruneScopeError(f"Unknown setting {unknown[0]!r}; allowed are {', '.join(sorted(_NAMES))}.")
    plain: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in values.items()}
    return RunSpec(**plain)


def digest(values: dict[str, Any]) -> str:
    """Twelve hexadecimal digits that stand for the values."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Progress:
    """What a run is doing now; `accuracy` is that of the last finished level, on validation images."""

    run: str
    level: int
    n_levels: int
    epoch: int
    n_epochs: int
    accuracy: float = float("nan")


Watcher = Callable[[Progress], None]
