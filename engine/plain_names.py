"""Names that may become part of a file's name: letters, digits and a few marks, and nothing that leads elsewhere."""

import re

from engine.errors import PruneScopeError

PLAIN_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")


def check_name(role: str, name: object) -> None:
    """Refuse a name that is not plain; `role` says what it is the name of."""
    if not isinstance(name, str) or not PLAIN_NAME.match(name):
        raise PruneScopeError(
            f"The {role} name {name!r} is not allowed; use up to 64 letters, digits, '.', '_' and '-', a letter or "
            "digit first."
        )
