"""What a user can mend: a mistake said in a sentence, and a name that does not exist refused with the nearest one."""

from collections.abc import Iterable
from difflib import SequenceMatcher


class PruneScopeError(Exception):
    """A mistake that a user can mend; its text says what was wrong and what is allowed."""


def unknown_name(name: str, allowed: Iterable[str], what: str) -> PruneScopeError:
    """The error for a `what` called `name` that does not exist; it names the nearest one and all that are allowed."""
    names = list(allowed)
    if not names:
        return PruneScopeError(f"There is no {what} {name!r}; none exists here.")
    closest = max(names, key=lambda known: SequenceMatcher(None, name.casefold(), known.casefold()).ratio())
    return PruneScopeError(f"There is no {what} {name!r}; did you mean {closest!r}? Allowed: {', '.join(names)}.")
