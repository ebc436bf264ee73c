"""Named sweeps: a TOML file with a title and grids becomes the specs of its runs, or is refused with the line."""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.datasets.dataset_table import Request, check_request
from engine.errors import PruneScopeError, unknown_name
from engine.networks.network_table import NETWORKS, input_size
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import SETTINGS, RunSpec
from engine.specs.checks import validate_spec
from engine.specs.choices import choices_of
from engine.specs.experiment_names import ExperimentName, experiment_of

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
PROTOCOL = tuple(name for name in SETTINGS if name not in AXES.values())
_ANY_SIDE = 1_000_000


@dataclass(frozen=True)
class Preset:
    """A sweep: what it is called, what it is for, and its runs in the order in which they are wanted.

    `names` are those of its experiments that have one, in the order of their runs.
    """

    name: str
    title: str
    description: str
    specs: tuple[RunSpec, ...]
    names: tuple[ExperimentName, ...] = ()


def preset_names() -> list[str]:
    """Names of the presets that come with the engine."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_preset(name: str) -> Preset:
    """The preset of this name, or of this TOML file."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.exists():
        if name.endswith(".toml"):
            raise PruneScopeError(f"There is no file {name}.")
        raise unknown_name(name, preset_names(), "preset")
    try:
        return read_preset(path.stem, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PruneScopeError(f"{path} cannot be read: {error}.") from error


def read_preset(name: str, text: str) -> Preset:
    """The preset in this text; a mistake is said with its line and what is allowed."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PruneScopeError(f"Preset {name} is not valid TOML: {error}.") from error
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(r"\s*\[\[\s*grid\s*]]", line)]
    top = _Section(name, lines, 0, heads[0] if heads else len(lines))
    top.check_keys(values, ("title", "description", "protocols", "grid"))
    shared = top.shared_protocols(values.get("protocols", {}))
    for key, value in (("title", values.get("title")), ("description", values.get("description", ""))):
        if not isinstance(value, str):
            raise top.error(f"{key} is {'missing' if value is None else repr(value)}; it should be text.", key)
    grids = values.get("grid", [])
    if not isinstance(grids, list) or not grids or not all(isinstance(grid, dict) for grid in grids):
        raise top.error("there is no [[grid]], so there is nothing to run.", "grid")
    ends = (
        zip(heads, [*heads[1:], len(lines)], strict=True)
        if len(heads) == len(grids)
        else [(0, len(lines))] * len(grids)
    )
    sections = [_Section(name, lines, first, end, shared) for first, end in ends]
    specs: dict[str, RunSpec] = {}
    names: dict[ExperimentName, str] = {}
    parted = zip(sections, grids, strict=True)
    for called, together in itertools.groupby(parted, lambda part: part[1].get("name") or id(part[1])):
        found = [spec for section, grid in together for spec in section.named_specs(grid, names)]
        if isinstance(called, str):  # grids of one name, one after the other, grow in seeds together
            found.sort(key=lambda spec: spec.seed)
        specs |= {spec.key: spec for spec in found}
    named = tuple(replace(place, name=called) for place, called in names.items())
    return Preset(name, values["title"], values.get("description", ""), tuple(specs.values()), named)


@dataclass(frozen=True)
class _Section:
    """The lines of a preset that one grid stands in."""

    name: str
    lines: list[str]
    first: int
    end: int
    shared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def shared_protocols(self, tables: Any) -> dict[str, Mapping[str, Any]]:
        """The protocols that grids may be like, by name."""
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise self.error("protocols should be tables of settings, such as [protocols.faces].", "protocols")
        for table in tables.values():
            self.check_keys(table, PROTOCOL)
        return tables

    def named_specs(self, grid: Mapping[str, Any], names: dict[ExperimentName, str]) -> list[RunSpec]:
        """The specs of the grid; its name joins `names`, and must be of one experiment and its only one."""
        specs, name = list(self.specs(grid)), grid.get("name")
        if name is None:
            return specs
        if not isinstance(name, str) or not name.strip():
            raise self.error(f'name is {name!r}; it should be text, such as "Faces: gender".', "name")
        places = dict.fromkeys(map(experiment_of, specs))
        others = [place for place, other in names.items() if other == name]
        if len({*places, *others}) > 1:
            raise self.error(f"name is {name!r} for more than one experiment; give each a grid and a name.", "name")
        for place in places:
            if names.setdefault(place, name) != name:
                raise self.error(f"name is {name!r}; the same experiment is {names[place]!r} above.", "name")
        return specs

    def specs(self, grid: Mapping[str, Any]) -> Iterator[RunSpec]:
        """The specs of the grid, the last axis the fastest."""
        self.check_keys(grid, (*AXES, "protocol", "vary", "name"))
        fixed = {key: self._read(key, key, value) for key, value in self._protocol(grid).items()}
        axes = {AXES[axis]: self._axis(axis, grid.get(axis)) for axis in AXES if axis in grid or axis in NEEDED}
        axes |= self._varied(grid, fixed)
        for values in itertools.product(*axes.values()):
            point = dict(zip(axes, values, strict=True))
            try:
                spec = validate_spec(RunSpec(**point, **fixed))
                _check_fit(spec)
            except PruneScopeError as error:
                raise self._blamed(str(error), point, fixed) from error
            yield spec

    def check_keys(self, values: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
        """Refuse a key that does not exist."""
        for key in values:
            if key not in allowed:
                raise self.error(str(unknown_name(key, allowed, "key")), key)

    def error(self, message: str, key: str = "", value: object = None) -> PruneScopeError:
        """The error with the line where this value of this key stands, as well as that can be told."""
        at = next((n for n in range(self.first, self.end) if key and _names(self.lines[n], key)), self.first)
        written = repr(value).replace("'", "[\"']") if isinstance(value, str) else re.escape(str(value))
        sought = re.compile(rf"(?<![\w.-]){written}(?![\w.-])") if value is not None else None
        at = next((n for n in range(at, self.end) if sought and sought.search(self.lines[n])), at)
        return PruneScopeError(f"Preset {self.name}, line {at + 1}: {message}")

    def _protocol(self, grid: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of the grid: those of the shared protocol that it is like, and its own in their place."""
        own = grid.get("protocol", {})
        if not isinstance(own, dict):
            raise self.error(f"protocol is {own!r}; it should be a table of settings.", "protocol")
        self.check_keys(own, (*PROTOCOL, "like"))
        like = own.get("like")
        if like is not None and like not in self.shared:
            raise self.error(str(unknown_name(str(like), self.shared, "protocol")), "like", like)
        return {**(self.shared[like] if like else {}), **{key: value for key, value in own.items() if key != "like"}}

    def _varied(self, grid: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Settings of the grid that have several values, and these."""
        varied = grid.get("vary", {})
        if not isinstance(varied, dict):
            raise self.error(f"vary is {varied!r}; it should be a table of settings with lists.", "vary")
        self.check_keys(varied, PROTOCOL)
        for key, values in varied.items():
            if key in fixed:
                raise self.error(f"{key} is varied and has a value in the protocol; it should have one of both.", key)
            if not isinstance(values, list) or not values:
                raise self.error(f"{key} is {values!r}; it should be a list with a value or more.", key)
        return {key: [self._read(key, key, value) for value in values] for key, values in varied.items()}

    def _axis(self, axis: str, values: Any) -> list[Any]:
        setting = AXES[axis]
        table = choices_of(setting)
        allowed = f"; allowed: {', '.join(table)}" if table else ""
        if not isinstance(values, list) or not values:
            seen = "missing" if values is None else repr(values)
            raise self.error(f"{axis} is {seen}; it should be a list with a value or more{allowed}.", axis)
        for value in values:
            self._read(axis, setting, value)
            if table is not None and value not in table:
                raise self.error(str(unknown_name(value, table, setting)), axis, value)
        return values

    def _read(self, key: str, setting: str, value: Any) -> Any:
        kind = SETTINGS[setting].kind
        if not kind.fits(value):
            whose = f"{key} is" if key == setting else f"{key} has"
            raise self.error(f"{whose} {value!r}; it should be {kind.words}.", key, value)
        return kind.read(value)

    def _blamed(self, message: str, point: Mapping[str, Any], fixed: Mapping[str, Any]) -> PruneScopeError:
        """The error at the setting that its text names first."""
        axes = {setting: axis for axis, setting in AXES.items()}
        words = {key: key.replace("_", "[ _]").rstrip("s") for key in (*fixed, *point)}
        matches = {key: re.search(rf"(?i)\b{word}", message) for key, word in words.items()}
        places = [(match.start(), key) for key, match in matches.items() if match]
        key = min(places)[1] if places else ""
        return self.error(message, axes.get(key, key), point.get(key))


def _check_fit(spec: RunSpec) -> None:
    """Refuse what the data set does not offer, images too small for the network, a technique without what it needs."""
    check_request(spec.dataset, Request(spec.split, spec.target, spec.groups, spec.image_size))
    input_size(NETWORKS[spec.network], _ANY_SIDE, _ANY_SIDE, spec.image_size)
    if TECHNIQUES[spec.technique].needs_decay and not spec.weight_decay:
        raise PruneScopeError(
            f"the technique {spec.technique!r} needs a weight_decay above 0; without one it is 'undecayed'."
        )


def _names(line: str, key: str) -> bool:
    return re.search(rf"(?:^|[\s{{,.\[])[\"']?{re.escape(key)}[\"']?\s*(?:=|])", line.split("#")[0]) is not None
