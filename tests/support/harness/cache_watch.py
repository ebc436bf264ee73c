"""Whether what pages keep between reruns stays as it was made: sessions share it, and nobody may change it.

Every value is digested in the moment in which Streamlit keeps it, so that a change during the first rerun shows too.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.runtime.caching.cache_resource_api import ResourceCache

PLAIN = (str, bytes, int, float, bool, type(None))


@dataclass(frozen=True, eq=False)
class Part:
    """A table, array or collection somewhere within a kept value, and its digest when it was kept."""

    name: str
    value: Any
    digest: str


@dataclass
class CacheWatch:
    """All that was kept since the watch began."""

    parts: list[Part] = field(default_factory=list, repr=False)

    def add(self, function: str, value: Any) -> None:
        """Remember how a value looks that a cached function returned."""
        self.parts += parts_of(function, value)

    def changed(self) -> list[str]:
        """Names of what does not look as it did when it was kept; each is told once."""
        changed = [part for part in self.parts if digest(part.value) != part.digest]
        self.parts = [part for part in self.parts if part not in changed]
        return [part.name for part in changed]


@contextmanager
def watched_caches() -> Iterator[CacheWatch]:
    """A watch over what is kept within the block; it begins with nothing kept, and leaves nothing."""
    watch, write = CacheWatch(), ResourceCache.write_result

    def watched_write(self: ResourceCache[Any], key: str, value: Any, messages: Any) -> None:
        watch.add(self.display_name, value)
        write(self, key, value, messages)

    st.cache_resource.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ResourceCache, "write_result", watched_write)
        yield watch
    st.cache_resource.clear()


def parts_of(name: str, value: Any, seen: frozenset[int] = frozenset()) -> list[Part]:
    """The value, where it can be changed, and whatever lies within it and can be."""
    if isinstance(value, PLAIN) or id(value) in seen:
        return []
    seen |= {id(value)}
    if isinstance(value, pd.DataFrame | pd.Series | pd.Index | np.ndarray):
        return [Part(name, value, digest(value))]
    if isinstance(value, Mapping):
        inner = [part for key, one in value.items() for part in parts_of(f"{name}[{key!r}]", one, seen)]
        return [Part(name, value, digest(value)), *inner]
    if isinstance(value, list | tuple | set | frozenset):
        inner = [part for place, one in enumerate(value) for part in parts_of(f"{name}[{place}]", one, seen)]
        return [Part(name, value, digest(value)), *inner]
    fields = getattr(value, "__dict__", {})  # what is computed later and kept is no change: only what is there counts
    return [part for key, one in list(fields.items()) for part in parts_of(f"{name}.{key}", one, seen)]


def digest(value: Any) -> str:
    """A digest of a table, an array, or of the plain values and the size of a collection."""
    return hashlib.blake2b(_bytes(value), digest_size=16).hexdigest()


def _bytes(value: Any) -> bytes:
    if isinstance(value, pd.DataFrame):
        columns = b"".join(_bytes(value.iloc[:, place]) for place in range(value.shape[1]))
        return _bytes(value.columns) + _bytes(value.index) + columns
    if isinstance(value, pd.Series):
        return _bytes(value.array) + repr(value.name).encode()
    if isinstance(value, pd.RangeIndex):
        return repr(value).encode()
    if isinstance(value, pd.Index):
        return _bytes(value.array) + repr(value.names).encode()
    if isinstance(value, pd.Categorical):
        return _bytes(value.codes) + _bytes(value.categories)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return _bytes(np.asarray(value))
    if isinstance(value, Mapping):
        return repr([(key, _plain(one)) for key, one in value.items()]).encode()
    if isinstance(value, set | frozenset):
        return repr(sorted(map(repr, value))).encode()
    return repr([_plain(one) for one in value]).encode()


def _plain(value: Any) -> str:
    """A value as text where it cannot be changed itself, else its kind: it is a part of its own."""
    return repr(value) if isinstance(value, PLAIN) else type(value).__name__
