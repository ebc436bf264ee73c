"""How a cell is refused: one sentence that names its column and row. Row 1 is the first one below the header."""

from engine.errors import PruneScopeError


def refused(column: str, row: int | None, what: str) -> PruneScopeError:
    """The error for a column, or for one row of it."""
    place = f"Column {shown(column)}" + (f", row {row:,}" if row is not None else "")
    return PruneScopeError(f"{place}: {what}")


def shown(text: object, most: int = 60) -> str:
    """Text of a user's file for a sentence: quoted, without line breaks, cut to a few words."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in str(text))
    return repr(plain if len(plain) <= most else f"{plain[: most - 1]}…")
