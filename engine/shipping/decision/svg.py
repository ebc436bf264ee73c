"""Static charts as SVG, drawn without a browser: axes, marks, lines, text. Every text is escaped."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

INK, SOFT, GRID = "#1b1f24", "#57606a", "#d8dde3"


def element(name: str, text: str = "", **values: object) -> str:
    """One element; `class_` and names with an underscore are written as SVG has them."""
    pairs = [f"{key.rstrip('_').replace('_', '-')}={quoteattr(_written(value))}" for key, value in values.items()]
    head = " ".join([name, *pairs])
    return f"<{head}>{escape(text)}</{name}>" if text else f"<{head}/>"


def picture(width: float, height: float, parts: Sequence[str], title: str) -> str:
    """A whole picture; `title` says in words what it shows."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_written(width)} {_written(height)}" '
        f'role="img" aria-label={quoteattr(title)} font-family="system-ui, sans-serif">'
    )
    return "\n".join([head, *parts, "</svg>"])


def star(x: float, y: float, radius: float) -> str:
    """The mark of what was chosen."""
    corners = []
    for step in range(10):
        reach, angle = radius * (1 if step % 2 == 0 else 0.45), math.pi * step / 5 - math.pi / 2
        corners.append(f"{x + reach * math.cos(angle):.1f},{y + reach * math.sin(angle):.1f}")
    return element("polygon", points=" ".join(corners), fill=INK)


@dataclass(frozen=True)
class Axis:
    """From numbers to places along one side of a picture; `low` may be the larger number."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a number stands; what lies beyond an end stands at it."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return self.start + share * (self.end - self.start)


def span(values: Sequence[float], margin: float = 0.05) -> tuple[float, float]:
    """Ends of an axis around the values, a little apart from them."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = margin * (high - low) or 0.01
    return low - room, high + room


def steps(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers within two ends, at most so many."""
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    first = math.ceil(low / step)
    return [round(step * number, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _written(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
