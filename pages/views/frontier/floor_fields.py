"""A floor on the Frontier: a number field with a slider, and a tick where the unpruned networks stand."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.frontier.floors import FLOORS, Floor
from engine.analysis.frontier.points import usual_dense
from pages.shared import bound

SPAN = 10.0
"""Points that the slider of a floor covers."""


@dataclass(frozen=True)
class FloorFacts:
    """What the networks have of what a floor bounds, in the floor's unit."""

    least: float
    most: float
    dense: float
    """Mean of the unpruned networks, of those trained as usual where there are any; NaN without."""


def floor_facts(points: pd.DataFrame) -> dict[str, FloorFacts]:
    """The floors that can be set on these points."""
    dense, facts = usual_dense(points).to_numpy(), {}
    for name, floor in FLOORS.items():
        numbers = floor.factor * points[floor.column].to_numpy(float)
        known = np.isfinite(numbers)
        if known.any():
            before = float(numbers[known & dense].mean()) if (known & dense).any() else np.nan
            facts[name] = FloorFacts(float(numbers[known].min()), float(numbers[known].max()), before)
    return facts


def floor_field(name: str, facts: FloorFacts, key: str, usual: float | None, asked_of: Hashable = None) -> float | None:
    """A floor in its unit, by a field and a slider that follow each other; None where it is not set.

    One that was set for other runs than `asked_of`, and that none of these reaches, is forgotten.

    The slider covers ten points below the best and marks where the unpruned networks stand; that of a cost covers all
    networks.
    """
    floor = FLOORS[name]
    digits = _digits(facts.most) if floor.is_cost else 1
    step, form = 10.0**-digits, f"%.{digits}f"
    ends = (0.0, 1e6) if floor.is_cost else (0.0 if floor.is_least else -100.0, 100.0)
    if f"{key} of" in st.session_state and st.session_state[f"{key} of"] != asked_of and _misses(floor, facts, key):
        del st.session_state[key]
    st.session_state[f"{key} of"] = asked_of
    field: dict[str, Any] = {"step": step, "format": form, "placeholder": "not set"}
    value = bound.number_input(f"{floor.label} ({floor.unit})", *ends, usual, key=key, **field)
    low, high = slider_ends(floor, facts, value, digits)
    slide = f"{key}-slide"
    start = low if floor.is_least else high
    st.session_state[slide] = round(float(np.clip(start if value is None else value, low, high)), digits)

    def follow() -> None:
        st.session_state[key] = round(float(st.session_state[slide]), digits)

    look: dict[str, Any] = {"format": form, "label_visibility": "collapsed", "on_change": follow}
    st.slider(f"{floor.label}, by slider", low, high, step=step, key=slide, **look)
    if low <= facts.dense <= high:
        st.html(_tick((facts.dense - low) / (high - low), f"dense {facts.dense:.{digits}f}"))
    return value


def _misses(floor: Floor, facts: FloorFacts, key: str) -> bool:
    """Whether a floor is set that no network keeps."""
    value = st.session_state.get(key)
    if not isinstance(value, int | float):
        return False
    return value > facts.most + 1e-9 if floor.is_least else value < facts.least - 1e-9


def slider_ends(floor: Floor, facts: FloorFacts, value: float | None, digits: int = 1) -> tuple[float, float]:
    """Ends of a floor's slider: ten points below the best to the best, further where the value is; all of a cost."""
    scale = 10**digits
    least, most = np.ceil(scale * facts.least - 1e-9) / scale, np.floor(scale * facts.most + 1e-9) / scale
    if floor.is_cost:
        ends = least, np.ceil(scale * facts.most - 1e-9) / scale
    else:
        ends = (max(most - SPAN, 0.0), most) if floor.is_least else (least, least + SPAN)
    low, high = (round(float(end), digits) for end in ends)
    if value is not None:
        low = min(low, round(float(np.floor(scale * value + 1e-9)) / scale, digits))
        high = max(high, round(float(np.ceil(scale * value - 1e-9)) / scale, digits))
    return low, high if high > low else round(low + 1 / scale, digits)


def _digits(most: float) -> int:
    """Digits after the point that give a slider up to so much some hundred steps."""
    return int(np.clip(np.ceil(2.6 - np.log10(max(most, 1e-4))), 0, 4))


def _tick(share: float, text: str) -> str:
    """A mark under a slider, at this share of its track."""
    side = "left" if share < 0.5 else "right"
    place = f"{100 * (share if side == 'left' else 1 - share):.1f}%"
    arrow = f"▲ {text}" if side == "left" else f"{text} ▲"
    return (
        '<div style="position:relative;height:1rem;margin-top:-1.1rem;font-size:.75rem;opacity:.8">'
        f'<span style="position:absolute;{side}:{place};white-space:nowrap">{arrow}</span></div>'
    )
