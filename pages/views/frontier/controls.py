"""What is asked on the Frontier page: fair between whom, which rule, which floors; all of it in the address."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.columns import CLASS
from engine.analysis.frontier.floors import FLOORS
from engine.analysis.groupings import CROSSED
from engine.analysis.unfairness import UNFAIRNESS
from engine.errors import PruneScopeError
from engine.store.validation import VALIDATION
from pages.shared import bound, formats
from pages.shared.cache.between import TEST, Between, example_columns, has_validation
from pages.shared.cache.points import operating
from pages.shared.frame import Frame, stop_with
from pages.shared.pickers import choose_axis
from pages.views.frontier.words import between_name, weight_text

WEIGHTS = [weight_text(10 ** (step / 10)) for step in range(-20, 31)]
BY_WEIGHT, BY_PROMISE, BY_THREE = "weight", "promise", "three objectives"
RULES = (BY_WEIGHT, BY_PROMISE, BY_THREE)
RULE_HELP = (
    "**Weight**: the best of sparsity − weight × unfairness. **Promise**: the sparsest network of which the floors "
    "surely hold (learn then test). **Three objectives**: as by weight, among networks that no other beats in "
    "sparsity, fairness and accuracy at once."
)
USUAL_LOSS, USUAL_WARNING, USUAL_RISK = 0.05, 5.0, 10.0
SPAN = 10.0
"""Points that the slider of a floor covers."""


@dataclass(frozen=True, eq=False)
class Question:
    """What somebody asks of the page."""

    between: Between
    """The groups, and the examples that choose."""
    points: pd.DataFrame
    """The operating points that are switched on, by what chooses."""
    tested: pd.DataFrame
    """The same rows by the test split, which is what is reported."""
    measure: str
    rule: str
    limits: Mapping[str, float]
    """The floors that are set, as shares."""
    weight: float
    second_weight: float | None
    risk: float
    """Of a broken promise."""
    warning: float
    """Loss of a group from which the page warns."""
    scale: str

    @property
    def group_limits(self) -> dict[str, float]:
        """The floors but for that of the whole accuracy."""
        return {name: limit for name, limit in self.limits.items() if name != "accuracy"}


def ask(frame: Frame) -> Question:
    """Draw the controls and say what they ask."""
    first, second, third = st.container(key="beside-asked").columns([5, 5, 6], gap="medium")
    between = choose_between(frame, first)
    points, tested = _points(frame, between)
    measure = _measure(points, between, second)
    rule = bound.segmented_control(
        "Rule", RULES, default=BY_WEIGHT, format_func=str.capitalize, key="rule", where=third, help=RULE_HELP
    )
    dense = points[points["level"] == 0]
    limits = {}
    with first:
        usual = 100 * (dense["accuracy"].mean() if len(dense) else points["accuracy"].max()) - 1
        set_to = floor_field("accuracy", points["accuracy"], "threshold", min(max(round(usual, 1), 0.0), 100.0), dense)
        limits["accuracy"] = (set_to or 0.0) / 100
    with second:
        weight, risk = _price(measure, rule)
    with third, st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("Floors for groups", help="No group below, no group loses more than.", width="content"):
            for name, key in (("lowest", "floor"), ("loss", "loss")):
                set_to = floor_field(name, points[name], key, None, dense)
                limits |= {} if set_to is None else {name: set_to / 100}
            warning = bound.number_input(
                "Warn of a group that loses more than (points)",
                0.0,
                100.0,
                USUAL_WARNING,
                key="warn",
                step=0.5,
                format="%.1f",
                help="Any group of any grouping, whatever the networks are fair between.",
            )
        two = st.toggle("Second weight", key="two", bind="query-params", help="Compare with another weight.")
    if rule == BY_PROMISE and not set(limits) & {"lowest", "loss"}:
        limits["loss"] = USUAL_LOSS
    with second:
        other = bound.select_slider("The second weight", WEIGHTS, "100", key="weight2") if two else None
    with third:
        scale = choose_axis("kept")
    return Question(
        between,
        points,
        tested,
        measure,
        rule,
        limits,
        float(weight),
        None if other is None else float(other),
        risk,
        (USUAL_WARNING if warning is None else warning) / 100,
        scale,
    )


def choose_between(frame: Frame, where: Any) -> Between:
    """Whom the networks should be fair between: classes, a column of the examples, or two of them crossed."""
    columns = example_columns(frame.source, frame.experiment)
    single = [(CLASS,), *((name,) for name in columns.groups)]
    crossed = [(one[0], other[0]) for one, other in combinations(single, 2)]
    options = {between_name(names): names for names in [*single, *((name,) for name in columns.members), *crossed]}
    chosen = bound.selectbox(
        "Fair between",
        list(options),
        key="fair",
        where=where,
        help="Whose accuracies should not lie apart. Groups with fewer than 20 examples are left out.",
    )
    split = VALIDATION if has_validation(frame.source, frame.experiment) else TEST
    return Between(frame.source, frame.experiment, options[chosen], split, frame.baseline)


def _points(frame: Frame, between: Between) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The points by what chooses and by the test split; stops where the groups' predictions cannot be read."""
    try:
        by_choice = frame.keep(operating(between, frame.baseline))
        by_test = by_choice if between.split == TEST else frame.keep(operating(between.on_test(), frame.baseline))
    except PruneScopeError as error:
        name = formats.plain(CROSSED.join(between.columns))
        stop_with(f"What networks say of {name} cannot be read.", formats.plain(error))
    return by_choice, by_test


