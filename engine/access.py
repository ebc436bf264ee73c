"""Who may write here: $PRUNESCOPE_ACCESS says it for all, and every function that writes for people asks first.

`open`: everybody may. `demo`: nobody may. `sign-in`: who was named by `acting_as` and is an editor; nobody named is
nobody signed in.
"""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, cast

from engine.errors import PruneScopeError, unknown_name

VARIABLE = "PRUNESCOPE_ACCESS"
Mode = Literal["open", "demo", "sign-in"]
OPEN, DEMO, SIGN_IN = MODES = ("open", "demo", "sign-in")
Role = Literal["viewer", "editor"]


class AccessError(PruneScopeError):
    """What was asked for may not be done, or not by who asks."""


@dataclass(frozen=True)
class Person:
    """Somebody at a page or a terminal."""

    name: str
    role: Role = "editor"


_person: ContextVar[Person | None] = ContextVar("person", default=None)


def access_mode() -> Mode:
    """What $PRUNESCOPE_ACCESS says; `open` where it says nothing, and a refusal where it says nonsense."""
    said = os.environ.get(VARIABLE, "").strip() or OPEN
    if said not in MODES:
        raise unknown_name(said, MODES, f"kind of access, as ${VARIABLE} says,")
    return cast(Mode, said)


@contextmanager
def acting_as(person: Person | None) -> Iterator[None]:
    """Within the block it is this person who writes; None is nobody."""
    token = _person.set(person)
    try:
        yield
    finally:
        _person.reset(token)


def this_user() -> Person:
    """Whoever holds the terminal: who may write the files may write through the engine as well."""
    try:
        return Person(getpass.getuser())
    except (KeyError, OSError):  # a container whose user has no name
        return Person("somebody")


def check_may_write(what: str) -> str:
    """The name of who writes, to be kept with it; an AccessError where nothing may be written or not by them.

    `what` completes the sentence "... may not be ...": "marks", "an import".
    """
    mode, person = access_mode(), _person.get()
    if mode == DEMO:
        raise AccessError(f"This is a demonstration that only shows: {what} cannot be written here.")
    if mode == OPEN:
        return (person or this_user()).name
    if person is None:
        raise AccessError(f"Nobody is signed in, so {what} cannot be written. Sign in first.")
    if person.role != "editor":
        raise AccessError(
            f"{person.name} may look and not write: {what} can be written by editors only. Ask whoever runs the server."
        )
    return person.name
