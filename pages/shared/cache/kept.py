"""What pages keep between reruns, found again by the hash of what was asked for.

Streamlit's own cache takes its arguments apart at every call, which costs a page more than what it then draws; it is
asked once, and holds what is kept here as well: what clears it clears this.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast

import streamlit as st

Asked = ParamSpec("Asked")
Made = TypeVar("Made")
MOST_KEPT = 256


def remembered(
    max_entries: int = 64, show_spinner: bool | str = False
) -> Callable[[Callable[Asked, Made]], Callable[Asked, Made]]:
    """Keeps what a function gives, as `st.cache_resource` does, for a function of hashable arguments."""

    def decorate(function: Callable[Asked, Made]) -> Callable[Asked, Made]:
        made = st.cache_resource(max_entries=max_entries, show_spinner=show_spinner)(function)
        name = f"{function.__module__}.{function.__qualname__}"

        @wraps(function)
        def found(*args: Asked.args, **named: Asked.kwargs) -> Made:
            asked = (args, tuple(named.items()))
            return cast(Made, _at_hand(name, max_entries, asked, partial(made, *args, **named)))

        return found

    return decorate


def kept(source: Hashable, what: str, asked: Hashable, make: Callable[[], Made]) -> Made:
    """What `make` gives, made once for each study as it is, `what` it is called and all that it depends on besides."""
    make_kept = partial(_kept, source, what, asked, make)
    return cast(Made, _at_hand("kept", MOST_KEPT, (source, what, asked), make_kept))


@st.cache_resource(max_entries=MOST_KEPT, show_spinner=False)
def _kept(source: Hashable, what: str, asked: Hashable, _make: Callable[[], object]) -> object:
    return _make()


@dataclass(slots=True)
class _Hand:
    """Values by the name of their function and by what was asked."""

    by_name: dict[str, dict[Hashable, Any]] = field(default_factory=dict)


@st.cache_resource(show_spinner=False)
def _hand() -> _Hand:
    return _Hand()


def _at_hand(name: str, most: int, asked: Hashable, make: Callable[[], object]) -> object:
    """What was made when this was asked before; where there is too much at hand, all of it goes."""
    hand = _hand().by_name.setdefault(name, {})
    found = hand.get(asked, hand)
    if found is hand:
        found = make()
        if len(hand) >= most:
            hand.clear()
        hand[asked] = found
    return found
