"""A setting says everything of itself: contracts over all of them, and the ranges."""

import math
from dataclasses import dataclass, field

import pytest

from engine.run_spec import IDENTITY, SETTINGS
from engine.setting import BELOW_ONE, COUNT, POSITIVE, SHARE, About, Range, setting, settings_of
from engine.specs.choices import CHOICES, choices_of


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_says_what_a_form_needs(name: str) -> None:
    item = SETTINGS[name]
    about = item.about
    assert about.label[0].isupper() and about.help and not about.help.endswith(".")
    assert not about.choices or about.choices in CHOICES
    if about.allowed is not None:
        values = item.default if isinstance(item.default, tuple) else (item.default,)
        assert all(map(about.allowed.holds, values))
    if not item.is_required:
        assert item.kind.fits(item.default)
        table = choices_of(name)
        assert table is None or item.default in table
    assert not about.zero or (about.allowed is not None and about.allowed.holds(0))


def test_labels_are_distinct_and_columns_are_settings() -> None:
    assert len({item.about.label for item in SETTINGS.values()}) == len(SETTINGS)
    assert set(IDENTITY) <= set(SETTINGS)


def test_a_field_is_a_setting() -> None:
    @dataclass(frozen=True)
    class Oven:
        dish: str = field(metadata=About("Dish", "what is baked", "data", choices="dishes").metadata)
        degrees: float = setting(180.0, About("Degrees", "how hot", "training", Range(50, 250)))

    dish, degrees = settings_of(Oven).values()
    assert dish.is_required and dish.about.choices == "dishes" and dish.kind.words == "text"
    assert (degrees.name, degrees.default, degrees.about.allowed_words) == ("degrees", 180.0, "50 to 250")
    assert Oven("bread") == Oven("bread", 180.0)
    with pytest.raises(TypeError):
        Oven()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("allowed", "inside", "outside", "words"),
    [
        (POSITIVE, (1e-9, 1), (0, -1), "a number above 0"),
        (COUNT, (0, 1e9), (-1e-9,), "0 or more"),
        (SHARE, (1e-9, 0.5), (0, 1, 2), "a number between 0 and 1"),
        (BELOW_ONE, (0, 0.999), (-0.1, 1), "0 or more and below 1"),
        (Range(1, 1000), (1, 1000), (0, 1001), "1 to 1000"),
        (Range(0, 1, with_low=False), (0.1, 1), (0, 1.1), "a number between 0 and 1, 1 included"),
    ],
)
def test_a_range_holds_what_its_words_say(
    allowed: Range, inside: tuple[float, ...], outside: tuple[float, ...], words: str
) -> None:
    assert all(map(allowed.holds, inside)) and not any(map(allowed.holds, (*outside, math.nan, math.inf, -math.inf)))
    assert allowed.words == words


def test_a_range_is_said_in_its_unit() -> None:
    assert About("Crop", "by how much", "training", Range(0, 32), "pixels").allowed_words == "0 to 32 pixels"
    assert About("Cut", "how much", "pruning", SHARE, "share").allowed_words == "a number between 0 and 1"
    assert About("Name", "what it is called", "data").allowed_words == ""
