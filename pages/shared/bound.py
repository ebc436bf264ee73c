"""Controls that stand in the address: a value that does not fit the study now chosen falls back to the default.

A control remembers what another page, another study or a link left under its key. Every control of a page comes from
here, under the names that Streamlit gives them, so that none of that can end in an error; a test looks for others.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from pages.shared.names import OLD_NAMES

T = TypeVar("T")
HERE: Any = st
"""Where a control is put unless it is told."""
ADDRESS = "query-params"


def selectbox(
    label: str,
    options: Sequence[T],
    index: int | None = 0,
    *,
    key: str,
    format_func: Callable[[T], str] = str,
    where: Any = HERE,
    old: Mapping[str, str] = OLD_NAMES,
    **look: Any,
) -> T:
    """One of the options, from a list that folds out; None where `index` is, and nothing is chosen.

    `old` are names that earlier links use for options.
    """
    _renew(key, options, old, several=False)
    usual: Any = None if index is None else options[index]
    if key in st.session_state and not (st.session_state[key] is None or _among(st.session_state[key], options)):
        # Said anew: where it is only forgotten, a browser goes on showing what it had.
        st.session_state[key] = usual
    settings = {"format_func": _name(format_func), "key": key, "bind": ADDRESS}
    chosen: T = _one(where.selectbox(label, options, index, **settings, **look), options, usual)
    return chosen


def segmented_control(
    label: str,
    options: Sequence[T],
    *,
    default: T,
    key: str,
    format_func: Callable[[T], str] = str,
    where: Any = HERE,
    **look: Any,
) -> T:
    """One of a few options that stand side by side."""
    _forget(key, lambda value: _among(value, options))
    settings = {"format_func": _name(format_func), "key": key, "bind": ADDRESS, "required": True}
    return _one(where.segmented_control(label, options, default=default, **settings, **look), options, default)


def multiselect(
    label: str,
    options: Sequence[str],
    *,
    default: Sequence[str],
    key: str,
    where: Any = HERE,
    old: Mapping[str, str] = OLD_NAMES,
    **look: Any,
) -> list[str]:
    """Some of the options, from a list; those that are no longer offered go. `old` as in `selectbox`."""
    _renew(key, options, old, several=True)
    _keep_all(key, options)
    _leave_out(key, options, look.get("max_selections"))
    return list(where.multiselect(label, options, default=list(default), key=key, bind=ADDRESS, **look))


def count_chosen(key: str, options: Sequence[str]) -> int:
    """How many of the options a `multiselect` of this key will have on, for what is drawn before it."""
    _keep_all(key, options)
    stored = st.session_state.get(key, st.query_params.get_all(key) or options)
    names = [OLD_NAMES.get(part, part) for part in stored] if isinstance(stored, list | tuple) else []
    n_chosen = len(set(names) & set(options))
    return n_chosen if n_chosen or stored == [] else len(options)


def pills(label: str, options: Sequence[str], *, default: Sequence[str], key: str, **look: Any) -> list[str]:
    """Some of a few options that stand side by side; those that are no longer offered go."""
    _renew(key, options, OLD_NAMES, several=True)
    _keep_all(key, options)
    _leave_out(key, options, None)
    settings = {"selection_mode": "multi", "default": list(default), "key": key, "bind": ADDRESS}
    return list(HERE.pills(label, options, **settings, **look) or ())


def select_slider(
    label: str, options: Sequence[T], value: T, *, key: str, format_func: Callable[[T], str] = str, **look: Any
) -> T:
    """One of the options in their order, by a slider."""
    _forget(key, lambda stored: _among(stored, options))
    chosen = HERE.select_slider(label, options, value, format_func=_name(format_func), key=key, bind=ADDRESS, **look)
    return _one(chosen, options, value)


def slider(label: str, low: int, high: int, value: int, *, key: str, **look: Any) -> int:
    """A whole number from `low` to `high`, by a slider."""
    _forget(key, lambda stored: _is_within(stored, low, high))
    return int(HERE.slider(label, low, max(high, low + 1), value, key=key, bind=ADDRESS, **look))


def number_input(
    label: str, low: float, high: float, value: float | None, *, key: str, where: Any = HERE, **look: Any
) -> float | None:
    """A number from `low` to `high`, in a field; None where it may be left empty, as `value` then is, and was."""
    # Always a float: Streamlit makes an integer of what stands in the address before it looks whether that is one.
    ends, usual = (float(low), float(high)), None if value is None else float(value)
    _forget(key, lambda stored: (stored is None and usual is None) or _is_within(stored, *ends))
    found = where.number_input(label, *ends, usual, key=key, bind=ADDRESS, **look)
    if found is None or not _is_within(found, *ends):
        return None if found is None else usual
    return float(found)


def _renew(key: str, options: Sequence[Any], old: Mapping[str, str], several: bool) -> None:
    """Let an earlier link's name of an option, in the address or kept from it, stand for what it is called now."""
    stored = st.session_state.get(key, st.query_params.get_all(key))
    said = [stored] if isinstance(stored, str) else list(stored) if isinstance(stored, list | tuple) else []
    new = [old.get(part, part) if isinstance(part, str) and part not in options else part for part in said]
    if new != said and all(part in options for part in new):
        st.session_state[key] = new if several else new[0]


def _forget(key: str, fits: Callable[[Any], bool]) -> None:
    """Let a control start at its default where what it remembers does not fit."""
    if key in st.session_state and not fits(st.session_state[key]):
        del st.session_state[key]


def has_all(key: str) -> bool:
    """Whether a `multiselect` of this key has all of what it offered: then it leaves nothing out, and says nothing."""
    offered, stored = st.session_state.get(f"{key} offered"), st.session_state.get(key)
    return isinstance(stored, list | tuple) and bool(offered) and set(stored) >= set(offered or ())


def _keep_all(key: str, options: Sequence[str]) -> None:
    """Let a control that had all of what was offered before have all of what is offered now."""
    before, stored = st.session_state.get(f"{key} offered"), st.session_state.get(key)
    st.session_state[f"{key} offered"] = list(options)
    if before and before != list(options) and isinstance(stored, list | tuple) and set(stored) >= set(before):
        st.session_state[key] = list(options)


def _leave_out(key: str, options: Sequence[str], most: int | None) -> None:
    """Let a control of several values keep those that are offered; it starts at its default where none of them is."""
    if key not in st.session_state:
        return
    stored = st.session_state[key]
    kept = [part for part in stored if _among(part, options)] if isinstance(stored, list | tuple) else []
    too_many = most is not None and len(kept) > most
    if too_many or (not kept and stored != []):
        del st.session_state[key]
    elif len(kept) < len(stored):
        st.session_state[key] = kept


def _name(format_func: Callable[[T], str]) -> Callable[[Any], str]:
    """The name of an option; Streamlit also asks for that of a value which is none any more."""

    def name(value: Any) -> str:
        try:
            return format_func(value)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            return str(value)

    return name


def _among(value: Any, options: Iterable[Any]) -> bool:
    """Whether a value is one of the options and of its kind: True is not 1."""
    return any(type(value) is type(option) and value == option for option in options)


def _one(value: Any, options: Iterable[T], usual: T) -> T:
    """The value as one of the options; the usual one where it is none."""
    return next((option for option in options if _among(value, [option])), usual)


def _is_within(value: Any, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and low <= value <= high
