"""Named sweeps: a TOML file with a title and grids becomes the specs of its runs."""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from engine.naming import nearest
from engine.records import PruneScopeError, RunSpec
from engine.specs import checked

FOLDER = Path(__file__).with_name("presets")
AXES = {
    "seeds": "seed",
    "datasets": "dataset",
    "networks": "network",
    "schedules": "schedule",
    "mitigations": "mitigation",
    "treatments": "treatment",
    "techniques": "technique",
}
"""Lists of a grid, the slowest first, and the setting that each runs over."""

NEEDED = ("datasets", "networks", "techniques", "seeds")


@dataclass(frozen=True)
class Preset:
    """A sweep: what it is called, what it is for, and its runs in the order in which they are wanted."""

    name: str
    title: str
    description: str
    specs: tuple[RunSpec, ...]


def preset_names() -> list[str]:
    """Names of the presets that come with the engine."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_preset(name: str) -> Preset:
    """The preset of this name, or of this TOML file."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.exists():
        if name.endswith(".toml"):
            raise PruneScopeError(f"There is no file {name}.")
        raise nearest(name, preset_names(), "preset")
    return read_preset(path.stem, path.read_text(encoding="utf-8"))


def read_preset(name: str, text: str) -> Preset:
    """The preset in this text; a mistake is said with its line."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PruneScopeError(f"Preset {name} is not valid TOML: {error}.") from error
    _check_keys(values, ("title", "description", "grid"), name, text)
    if not isinstance(values.get("title"), str):
        raise PruneScopeError(f"Preset {name} needs a title.")
    grids = values.get("grid", [])
    if not isinstance(grids, list) or not grids:
        raise PruneScopeError(f"Preset {name} has no [[grid]], so there is nothing to run.")
    specs = {spec.key: spec for grid in grids for spec in _expand(grid, name, text)}
    return Preset(name, values["title"], str(values.get("description", "")), tuple(specs.values()))


def _expand(grid: Mapping[str, Any], name: str, text: str) -> Iterator[RunSpec]:
    _check_keys(grid, (*AXES, "protocol"), name, text)
    protocol = grid.get("protocol", {})
    _check_keys(protocol, tuple(f.name for f in fields(RunSpec) if f.name not in AXES.values()), name, text)
    for axis in AXES:
        values = grid.get(axis)
        if values is None and axis not in NEEDED:
            continue
        if not isinstance(values, list) or not values:
            line = _line(text, axis)
            raise PruneScopeError(
                f"Preset {name}{line}: {axis} is {values!r}; it should be a list with a value or more."
            )
    given = [axis for axis in AXES if axis in grid]
    fixed = {key: tuple(value) if isinstance(value, list) else value for key, value in protocol.items()}
    for values in itertools.product(*(grid[axis] for axis in given)):
        point = {AXES[axis]: value for axis, value in zip(given, values, strict=True)}
        try:
            yield checked(RunSpec(**point, **fixed))
        except PruneScopeError as error:
            seen = next((w for w in map(str, (*values, *protocol)) if repr(w) in str(error) or w in str(error)), "")
            raise PruneScopeError(f"Preset {name}{_line(text, seen)}: {error}") from error


def _check_keys(values: Mapping[str, Any], allowed: tuple[str, ...], name: str, text: str) -> None:
    for key in values:
        if key not in allowed:
            raise PruneScopeError(f"Preset {name}{_line(text, key)}: {nearest(key, allowed, 'key')}")


def _line(text: str, word: str) -> str:
    """Where a word stands first, as ", line 7"; empty where it does not."""
    if word:
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", line):
                return f", line {number}"
    return ""
