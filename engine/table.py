"""Tables of rows by their keys, in which a name with a colon stands for a row made of what it imports."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from engine.errors import unknown_name
from engine.import_path import imported_object, is_import_path


class Keyed(Protocol):
    """What a table holds: rows that know their own key."""

    @property
    def key(self) -> str:
        """The name by which it is called."""


Row = TypeVar("Row", bound=Keyed)


class Table(dict[str, Row]):
    """Rows by their keys; `own` makes a row of an import path and the object behind it."""

    def __init__(self, kind: str, rows: Iterable[Row], own: Callable[[str, object], Row]) -> None:
        super().__init__({row.key: row for row in rows})
        self.kind, self._own, self._imported = kind, own, dict[str, Row]()

    def __missing__(self, name: str) -> Row:
        if not is_import_path(name):
            raise unknown_name(name, self, self.kind)
        if name not in self._imported:
            self._imported[name] = self._own(name, imported_object(name))
        return self._imported[name]
