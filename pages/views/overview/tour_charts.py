"""The tour's charts as SVG files of their own: small, sharp in print, the same on the page and in the saved file."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 68, 150, 30, 54
LETTER = 8
"""Width of a letter of a name below a column."""

INSIDE = 'clip-path="url(#inside)"'
"""A line that leaves the axes ends at their edge."""


ON_A_PHONE = "<style>@media (max-width: 480px) {text:not(.small) {font-size: 20px}}</style>"
"""Text that can be read where the whole chart is as narrow as a phone."""


@dataclass(frozen=True)
class Ink:
    """The colours of a chart on a light or a dark page."""

    text: str
    faint: str
    paying: str
    accent: str
    paper: str


INKS = {
    False: Ink("#1B1F24", "#8A929B", "#B34700", "#0072B2", "#FFFFFF"),
    True: Ink("#E8ECF0", "#8A929B", "#FF9F4A", "#56B4E9", "#12161B"),
}


@dataclass(frozen=True)
class Axis:
    """One axis: what it measures, its two ends, and the values that are marked with their texts."""

    name: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]

    def place(self, values: np.ndarray, start: float, end: float) -> np.ndarray:
        """Values as pixels from start to end."""
        span = self.high - self.low or 1.0
        return np.asarray(start + (np.asarray(values, float) - self.low) / span * (end - start))


def percent_axis(name: str, values: np.ndarray, least: float = 0.05) -> Axis:
    """An axis of rates that holds the values and spans at least so much, upwards from 0, in round steps."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    span = max(high - low, least)
    high = low + span if low <= 0 else high
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if span / step <= 6 or step == 0.25)
    low, high = np.floor((high - span) / step) * step, np.ceil(high / step - 1e-9) * step
    marks = np.arange(round(low / step), round(high / step) + 1) * step
    return Axis(
        name, float(low), float(max(high, low + step)), [(float(mark), f"{100 * mark:.0f} %") for mark in marks]
    )


def level_axis(texts: Sequence[str]) -> Axis:
    """An axis of levels, six of them marked with their sparsities."""
    last = max(len(texts) - 1, 1)
    marks = sorted({round(place) for place in np.linspace(0, len(texts) - 1, 6)})
    return Axis("weights cut", 0, last, [(mark, texts[mark]) for mark in marks])


def lines(x: Axis, y: Axis, series: Sequence[tuple[str, np.ndarray, str]], mark: int, ink: Ink) -> str:
    """Lines over levels with their names at their ends; a dot at one level. A series is name, values, colour."""
    parts, ends = [], []
    for name, values, colour in series:
        across = x.place(np.arange(len(values)), LEFT, WIDTH - RIGHT)
        whole = y.place(np.asarray(values, float), HEIGHT - BOTTOM, TOP)
        up = np.clip(whole, TOP, HEIGHT - BOTTOM)
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, whole, strict=True))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="3" {INSIDE}/>')
        parts.append(f'<circle cx="{across[mark]:.1f}" cy="{up[mark]:.1f}" r="6" fill="{colour}"/>')
        ends.append(
            (float(up[-1]), name if up[-1] == whole[-1] else f"{name} ↓" if whole[-1] > up[-1] else f"{name} ↑", colour)
        )
    for height, name, colour in spread(ends):
        parts.append(_text(WIDTH - RIGHT + 10, height + 5, name, colour))
    return _svg(x, y, parts, ink)


def spread(ends: Sequence[tuple[float, str, str]], room: float = 24) -> list[tuple[float, str, str]]:
    """Labels at the ends of lines, moved apart where they would overlap."""
    placed: list[tuple[float, str, str]] = []
    for up, name, colour in sorted(ends):
        placed.append((max(up, placed[-1][0] + room) if placed else up, name, colour))
    over = max(placed[-1][0] - (HEIGHT - BOTTOM), 0.0) if placed else 0.0
    return [(up - over, name, colour) for up, name, colour in placed]


