"""What the kept mixed logit says of the members: how many surely lose, whether they differ, the attribute's effect."""

import math

from engine.errors import PruneScopeError
from engine.store.analyses import KeptAnalysis, mixed_logit_spec, read_analysis
from engine.store.study import examples_name
from pages.shared import formats
from pages.shared.frame import Frame
from pages.shared.pickers import ExampleSet
from pages.views.writers.controls import MemberView, NetworkPair
from pages.views.writers.words import SIGNIFICANT, Words, attribute_label

NOT_KEPT = (
    "How many surely lose is not computed for this choice: `python -m engine analyse --study STUDY` does, once, for "
    "the average of all training runs."
)


def kept_sentence(frame: Frame, example_set: ExampleSet, compared: NetworkPair, shown: MemberView) -> str:
    """The mixed logit in words where the study keeps one for what is shown; else how to get it; markdown."""
    columns = (shown.grouping, shown.attribute, shown.series)
    spec = mixed_logit_spec(examples_name(example_set.spec), columns, compared.before, compared.after)
    try:
        kept = read_analysis(frame.source.study, spec)
    except PruneScopeError as error:
        return formats.plain(error)
    return NOT_KEPT if kept is None else mixed_sentence(kept, shown.of)


def mixed_sentence(kept: KeptAnalysis, of: Words) -> str:
    """How many members surely lose more than the mean one, whether pruning treats them alike, and the slope."""
    facts, member, members = kept.facts, formats.plain(of.member), formats.plain(of.members)
    differ = facts["p_differ"] < SIGNIFICANT
    text = (
        f"**{formats.count(facts['n_surely_more'])} of {formats.count(facts['n_members'])} {members} surely lose more "
        f"than the average {member}**: their 95 % intervals, each pulled to what all have in common, lie above it. "
        f"{'Pruning treats' if differ else 'It is open whether pruning treats'} {members} differently beyond class, "
        f"group and attribute ({_p(facts['p_differ'])})."
    )
    if math.isnan(facts["step"]):
        return text
    name = formats.plain(attribute_label(str(kept.spec["attribute"])))
    middle, low, high = (f"{100 * facts[key]:z.1f}" for key in ("slope", "slope_low", "slope_high"))
    return f"{text} {formats.number(facts['step'], 2)} more {name} costs another {middle} points ({low} to {high})."


def _p(value: float) -> str:
    text = formats.p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
