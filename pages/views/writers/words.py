"""What the Writers page says of its members, who may be those of any grouping, and its tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.curves.working_levels import WORKING
from engine.analysis.members.accuracy import MemberFacts, nesting_columns
from engine.analysis.members.lines import FULL
from engine.analysis.members.slopes import WITHIN, SlopeChange
from engine.analysis.members.splines import Curve
from engine.analysis.members.spread import typical_half_width
from pages.shared import formats
from pages.shared.charts.style import GROUPS
from pages.shared.names import group_name

SIGNIFICANT = 0.05
SMALL = 30
"""Below this many examples a member's rate is marked as shaky."""

TAKEN = (
    "n",
    "before",
    "after",
    "change",
    *(f"{moment}_{end}" for moment in ("before", "after") for end in ("low", "high")),
)
"""Names of columns that the table of members has of its own; an example's column of such a name is left out."""

DIGITS = ("digits", "mnist", "qmnist", "svhn")

ATTRIBUTES = {
    "tilt": ("tilt", "how far strokes lean; 0 is upright, positive leans left"),
    "abs_tilt": ("slant", "how far strokes lean, to either side; 0 is upright. The paper's absolute tilt"),
    "activation": ("activation", "mean brightness of the image, 0 to 1: how much ink"),
    "distance": ("distance", "how far the image is from the mean training image of its class"),
    "entropy": ("entropy", "how varied the pixel values are, in bits"),
}

SIDE_BY_SIDE = ("abs_tilt", "activation", "distance")
"""Attributes that are drawn beside each other where the examples have them."""

LINES = {
    "intercept_before": "intercept before",
    "slope_before": "slope before",
    "intercept_after": "intercept after",
    "slope_after": "slope after",
}
NAMES = {FULL: "all", WITHIN: "all, within"}
"""Heads of the lines that are of no one series."""

WITHIN_HELP = f"“{NAMES[WITHIN]}” is one slope for all, with a level of its own for each group beside it. "

PAPER = {
    "hsf0": (0.988, -0.025, 0.854, -0.296),
    "hsf1": (0.983, -0.008, 0.831, -0.237),
    "hsf4": (0.974, -0.084, 0.771, -0.295),
    "all": (0.973, 0.006, 0.784, -0.138),
}
PAPER_SOURCE = (
    "Paganini 2020, *Prune Responsibly*, Table 1: accuracy on |tilt|, LeNet on QMNIST, global magnitude, "
    "rewind (restart), 98.6 % sparsity, 30 epochs a level. It prints no standard errors. Protocol, split and seeds "
    "here may differ, so compare the direction, not the digits."
)


@dataclass(frozen=True)
class Words:
    """How the members are called here: "writer", "writers", "digits"."""

    member: str
    members: str
    examples: str


@dataclass(frozen=True)
class NetworkLabel:
    """What is looked at: the network in words, its sparsity, the seeds behind it."""

    network: str
    sparsity: float
    n_seeds: int
    seed: int | None
    """The one seed that was asked for; None for the mean."""

    @property
    def seeds(self) -> str:
        """ "average of 3 training runs" or "seed 2 alone"."""
        if self.seed is not None:
            return f"seed {self.seed} alone"
        return f"average of {formats.seeds(self.n_seeds)}" if self.n_seeds > 1 else "one training run"


def series_columns(members: pd.DataFrame) -> list[str]:
    """Groups that the members lie in, few enough to colour: columns of `member_accuracy` before n."""
    return nesting_columns(members, len(GROUPS))


def attribute_label(name: str) -> str:
    """An attribute's name for people."""
    return ATTRIBUTES[name][0] if name in ATTRIBUTES else name.replace("_", " ")


def shown_attributes(known: Sequence[str]) -> list[str]:
    """The attributes that are drawn beside each other: the usual three, or the first three that there are."""
    usual = [name for name in SIDE_BY_SIDE if name in known]
    return usual or list(known)[: len(SIDE_BY_SIDE)]


def member_words(member: str, dataset: str) -> Words:
    """What members and examples are called."""
    name = member.replace("_", " ")
    ending = "es" if name.endswith(("s", "x", "ch", "sh")) else "s"
    return Words(name, f"{name}{ending}", "digits" if dataset in DIGITS else "examples")


