"""Colours that stand out from the page: contrast by WCAG 2."""

from functools import cache

from pages.shared.charts.style import ink

GROUNDS = {True: "#12161B", False: "#FFFFFF"}
"""The page's background, dark or light."""
LEAST_CONTRAST = 3.0


@cache
def legible(colour: str, dark: bool, ratio: float = LEAST_CONTRAST) -> str:
    """The colour, brought towards the ink until it stands out from the ground by this contrast (WCAG)."""
    ground, target = GROUNDS[dark], ink(dark)
    for step in range(21):
        mixed = _mixed(colour, target, step / 20)
        if contrast(mixed, ground) >= ratio:
            return mixed
    return target


def contrast(one: str, other: str) -> float:
    """Contrast of two colours by WCAG 2: 1 to 21."""
    light, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(colour: str, other: str, share: float) -> str:
    pairs = ((int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02X}" for a, b in pairs)
