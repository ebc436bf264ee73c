"""Controls that stand in the address: a value that does not fit the study now chosen falls back to the default.

A page's control remembers what another page, another study or a link left under its key. Every control whose range
depends on the study comes from here, so that none of that can end in an error.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

T = TypeVar("T")


def one_from_list(label: str, options: Sequence[T], key: str, named: Callable[[T], str] = str, **look: Any) -> T:
    """One of the options, from a list that folds out; the first unless `index` names another."""
    usual = look.get("index", 0)
    _forget(key, lambda value: _among(value, options))
    chosen = _place(look).selectbox(label, options, format_func=_name(named), key=key, bind="query-params", **look)
    return chosen if _among(chosen, options) else options[usual or 0]


def one_from_row(label: str, options: Sequence[T], key: str, named: Callable[[T], str] = str, **look: Any) -> T:
    """One of a few options that stand side by side; `usual` is where it starts."""
    usual = look.pop("usual", options[0])
    _forget(key, lambda value: _among(value, options))
    settings = {"default": usual, "required": True, "format_func": _name(named)}
    chosen: Any = _place(look).segmented_control(label, options, key=key, bind="query-params", **settings, **look)
    return next((option for option in options if _among(chosen, [option])), usual)


def several(label: str, options: Sequence[str], usual: Sequence[str], key: str, **look: Any) -> list[str]:
    """Some of the options; what is no longer offered is left out."""
    _forget(key, lambda value: isinstance(value, list | tuple) and all(_among(part, options) for part in value))
    chosen = _place(look).multiselect(label, options, default=list(usual), key=key, bind="query-params", **look)
    return [part for part in chosen if part in options]


def one_on_a_scale(
    label: str, options: Sequence[T], usual: T, key: str, named: Callable[[T], str] = str, **look: Any
) -> T:
    """One of the options in their order, by a slider; the only one where there is no other."""
    _forget(key, lambda value: _among(value, options))
    settings = {"format_func": _name(named), "key": key, "bind": "query-params"}
    chosen = _place(look).select_slider(label, options, usual, **settings, **look)
    return chosen if _among(chosen, options) else usual


def whole_number(label: str, low: int, high: int, usual: int, key: str, **look: Any) -> int:
    """A whole number from `low` to `high`, in a field."""
    # As a float: Streamlit makes an integer of what stands in the address before it looks whether there is one.
    found = number(label, float(low), float(high), float(usual), key, step=1.0, format="%.0f", **look)
    return int(usual if found is None else found)


def whole_number_on_a_scale(label: str, low: int, high: int, usual: int, key: str, **look: Any) -> int:
    """A whole number from `low` to `high`, by a slider."""
    _forget(key, lambda value: _is_within(value, low, high))
    return int(_place(look).slider(label, low, max(high, low + 1), usual, key=key, bind="query-params", **look))


def number(label: str, low: float, high: float, usual: float | None, key: str, **look: Any) -> float | None:
    """A number from `low` to `high`, in a field; None where it may be left empty, as `usual` then is, and was."""
    _forget(key, lambda value: value is None and usual is None or _is_within(value, low, high))
    found = _place(look).number_input(label, low, high, usual, key=key, bind="query-params", **look)
    return found if found is None or _is_within(found, low, high) else usual


def _forget(key: str, fits: Callable[[Any], bool]) -> None:
    """Let a control start at its default where what it remembers does not fit."""
    if key in st.session_state and not fits(st.session_state[key]):
        del st.session_state[key]


def _place(look: dict[str, Any]) -> Any:
    """Where a control is put: `where`, else here."""
    return look.pop("where", st)


def _name(named: Callable[[T], str]) -> Callable[[Any], str]:
    """The name of an option; Streamlit also asks for that of a value which is none any more."""

    def name(value: Any) -> str:
        try:
            return named(value)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            return str(value)

    return name


def _among(value: Any, options: Sequence[Any]) -> bool:
    """Whether a value is one of the options and of its kind: True is not 1."""
    return any(type(value) is type(option) and value == option for option in options)


def _is_within(value: Any, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and low <= value <= high
