"""Whether members differ more than chance makes them, in words."""

from engine.analysis.members.accuracy import MemberFacts
from engine.analysis.members.permutation import Permuted
from pages.shared import formats
from pages.views.writers.words import Words

SIGNIFICANT = 0.05
CERTAIN = 0.01
"""A p below this is told as being below it: a few hundred deals know it no better."""


def chance_sentence(dealt: Permuted, facts: MemberFacts, of: Words) -> str:
    """The members beside random deals of their examples; markdown."""
    member, members = formats.plain(of.member), formats.plain(of.members)
    if dealt.reason:
        return f"Whether {members} differ more than by chance cannot be said: {dealt.reason}."
    p = f"p < {CERTAIN:g}" if dealt.p < CERTAIN else f"p = {dealt.p:.2f}"
    verdict = (
        f"**{members.capitalize()} differ more than by chance**: their changes spread {formats.times(dealt.spread)} as "
        f"wide as chance would spread them ({p})."
        if dealt.p < SIGNIFICANT
        else f"**{members.capitalize()} may differ by chance alone** ({p})."
    )
    return (
        f"{verdict} If it did not matter which {member} {of.examples} are from, {losing_by_chance(dealt)} "
        f"{members} would lose more than {formats.points_in_words(facts.loss, 0)}, and the one hit hardest "
        f"{worst_by_chance(dealt)}."
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
