"""Rows of the user's own in the tables of data sets, networks and techniques, and how they reach other processes."""

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from engine.datasets.dataset import Dataset
from engine.datasets.dataset_table import DATASETS, DatasetRow, own_dataset
from engine.errors import PruneScopeError
from engine.networks.network_table import NETWORKS, NetworkRow, own_network
from engine.plain_names import check_name
from engine.pruning.techniques import TECHNIQUES, Score, TechniqueRow, own_technique

if TYPE_CHECKING:
    from torch import nn

Row = DatasetRow | NetworkRow | TechniqueRow
_own: dict[str, Row] = {}


def register_dataset(name: str, read: Callable[[], Dataset] | Dataset, *, label: str = "", help: str = "") -> None:
    """Let a data set of your own be called by this name in this process and in those of its sweeps."""
    _register(DATASETS, own_dataset(name, read, label, help))


def register_network(
    name: str, build: "Callable[[int, int, int], nn.Module]", *, label: str = "", help: str = "", size: int = 0
) -> None:
    """Let a network of your own be called by this name; `build` takes channels, image side and number of classes.

    `size` is the side in pixels that it sees; 0 leaves that to the data.
    """
    _register(NETWORKS, own_network(name, build, label, help, size))


def register_technique(
    name: str,
    score: Score,
    *,
    cuts: Literal["weights", "channels"] = "weights",
    compares: Literal["layer", "network"] = "layer",
    needs_gradient: bool = False,
    label: str = "",
    help: str = "",
) -> None:
    """Let a pruning technique of your own be called by this name; `score` says how much each weight or channel matters.

    The lowest go first, among those of a layer or of the whole network.
    """
    _register(TECHNIQUES, own_technique(name, score, cuts, compares, needs_gradient, label, help))


@dataclass(frozen=True)
class OwnRows:
    """The rows that were registered in a process, for those that it starts."""

    rows: tuple[Row, ...] = ()

    def install(self) -> None:
        """Register them here too."""
        for row in self.rows:
            _own[row.key] = row
            _table_of(row)[row.key] = row


def own_rows(names: Iterable[str]) -> OwnRows:
    """The registered rows among these names, refused where another process could not import them."""
    rows = [_own[name] for name in dict.fromkeys(names) if name in _own]
    for row in rows:
        try:
            pickle.dumps(row)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise PruneScopeError(
                f"{row.key!r} cannot travel to other processes, because its function has no name at the top of a "
                f"module: define it there with `def`. ({error})"
            ) from error
    return OwnRows(tuple(rows))


def _register(table: Any, row: Row) -> None:
    check_name("registered", row.key)
    if row.key in table and row.key not in _own:
        raise PruneScopeError(f"The name {row.key!r} is one of ours; choose another.")
    _own[row.key] = table[row.key] = row


def _table_of(row: Row) -> Any:
    return {DatasetRow: DATASETS, NetworkRow: NETWORKS, TechniqueRow: TECHNIQUES}[type(row)]
