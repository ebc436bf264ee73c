"""Short names of experiments: which runs one is, and how study.toml keeps it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.run_spec import RunSpec
from engine.specs.protocol import protocol

TABLE, OPENS = "experiment", "opens"
"""Names of the tables of study.toml: one per experiment, and the one that the study opens with."""

_PLACE = ("dataset", "split", "network", "schedule", "protocol")


@dataclass(frozen=True)
class ExperimentName:
    """What tells an experiment from others in a study's tables, and its short name."""

    dataset: str
    split: str
    network: str
    schedule: str
    protocol: str
    name: str = ""


def experiment_of(spec: RunSpec) -> ExperimentName:
    """The experiment that a run belongs to, without a name."""
    return ExperimentName(spec.dataset, spec.split, spec.network, spec.schedule, protocol(spec))


def names_in_study(info: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """The names that study.toml has, by data set, split, network, schedule and protocol; what is malformed is left."""
    rows = info.get(TABLE, [])
    tables = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    whole = [row for row in tables if all(isinstance(row.get(key), str) for key in (*_PLACE, "name"))]
    return {tuple(row[key] for key in _PLACE): row["name"] for row in whole}


def opening_of_study(info: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The experiment that study.toml opens with, as data set, split, network, schedule and protocol; None without."""
    row = info.get(OPENS)
    is_whole = isinstance(row, dict) and all(isinstance(row.get(key), str) for key in _PLACE)
    return tuple(row[key] for key in _PLACE) if isinstance(row, dict) and is_whole else None


def name_tables(names: Sequence[ExperimentName]) -> str:
    """The names as tables of a TOML file."""
    return "".join(
        f"\n[[{TABLE}]]\n" + "".join(f"{key} = {quoted(value)}\n" for key, value in asdict(name).items())
        for name in names
    )


def quoted(text: str) -> str:
    """The text as a TOML string of one line."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
