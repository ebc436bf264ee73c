"""How a name that does not exist is refused: with the nearest one that does."""

from collections.abc import Iterable
from difflib import SequenceMatcher

from engine.run_spec import PruneScopeError


def unknown_name(name: str, allowed: Iterable[str], what: str) -> PruneScopeError:
    """The error for a `what` called `name` that does not exist; it names the nearest one and all that are allowed."""
    names = list(allowed)
    if not names:
        return PruneScopeError(f"There is no {what} {name!r}; none exists here.")
    closest = max(names, key=lambda known: SequenceMatcher(None, name.casefold(), known.casefold()).ratio())
    return PruneScopeError(f"There is no {what} {name!r}; did you mean {closest!r}? Allowed: {', '.join(names)}.")
