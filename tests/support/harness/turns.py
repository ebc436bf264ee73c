"""Of a cross that is too long for `make test` a part each day, so that all of it has its turn within a few days.

Which part follows from the date; `PRUNESCOPE_TURN=123 make test` takes the part of that day again, and
`PRUNESCOPE_FULL=1` takes all.
"""

import os
from collections.abc import Sequence
from datetime import date
from typing import TypeVar

Case, Other = TypeVar("Case"), TypeVar("Other")

FULL = bool(os.environ.get("PRUNESCOPE_FULL"))
TURN = int(os.environ.setdefault("PRUNESCOPE_TURN", str(date.today().toordinal())))
"""A day's number. Processes that a test run starts inherit it, also past midnight."""
HOW_TO_TAKE_AGAIN = f"cases in turn: PRUNESCOPE_TURN={TURN} takes the same again"


def in_turn(cases: Sequence[Case], of: int, turn: int = TURN, full: bool = FULL) -> list[Case]:
    """One case of every `of`, those of this turn; after `of` turns each had its own. All with PRUNESCOPE_FULL."""
    return [case for place, case in enumerate(cases) if full or (place + turn) % of == 0]


def cross_in_turn(
    rows: Sequence[Case], columns: Sequence[Other], of: int, turn: int = TURN, full: bool = FULL
) -> list[tuple[Case, Other]]:
    """The same of rows x columns, in diagonals: where a row or a column has `of` cases, one at least of it is there."""
    numbered = [(i + j, (row, column)) for i, row in enumerate(rows) for j, column in enumerate(columns)]
    return [case for place, case in numbered if full or (place + turn) % of == 0]
