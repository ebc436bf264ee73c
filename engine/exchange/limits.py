"""How much of a user's file is read at most, and what counts as a name; no imports, so that a child starts light."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Caps on a file and on the child that reads it; the defaults are those of uploads."""

    rows: int = 100_000_000
    columns: int = 2_000
    examples: int = 2_000_000
    models: int = 20_000
    cells: int = 400_000_000
    """Predictions: models x examples."""
    classes: int = 65_536
    letters: int = 200
    """Of one name or cell of text."""
    row_bytes: int = 1 << 22
    megabytes: int = 3_000
    """Address space of the child."""
    seconds: int = 900
    """Processor time of the child."""


LIMITS = Limits()