def _measure(points: pd.DataFrame, between: Between, where: Any) -> str:
    grouping = CROSSED.join(between.columns)
    known = [key for key in UNFAIRNESS if points[key].notna().any()] or ["max_min"]
    text = "\n\n".join(
        f"**{row.label_between(grouping)}**: {row.help_between(grouping)}" for row in UNFAIRNESS.values()
    )
    names = {key: UNFAIRNESS[key].label_between(grouping) for key in known}
    return bound.selectbox("Unfairness", known, key="measure", format_func=names.__getitem__, where=where, help=text)


def _price(measure: str, rule: str) -> tuple[str, float]:
    """The weight, or the risk of a promise; the other one as it usually is."""
    if rule == BY_PROMISE:
        risk = bound.number_input(
            "Wrong with probability at most (%)",
            1.0,
            50.0,
            USUAL_RISK,
            key="risk",
            step=1.0,
            format="%.0f",
            help="How often, over draws of the examples, the promise may be broken.",
        )
        return "1", (USUAL_RISK if risk is None else risk) / 100
    unit = "1 point of gap" if formats.in_points(measure) else f"0.01 of {UNFAIRNESS[measure].label.lower()}"
    weight = bound.select_slider(
        f"{unit} is worth … points of sparsity",
        WEIGHTS,
        "1",
        key="weight",
        help="The price of fairness: value = sparsity − weight × unfairness. It is yours to set; no data can.",
    )
    return weight, USUAL_RISK / 100


def floor_field(name: str, numbers: pd.Series, key: str, usual: float | None, dense: pd.DataFrame) -> float | None:
    """A floor in percent or points, by a field and a slider that follow each other; None where it is not set.

    The slider covers ten points below the best and marks where the unpruned networks stand.
    """
    floor = FLOORS[name]
    unit = "%" if floor.is_least else "points"
    field: dict[str, Any] = {"step": 0.1, "format": "%.1f", "placeholder": "not set"}
    value = bound.number_input(
        f"{floor.label} ({unit})", -100.0 if not floor.is_least else 0.0, 100.0, usual, key=key, **field
    )
    known = floor.factor * numbers.dropna().to_numpy(float)
    if not len(known):
        return value
    low, high = slider_ends(known, floor.is_least, value)
    slide = f"{key}-slide"
    start = low if floor.is_least else high
    st.session_state[slide] = round(float(np.clip(start if value is None else value, low, high)), 1)

    def follow() -> None:
        st.session_state[key] = round(float(st.session_state[slide]), 1)

    look: dict[str, Any] = {"format": "%.1f", "label_visibility": "collapsed", "on_change": follow}
    st.slider(f"{floor.label}, by slider", low, high, step=0.1, key=slide, **look)
    before = floor.factor * dense[floor.column].mean() if len(dense) else np.nan
    if low <= before <= high:
        st.html(_tick((before - low) / (high - low), f"dense {before:.1f}"))
    return value


def slider_ends(numbers: np.ndarray, is_least: bool, value: float | None) -> tuple[float, float]:
    """Ends of a floor's slider: ten points below the best to the best, further where the value is."""
    if is_least:
        high = np.floor(10 * numbers.max() + 1e-9) / 10
        ends = max(high - SPAN, 0.0), high
    else:
        low = np.ceil(10 * numbers.min() - 1e-9) / 10
        ends = low, low + SPAN
    low, high = (round(float(end), 1) for end in ends)
    if value is not None:
        low, high = min(low, value), max(high, value)
    return low, high if high > low else low + 0.1


def _tick(share: float, text: str) -> str:
    """A mark under a slider, at this share of its track."""
    side = "left" if share < 0.5 else "right"
    place = f"{100 * (share if side == 'left' else 1 - share):.1f}%"
    arrow = f"▲ {text}" if side == "left" else f"{text} ▲"
    return (
        '<div style="position:relative;height:1rem;margin-top:-1.1rem;font-size:.75rem;opacity:.8">'
        f'<span style="position:absolute;{side}:{place};white-space:nowrap">{arrow}</span></div>'
    )
