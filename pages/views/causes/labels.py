"""Where the names of points stand in a scatter, so that none lies on another or on a point."""

from collections.abc import Sequence

import numpy as np

WIDTH, HEIGHT = 340.0, 190.0
"""Pixels that a chart has at least for its points."""

LETTER, LINE, POINT = 7.0, 15.0, 6.0
"""Width of a letter, height of a line and half the width of a point, in pixels."""

SIDES = {
    "top center": (0.0, 1.0),
    "middle right": (1.0, 0.0),
    "middle left": (-1.0, 0.0),
    "bottom center": (0.0, -1.0),
    "top right": (1.0, 1.0),
    "top left": (-1.0, 1.0),
    "bottom right": (1.0, -1.0),
    "bottom left": (-1.0, -1.0),
}
"""Plotly's sides of a point, the best first: across and upward."""

Box = tuple[float, float, float, float]
"""Left, right, bottom and top."""


def label_sides(x: Sequence[float], y: Sequence[float], names: Sequence[str]) -> list[str | None]:
    """The side of its point on which each name has room, in the order given; None where there is none.

    What is read first is placed first. Axes are taken to end at the outermost points.
    """
    across, upward = (_pixels(values, room) for values, room in ((x, WIDTH), (y, HEIGHT)))
    points = [(a - POINT, a + POINT, u - POINT, u + POINT) for a, u in zip(across, upward, strict=True)]
    taken: list[Box] = []
    sides: list[str | None] = []
    for place, name in enumerate(names):
        others = [box for at, box in enumerate(points) if at != place and box != points[place]]
        found = None
        for side, way in SIDES.items():
            box = _box(across[place], upward[place], name, way)
            if not any(_meet(box, other) for other in (*taken, *others)):
                found = side
                taken.append(box)
                break
        sides.append(found)
    return sides


def _pixels(values: Sequence[float], room: float) -> list[float]:
    numbers = np.asarray(values, float)
    wide = float(np.ptp(numbers)) if len(numbers) else 0.0
    return [0.0] * len(numbers) if wide == 0 else [float(v) for v in (numbers - numbers.min()) / wide * room]


def _box(across: float, upward: float, name: str, way: tuple[float, float]) -> Box:
    half, high = LETTER * max(len(name), 1) / 2, LINE / 2
    middle = across + way[0] * (half + POINT), upward + way[1] * (high + POINT)
    return middle[0] - half, middle[0] + half, middle[1] - high, middle[1] + high


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
