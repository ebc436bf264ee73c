"""What is asked on the Frontier page: fair between whom, which rule, which floors; all of it in the address."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.binary_rates import BINARY_RATES, MEASURES
from engine.analysis.columns import CLASS
from engine.analysis.frontier.floors import FLOORS, allowed
from engine.analysis.groupings import CROSSED
from engine.errors import PruneScopeError
from engine.store.validation import VALIDATION
from pages.shared import bound, formats
from pages.shared.cache.between import TEST, Between, example_columns, has_validation
from pages.shared.cache.catalog import class_names
from pages.shared.cache.kept import kept
from pages.shared.cache.points import operating
from pages.shared.frame import Frame, stop_with
from pages.views.frontier.axes import AXES, known_axes
from pages.views.frontier.floor_fields import FloorFacts, floor_facts, floor_field
from pages.views.frontier.words import between_name, weight_text

WEIGHTS = [weight_text(10 ** (step / 10)) for step in range(-20, 31)]
BY_WEIGHT, BY_PROMISE, BY_THREE = "weight", "promise", "three objectives"
RULES = (BY_WEIGHT, BY_PROMISE, BY_THREE)
RULE_HELP = (
    "**Weight**: the best of sparsity − weight × unfairness. **Promise**: the sparsest network of which the floors "
    "surely hold (learn then test). **Three objectives**: as by weight, among networks that no other beats in "
    "sparsity, fairness and accuracy at once."
)
AXIS_HELP = (
    "Most happens beyond 90 % sparsity; the log scale of the weights kept gives it room. Multiplications, bytes, "
    "milliseconds, bits and parameters are offered where runs recorded them; the rule looks at sparsity whatever the "
    "axis is."
)
USUAL_LOSS, USUAL_WARNING, USUAL_RISK = 0.05, 5.0, 10.0
FLOOR_KEYS = {
    "accuracy": "threshold",
    "lowest": "floor",
    "loss": "loss",
    "bytes": "kb",
    "zipped": "zip",
    "macs": "macs",
    "milliseconds": "ms",
}
"""Names of the floors in the address."""


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
    filters: tuple[Hashable, ...] = ()
    """What is switched on in the frame, and what networks are compared with."""

    @property
    def key(self) -> tuple[Hashable, ...]:
        """All that the answer depends on, but how it is drawn."""
        limits = tuple(sorted(self.limits.items()))
        rule = (self.measure, self.rule, limits, self.weight, self.second_weight, self.risk, self.warning)
        return self.between, self.filters, rule

    @property
    def group_limits(self) -> dict[str, float]:
        """The floors but for that of the whole accuracy."""
        return {name: limit for name, limit in self.limits.items() if name != "accuracy"}

    @property
    def allowed(self) -> np.ndarray:
        """True where a point keeps these."""
        return allowed(self.points, self.group_limits)


def ask(frame: Frame) -> Question:
    """Draw the controls and say what they ask."""
    first, floor, second, third = st.container(key="beside-asked").columns([8, 8, 11, 13], gap="medium")
    between = choose_between(frame, first)
    filters = (frame.techniques, frame.treatments, frame.baseline)
    points, tested, facts = _points(frame, between, filters)
    measure = _measure(points, between, first)
    rule = bound.segmented_control(
        "Rule", RULES, default=BY_WEIGHT, format_func=str.capitalize, key="rule", where=third, help=RULE_HELP
    )
    limits = {}
    with floor:
        known = facts["accuracy"]
        usual = (known.most if np.isnan(known.dense) else known.dense) - 1
        start = min(max(round(usual, 1), 0.0), 100.0)
        set_to = floor_field("accuracy", known, "threshold", start, (frame.name, frame.experiment))
        limits["accuracy"] = (set_to or 0.0) / 100
    with second:
        weight, risk = _price(measure, rule)
    with second, st.container(horizontal=True, vertical_alignment="bottom"):
        floors, warning = _floors(facts)
        limits |= floors
        two = st.toggle("Second weight", key="two", bind="query-params", help="Another stakeholder, another weight.")
    if rule == BY_PROMISE and not set(limits) & {"lowest", "loss"}:
        limits["loss"] = USUAL_LOSS
    with second:
        other = bound.select_slider("The second weight", WEIGHTS, "100", key="weight2") if two else None
    with third:
        scale = bound.selectbox(
            "Axis", known_axes(points), format_func=AXES.__getitem__, key="axis", help=AXIS_HELP, width=240
        )
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
        warning / 100,
        scale,
        filters,
    )


def _floors(facts: Mapping[str, FloorFacts]) -> tuple[dict[str, float], float]:
    """The floors that are set but that of accuracy, as shares, and the loss from which the page warns, in points.

    Their fields are drawn while they are folded out, and where one of them is set.
    """
    fold = st.popover(
        "Floors",
        help="For groups; and for size and speed, where measured.",
        width="content",
        key="floors",
        on_change="rerun",
    )
    others = {name: FLOOR_KEYS[name] for name in facts if name != "accuracy"}
    if not fold.open and not any(map(_is_set, others.values())) and not _is_set("warn", USUAL_WARNING):
        return {}, USUAL_WARNING
    limits: dict[str, float] = {}
    with fold:
        for name, key in others.items():
            set_to = floor_field(name, facts[name], key, None)
            limits |= {} if set_to is None else {name: set_to / FLOORS[name].factor}
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
    return limits, USUAL_WARNING if warning is None else warning


def _is_set(key: str, usual: float | None = None) -> bool:
    """Whether a control that may not be drawn has a value of its own, in this session or in the address."""
    return key in st.query_params or st.session_state.get(key, usual) != usual


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


Asked = tuple[pd.DataFrame, pd.DataFrame, dict[str, FloorFacts]]


def _points(frame: Frame, between: Between, filters: tuple[Hashable, ...]) -> Asked:
    """The points by what chooses and by the test split, and what floors can be set to; stops where the groups'
    predictions cannot be read."""

    def made() -> Asked:
        by_choice = frame.keep(operating(between, frame.baseline))
        by_test = by_choice if between.split == TEST else frame.keep(operating(between.on_test(), frame.baseline))
        return by_choice, by_test, floor_facts(by_choice)

    try:
        return kept(frame.source, "frontier points", (between, filters), made)
    except PruneScopeError as error:
        name = formats.plain(CROSSED.join(between.columns))
        stop_with(f"What networks say of {name} cannot be read.", formats.plain(error))


def _measure(points: pd.DataFrame, between: Between, where: Any) -> str:
    grouping = CROSSED.join(between.columns)
    known = [key for key in MEASURES if key in points and points[key].notna().any()] or ["max_min"]
    names = {key: MEASURES[key].label_between(grouping) for key in known}
    text = "\n\n".join(f"**{names[key]}**: {MEASURES[key].help_between(grouping)}" for key in known)
    if set(known) & set(BINARY_RATES):
        text += f"\n\nPositive is {formats.plain(class_names(between.source, between.experiment).get(1, '1'))}."
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
    unit = "1 pt of gap" if formats.in_points(measure) else f"0.01 of {MEASURES[measure].label.lower()}"
    weight = bound.select_slider(
        f"{unit} is worth … pt of sparsity",
        WEIGHTS,
        "1",
        key="weight",
        help="The price of fairness: value = sparsity − weight × unfairness. It is yours to set; no data can.",
    )
    return weight, USUAL_RISK / 100
