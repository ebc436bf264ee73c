"""Whether members differ more than chance makes them, in words."""

from engine.analysis.members.accuracy import MemberFacts
from engine.analysis.members.permutation import Permuted
from pages.shared import formats
from pages.views.writers.words import SIGNIFICANT, Words

CERTAIN = 0.01
"""A p below this is told as being below it: a few hundred draws know it no better."""


def count_sentence(facts: MemberFacts, dealt: Permuted, of: Words) -> str:
    """How many members lose more than the mean one, beside what chance gives; markdown."""
    member, members = formats.plain(of.member), formats.plain(of.members)
    if facts.worst is None:
        return f"**No {member} can be compared**: {facts.reason}."
    text = (
        f"**{formats.count(facts.n_losing)} of {formats.count(facts.n_members)} {members} lose at least "
        f"{formats.points_in_words(facts.loss, 0)} more than the average {member}**"
    )
    return f"{text}." if dealt.reason else f"{text}; chance would give {losing_by_chance(dealt)}."


def chance_sentence(dealt: Permuted, facts: MemberFacts, of: Words, within: str = "") -> str:
    """The members beside random permutations of their examples, which stay within a class and `within`; markdown."""
    members = formats.plain(of.members)
    if dealt.reason:
        return f"Whether {members} differ more than by chance cannot be said: {dealt.reason}."
    p = f"p < {CERTAIN:g}" if dealt.p < CERTAIN else f"p = {dealt.p:.2f}"
    verdict = (
        f"**{members.capitalize()} differ more than by chance**: losses vary {formats.times(dealt.spread)} as much "
        f"between {members} as chance explains ({p})."
        if dealt.p < SIGNIFICANT
        else f"**{members.capitalize()} may differ by chance alone** ({p})."
    )
    worst = (facts.worst_before or 0.0) - (facts.worst_after or 0.0)
    kind = f" and {formats.plain(within.replace('_', ' '))}" if within else ""
    return (
        f"{verdict} By chance alone {losing_by_chance(dealt)} {members} would lose that much, and the worst would lose "
        f"{worst_by_chance(dealt)}, not {100 * worst:.1f}. Chance: {formats.count(dealt.n_draws)} times, {of.examples} "
        f"of one class{kind} change hands at random."
    )


def losing_by_chance(dealt: Permuted) -> str:
    """How many members lose by chance alone: "46 to 63"."""
    return _between(formats.count(dealt.losing_low), formats.count(dealt.losing_high))


def worst_by_chance(dealt: Permuted) -> str:
    """What the one hit hardest loses by chance alone: "7.2 to 10.1 points"."""
    low, high = (f"{-100 * value:.1f}" for value in (dealt.worst_high, dealt.worst_low))
    return f"{_between(low, high)} points"


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
