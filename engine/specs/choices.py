"""The tables that settings choose from, by the names that fields of `RunSpec` and `list` call them."""

from collections.abc import Mapping
from typing import Protocol

from engine.datasets.dataset_table import DATASETS
from engine.networks.network_table import NETWORKS
from engine.pruning.schedules import SCHEDULES, TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import SETTINGS
from engine.specs.learning import KEPT_EPOCHS, OPTIMIZERS, PRECISIONS, RATE_SCHEDULES
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS, RULES


class ChoiceRow(Protocol):
    """What every row of such a table has: its key, its name, and what it does."""

    @property
    def key(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def help(self) -> str: ...


CHOICES: Mapping[str, Mapping[str, ChoiceRow]] = {
    "techniques": TECHNIQUES,
    "networks": NETWORKS,
    "datasets": DATASETS,
    "schedules": SCHEDULES,
    "treatments": TREATMENTS,
    "mitigations": MITIGATIONS,
    "constraints": CONSTRAINTS,
    "mitigation_rules": RULES,
    "rate_schedules": RATE_SCHEDULES,
    "kept_epochs": KEPT_EPOCHS,
    "precisions": PRECISIONS,
    "optimizers": OPTIMIZERS,
}


def choices_of(name: str) -> Mapping[str, ChoiceRow] | None:
    """The table that the setting of this name chooses from; None where it is free."""
    table = SETTINGS[name].about.choices
    return CHOICES[table] if table else None
