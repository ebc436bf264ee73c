"""Panels of one figure in rows and columns, each with axes of its own."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Panel:
    """One panel: its place among all, and the part of the figure that it fills, as shares from the left and below."""

    place: int
    across: tuple[float, float]
    upward: tuple[float, float]

    @property
    def axes(self) -> dict[str, str]:
        """The part of a trace that puts it here."""
        return {"xaxis": f"x{self._number}", "yaxis": f"y{self._number}"}

    def layout(self, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
        """The two axes for the figure's layout, with this look."""
        return {
            f"xaxis{self._number}": {"domain": list(self.across), "anchor": f"y{self._number}", **x},
            f"yaxis{self._number}": {"domain": list(self.upward), "anchor": f"x{self._number}", **y},
        }

    @property
    def _number(self) -> str:
        return str(self.place + 1) if self.place else ""


def panels(n: int, n_columns: int, between_columns: float, between_rows: float) -> list[Panel]:
    """So many panels row by row from the top left; the gaps are shares of the figure."""
    n_rows = -(-n // n_columns)
    width = (1 - between_columns * (n_columns - 1)) / n_columns
    height = (1 - between_rows * (n_rows - 1)) / max(n_rows, 1)
    grid = []
    for place in range(n):
        row, column = divmod(place, n_columns)
        left, top = column * (width + between_columns), 1 - row * (height + between_rows)
        grid.append(Panel(place, (left, min(left + width, 1.0)), (max(top - height, 0.0), top)))
    return grid