def worst_sentence(facts: MemberFacts, worst: str, moment: NetworkLabel, of: Words, where: str = "") -> str:
    """What the average member and the one hit hardest lose; `where` is the worst member's series."""
    if facts.worst is None:
        return ""
    member = formats.plain(of.member)
    place = f"{formats.plain(where)}; " if where else ""
    few = ", too few to trust" if (facts.worst_n or 0) < SMALL else ""
    who = f"**{member} {formats.plain(worst)}** ({place}{formats.count(facts.worst_n or 0)} {of.examples}{few})"
    return (
        f"At {formats.sparsity(moment.sparsity)} sparsity ({moment.network}, {moment.seeds}) the average {member} goes "
        f"from {formats.percent(facts.mean_before)} to {formats.percent(facts.mean_after)}. Hit hardest: {who}, from "
        f"{formats.percent(facts.worst_before or 0)} to {formats.percent(facts.worst_after or 0)}."
    )


def slope_sentence(changes: Sequence[SlopeChange], attribute: str, step: float, series: str) -> str:
    """Whether more of the attribute goes with more loss: within series where there are several, each apart, pooled."""
    full, inside = changes[-1], next((row for row in changes if row.group == WITHIN and not row.reason), None)
    each = [row for row in changes[:-1] if row.group != WITHIN]
    name, kind = formats.plain(attribute_label(attribute)), formats.plain(series.replace("_", " "))
    change = inside or full
    if change.reason:
        return f"Whether more {name} goes with more loss cannot be told: {change.reason}."
    within = f", within one {kind}" if inside else ""
    text = f"{_slope_verdict(change, name, step)}{within}."
    if len(each) > 1:
        apart = "; ".join(f"{formats.plain(group_name(series, row.group))} {loss_words(row, step)}" for row in each)
        text += f" Points more lost, each {kind} apart: {apart}."
    if inside and not inside.low <= full.slope_change <= inside.high:
        text += f" Do not pool the {kind}: they differ in both {name} and loss (Simpson's paradox)."
    return text


def slope_title(changes: Sequence[SlopeChange], attribute: str) -> str:
    """What the small charts show of the attribute that was asked for; markdown."""
    name = formats.plain(attribute_label(attribute))
    change = next((row for row in changes if row.group == WITHIN and not row.reason), changes[-1])
    if change.reason or change.low <= 0 <= change.high:
        return f"Whether more {name} goes with more loss is open"
    return f"More {name} goes with {'more' if change.slope_change < 0 else 'less'} loss"


def scatter_title(table: pd.DataFrame, of: Words) -> str:
    """What before against after shows; markdown."""
    n = int((table["change"] < 0).sum())
    return f"{formats.count(n)} of {formats.count(len(table))} {formats.plain(of.members)} lose accuracy"


def loss_words(change: SlopeChange, step: float) -> str:
    """Points more lost per step with the 95 % interval, as "0.6 (0.2 to 0.9)"; its reason where it is unknown."""
    if change.reason:
        return f"unknown ({change.reason})"
    middle, low, high = (f"{-100 * step * end:z.1f}" for end in (change.slope_change, change.high, change.low))
    return f"{middle} ({low} to {high})"


def _slope_verdict(change: SlopeChange, name: str, step: float) -> str:
    """Which way the loss goes with the attribute, and how far; nobody is told a direction that is open."""
    more = f"each extra {formats.number(step)} of {name}"
    if change.low <= 0 <= change.high:
        low, high = (f"{-100 * step * end:+z.1f}" for end in (change.high, change.low))
        return f"**Whether more {name} goes with more loss is open**: {more} changes the loss by {low} to {high} points"
    size, near, far = (100 * step * abs(end) for end in (change.slope_change, change.low, change.high))
    direction, verb = ("more", "costs another") if change.slope_change < 0 else ("less", "saves")
    return (
        f"**More {name} goes with {direction} loss**: {more} {verb} {size:.1f} points after pruning "
        f"({min(near, far):.1f} to {max(near, far):.1f})"
    )


def curve_sentence(curve: Curve, attribute: str) -> str:
    """Whether a straight line serves, or both too little and too much of the attribute go with loss."""
    name = formats.plain(attribute_label(attribute))
    if curve.reason:
        return f"Whether the effect of {name} is straight cannot be told: {curve.reason}."
    p = formats.p_value(curve.p_bend)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    if curve.p_bend < SIGNIFICANT:
        return f"**The effect of {name} is no straight line** ({p}): follow the curve in the chart, not the lines."
    return f"A curve fits no better than a straight line ({p})."


