"""What a setting of a run says of itself: its label, help, section, unit, and which values are allowed.

`RunSpec` names its settings by these records; checks, presets, the command line and forms follow from them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, TypeVar, get_type_hints

Value = TypeVar("Value")
Section = Literal["data", "training", "pruning", "mitigation", "record"]
"""Where a setting belongs. `pruning` matters only once the dense network is trained, `mitigation` only where something
is mitigated; `record` says what is written down and changes no network."""

Unit = Literal["", "epochs", "images", "levels", "pixels", "steps", "share"]
"""What a number counts; a share lies between 0 and 1 and is shown in percent."""

_KEY = "about"


@dataclass(frozen=True)
class Range:
    """Finite numbers from `low` to `high`, each end allowed or not."""

    low: float
    high: float = math.inf
    with_low: bool = True
    with_high: bool = True

    def holds(self, value: float) -> bool:
        """Whether the value is allowed; NaN and infinities never are."""
        above = value >= self.low if self.with_low else value > self.low
        below = value <= self.high if self.with_high else value < self.high
        return math.isfinite(value) and above and below

    @property
    def words(self) -> str:
        """The range for an error: "a number above 0", "1 to 1000"."""
        if math.isinf(self.high):
            return f"{self.low:g} or more" if self.with_low else f"a number above {self.low:g}"
        if self.with_low:
            return (
                f"{self.low:g} to {self.high:g}" if self.with_high else f"{self.low:g} or more and below {self.high:g}"
            )
        between = f"a number between {self.low:g} and {self.high:g}"
        return f"{between}, {self.high:g} included" if self.with_high else between


COUNT = Range(0)
POSITIVE = Range(0, with_low=False)
SHARE = Range(0, 1, with_low=False, with_high=False)
BELOW_ONE = Range(0, 1, with_high=False)


@dataclass(frozen=True)
class Kind:
    """A type of settings: its words, which values are of it, and how one is made of a file's value or of typed text."""

    words: str
    fits: Callable[[Any], bool]
    read: Callable[[Any], Any]
    parse: Callable[[str], Any]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(fits, value))


def numbers(text: str) -> tuple[float, ...]:
    """Numbers that stand with commas between them."""
    return tuple(map(float, text.split(",")))


def texts(text: str) -> tuple[str, ...]:
    """Texts that stand with commas between them."""
    return tuple(text.split(","))


KINDS: Mapping[Any, Kind] = {
    int: Kind("a whole number", lambda value: type(value) is int, int, int),
    float: Kind("a number", _is_number, float, float),
    str: Kind("text", _is_text, str, str),
    bool: Kind("true or false", lambda value: isinstance(value, bool), bool, bool),
    tuple[float, ...]: Kind(
        "a list of numbers", _is_list_of(_is_number), lambda value: tuple(map(float, value)), numbers
    ),
    tuple[str, ...]: Kind("a list of texts", _is_list_of(_is_text), tuple, texts),
}
"""Every type that a setting may have."""


@dataclass(frozen=True)
class About:
    """What a field of `RunSpec` says beside its name, type and default.

    `help` is a phrase without capital and full stop. `choices` names the table whose keys are allowed: one of `CHOICES`
    of `engine.specs.choices`. `zero` is what 0 stands for, where that is no number like the others.
    """

    label: str
    help: str
    section: Section
    allowed: Range | None = None
    unit: Unit = ""
    choices: str = ""
    zero: str = ""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The record as `dataclasses.field` takes it, for a field without default."""
        return {_KEY: self}

    @property
    def allowed_words(self) -> str:
        """The range with its unit, for an error: "0 to 32 pixels"; empty where there is none."""
        words = self.allowed.words if self.allowed else ""
        return words if self.unit in ("", "share") or words.startswith("a number") else f"{words} {self.unit}".strip()


def setting(default: Value, about: About) -> Value:
    """A field of `RunSpec` with this default."""
    made: Value = field(default=default, metadata=about.metadata)
    return made


@dataclass(frozen=True)
class Setting:
    """One setting of a run: the field's name, type and default, and what it says of itself.

    `default` is None where a run must name the value.
    """

    name: str
    kind: Kind
    default: Any
    about: About

    @property
    def is_required(self) -> bool:
        """Whether every run must name it."""
        return self.default is None


def settings_of(record: type) -> dict[str, Setting]:
    """The settings that the fields of a dataclass are, by name and in their order."""
    types = get_type_hints(record)
    return {
        item.name: Setting(
            item.name,
            KINDS[types[item.name]],
            None if item.default is MISSING else item.default,
            item.metadata[_KEY],
        )
        for item in fields(record)
    }