def columns(y: Axis, values: np.ndarray, names: Sequence[str], pays: float, total: float, ink: Ink) -> str:
    """A column for each party, in order, and the total as a dashed line; names of few, slanted where they are long.

    Where the axis does not begin at 0 there are dots in place of columns.
    """
    room = (WIDTH - LEFT - RIGHT) / max(len(values), 1)
    ground = float(y.place(np.array([np.clip(0.0, y.low, y.high)]), HEIGHT - BOTTOM, TOP)[0])
    slanted = max((len(name[:12]) for name in names), default=0) * LETTER > room
    parts = []
    for place, value in enumerate(values):
        up = float(y.place(np.array([np.clip(value, y.low, y.high)]), HEIGHT - BOTTOM, TOP)[0])
        colour, wide = (ink.paying if value >= pays else ink.faint), min(max(room - 1, 0.8), 60)
        left = LEFT + room * place + (room - wide) / 2
        box = f'x="{left:.1f}" y="{min(up, ground):.1f}" width="{wide:.1f}" height="{abs(up - ground):.1f}"'
        dot = f'cx="{left + wide / 2:.1f}" cy="{up:.1f}" r="7"'
        parts.append(f'<circle {dot} fill="{colour}"/>' if y.low > 0 else f'<rect {box} fill="{colour}"/>')
        if len(values) <= 12:
            at = left + wide / 2, HEIGHT - BOTTOM + (16 if slanted else 20)
            name = _text(*at, names[place][:12], ink.text, "end" if slanted else "middle", 14)
            parts.append(f'<g transform="rotate(-30 {at[0]:.1f} {at[1]:.1f})">{name}</g>' if slanted else name)
    up = float(y.place(np.array([np.clip(total, y.low, y.high)]), HEIGHT - BOTTOM, TOP)[0])
    parts.append(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up:.1f}" y2="{up:.1f}" stroke="{ink.text}" stroke-width="2" '
        'stroke-dasharray="6 5"/>'
    )
    parts.append(_text(WIDTH - RIGHT + 10, up + 5, "all together", ink.text))
    return _svg(Axis("", 0, 1, []), y, parts, ink)


def cloud(x: Axis, y: Axis, across: np.ndarray, up: np.ndarray, best: np.ndarray, star: int | None, ink: Ink) -> str:
    """Points, those that nothing beats joined by a line, and a star on one."""
    a, b = x.place(across, LEFT, WIDTH - RIGHT), y.place(np.clip(up, y.low, y.high), HEIGHT - BOTTOM, TOP)
    parts = [
        f'<circle cx="{a[place]:.1f}" cy="{b[place]:.1f}" r="4" fill="{ink.faint}" fill-opacity="0.45"/>'
        for place in np.flatnonzero(~best)
    ]
    order = np.flatnonzero(best)[np.argsort(a[best])]
    path = " ".join(f"{a[place]:.1f},{b[place]:.1f}" for place in order)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{ink.accent}" stroke-width="2"/>')
    parts += [f'<circle cx="{a[p]:.1f}" cy="{b[p]:.1f}" r="5" fill="{ink.accent}"/>' for p in order]
    if star is not None:
        parts.append(f'<circle cx="{a[star]:.1f}" cy="{b[star]:.1f}" r="9" fill="{ink.text}"/>')
        parts.append(_text(float(a[star]) - 8, float(b[star]) - 14, "chosen", ink.text, "end"))
    parts.append(_text(WIDTH - RIGHT + 10, TOP + 16, "unbeaten", ink.accent))
    parts.append(_text(WIDTH - RIGHT + 10, TOP + 40, "beaten", ink.faint))
    return _svg(x, y, parts, ink)


def with_thumbnails(svg: str, sheet: str, size: tuple[int, int], dark: bool) -> str:
    """A chart with a sheet of images below it; ink on nothing is turned light on a dark page."""
    wide, tall = size
    look = ' style="filter: invert(1)"' if dark else ""
    image = f'<image href="{sheet}" x="{LEFT}" y="{HEIGHT + 8}" width="{wide}" height="{tall}"{look}/>'
    grown = f'viewBox="0 0 {WIDTH} {HEIGHT + tall + 16}"'
    return svg.replace(f'viewBox="0 0 {WIDTH} {HEIGHT}"', grown).replace("</svg>", f"{image}</svg>")


def address(svg: str) -> str:
    """An SVG as the address of an image; what is in it cannot run."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _svg(x: Axis, y: Axis, parts: Sequence[str], ink: Ink) -> str:
    frame = []
    for value, text in y.ticks:
        up = float(y.place(np.array([value]), HEIGHT - BOTTOM, TOP)[0])
        frame.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up:.1f}" y2="{up:.1f}" stroke="{ink.faint}" '
            'stroke-opacity="0.3"/>'
        )
        frame.append(_text(LEFT - 8, up + 5, text, ink.text, "end"))
    for value, text in x.ticks:
        across = float(x.place(np.array([value]), LEFT, WIDTH - RIGHT)[0])
        frame.append(_text(across, HEIGHT - BOTTOM + 22, text, ink.text, "middle"))
    frame.append(_text(LEFT, TOP - 8, y.name, ink.text))
    frame.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x.name, ink.text, "middle"))
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
    box = f'x="{LEFT}" y="{TOP - 2}" width="{WIDTH - LEFT - RIGHT + 2}" height="{HEIGHT - TOP - BOTTOM + 4}"'
    inside = f'<clipPath id="inside"><rect {box}/></clipPath>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{ON_A_PHONE}{inside}{"".join([*frame, *parts])}</svg>'


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start", size: int = 16) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" font-size="{size}"'
    kind = ' class="small"' if size < 16 else ""
    return f"<text {place}{kind}>{escape(text)}</text>"