def change_words(change: SlopeChange, step: float) -> str:
    """A change of slope with its 95 % interval, in points per step; its reason where it is unknown."""
    if change.reason:
        return f"unknown ({change.reason})"
    low, high = (formats.points(step * end, 2).removesuffix(" pt") for end in (change.low, change.high))
    return f"{formats.points(step * change.slope_change, 2)} (95 %: {low} to {high})"


def cautions(moment: NetworkLabel, n_missing: int, working: str, training: str) -> list[str]:
    """What the reader must know before believing the sentence: a broken network, one that trained longer, few seeds."""
    texts = []
    if working:
        texts.append(
            f"At this sparsity the network no longer works: it keeps less than {formats.percent(WORKING, 0)} of its "
            f"dense accuracy. What is left says little about who loses; look at {working} or below."
        )
    if training:
        texts.append(training)
    if moment.n_seeds == 1:
        texts.append("One training run only: another start may hit others.")
    if n_missing:
        texts.append(f"{n_missing} more training run{'s' if n_missing > 1 else ''} did not get this far.")
    return texts


def scatter_caution(table: pd.DataFrame, of: Words, n_left_out: int) -> str:
    """How far to trust one point."""
    members, n = formats.plain(of.members), formats.count(float(table["n"].median()))
    text = (
        f"Each dot is accurate to about ± {100 * typical_half_width(table):.0f} points (95 %, about {n} {of.examples} "
        f"each); the worst of {formats.count(len(table))} is partly chance."
    )
    n_small = int((table["n"] < SMALL).sum())
    if n_small:
        text += f" Hollow: fewer than {SMALL} {of.examples} ({formats.count(n_small)} {members})."
    if n_left_out:
        text += f" {formats.count(n_left_out)} {members} are left out by the filters."
    return text


def table_one(changes: pd.DataFrame, series: str = "") -> pd.DataFrame:
    """Lines before and after and the test of their change, a column per series: estimate (standard error)."""
    columns = {"": ["n", *LINES.values(), "change of slope", "95 % interval", "p"]}
    for row in changes.to_dict("records"):
        name = NAMES.get(row["group"], group_name(series, str(row["group"])))
        columns[name] = [
            formats.count(row["n"]),
            *(_estimate(row[key], row[f"{key}_se"]) for key in (*LINES, "slope_change")),
            row["reason"] or f"{formats.fixed(row['low'])} to {formats.fixed(row['high'])}",
            formats.p_value(row["p"]),
        ]
    return pd.DataFrame(columns)


def paper_table() -> pd.DataFrame:
    """The paper's Table 1 in the same form."""
    return pd.DataFrame({"": list(LINES.values())} | {name: map(formats.fixed, row) for name, row in PAPER.items()})


def hardest_table(
    top: pd.DataFrame, member: str, series: str | None, attribute: str | None, of: Words
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The members that lose most as a table with bars, and how its columns are drawn."""
    table = pd.DataFrame({of.member: top[member].astype(str)})
    if series:
        table[series.replace("_", " ")] = [group_name(series, str(name)) for name in top[series]]
    table["n"] = [formats.count(n) + (" (few)" if n < SMALL else "") for n in top["n"]]
    table["loses (pt)"] = -100 * top["change"]
    table["before"] = 100 * top["before"]
    table["after"] = [
        f"{formats.percent(row['after'])} {formats.plus_minus(row['after_low'], row['after_high'])}".strip()
        for _, row in top.iterrows()
    ]
    if attribute:
        table[attribute_label(attribute)] = top[attribute].map(formats.number)
    most = max(float(table["loses (pt)"].max()), 1.0) if len(table) else 1.0
    column = st.column_config
    return table, {
        "n": column.TextColumn(width=50),
        "before": column.NumberColumn(format="%.1f %%", width=70),
        "after": column.TextColumn(help="With its 95 % interval.", width=110),
        "loses (pt)": column.ProgressColumn(format="%.1f", min_value=0, max_value=most, color="orange", width=120),
    }


def _estimate(value: float, se: float) -> str:
    return formats.MISSING if np.isnan(value) else f"{formats.fixed(value)} ({formats.fixed(se)})"
