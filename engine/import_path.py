"""Names with a colon: `package.module:name` is an object of the user's own, imported only where that is trusted.

Such a name travels as text to other processes and machines and into the record. A study from elsewhere may bear one
too, so that nothing is imported unless somebody said so: `with trusting():`.
"""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from engine.errors import PruneScopeError, unknown_name

_PATH = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
_trusted: ContextVar[bool] = ContextVar("trusted", default=False)


@contextmanager
def trusting(trust: bool = True) -> Iterator[None]:
    """Import paths are followed within this block, if `trust` says so."""
    before = _trusted.set(trust or _trusted.get())
    try:
        yield
    finally:
        _trusted.reset(before)


def is_import_path(name: str) -> bool:
    """Whether the name stands for an object to import rather than for a row of ours."""
    return ":" in name


def object_name(name: str) -> str:
    """What the object behind an import path is called; any other name is its own."""
    return name.rpartition(":")[2] if _PATH.match(name) else name


def imported_object(name: str) -> object:
    """The object that an import path names; a refusal says which part of it failed."""
    if not _PATH.match(name):
        raise PruneScopeError(f"{name!r} is no import path; it should look like 'package.module:name'.")
    if not _trusted.get():
        raise PruneScopeError(
            f"{name!r} is code to be imported, which is done only for those you trust: say trust=True in Python, "
            "or --trust on the command line."
        )
    module_name, _, attribute = name.partition(":")
    return _attribute(name, _module(name, module_name), attribute)


def _module(name: str, module_name: str) -> object:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        reason = f"its module needs {missing!r}, which is missing."
        if module_name == missing or module_name.startswith(f"{missing}."):
            reason = f"there is no module {missing!r}. Start from the folder that holds it, or add that to PYTHONPATH."
        raise PruneScopeError(f"{name!r} cannot be imported: {reason}") from error
    except Exception as error:  # whatever the user's own code raises
        reason = f"its module {module_name!r} failed with {type(error).__name__}: {error}."
        raise PruneScopeError(f"{name!r} cannot be imported: {reason}") from error


def _attribute(name: str, module: object, attribute: str) -> object:
    here, value = name.partition(":")[0], module
    for part in attribute.split("."):
        if not hasattr(value, part):
            public = sorted(word for word in getattr(value, "__dict__", ()) if not word.startswith("_"))
            raise PruneScopeError(f"{name!r} cannot be imported: {unknown_name(part, public, f'name in {here}')}")
        value, here = getattr(value, part), f"{here}.{part}"
    return value
