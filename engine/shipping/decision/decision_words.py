"""How a decision record writes numbers, rules and people."""

import math

from engine.datasets.dataset_table import DATASETS
from engine.import_path import object_name
from engine.networks.network_table import NETWORKS
from engine.shipping.decision.decision_facts import GroupFacts, Number, PointFacts, RecordFacts
from engine.store.records.decisions import Decision, Event

MISSING = "—"
NOT_STATED = "Not stated."


def percent(value: float | None, digits: int = 1) -> str:
    """A share as "97.3 %"."""
    return MISSING if value is None else f"{100 * value:.{digits}f} %"


def sparsity(value: float | None) -> str:
    """A sparsity with enough digits to tell levels apart."""
    if value is None:
        return MISSING
    digits = max(1, min(4, -math.floor(math.log10(1 - value)))) if value < 1 else 0
    return percent(value, digits)


def points(value: float | None, sign: bool = False) -> str:
    """A difference of shares as "3.2 points"."""
    return MISSING if value is None else f"{100 * value:{'+' if sign else ''}z.1f} points"


def in_unit(value: float | None, unit: str) -> str:
    """A number in its unit."""
    if value is None:
        return MISSING
    return percent(value) if unit == "share" else points(value) if unit == "points" else f"{value:.3g}"


def number_text(number: Number) -> str:
    """A number with its interval: "96.1 % (95.8 % to 96.4 %)"."""
    text = sparsity(number.value) if number.key == "sparsity" else in_unit(number.value, number.unit)
    if number.low is None or number.high is None:
        return text
    if number.unit == "points":
        return f"{text} ({100 * number.low:.1f} to {100 * number.high:.1f})"
    return f"{text} ({in_unit(number.low, number.unit)} to {in_unit(number.high, number.unit)})"


def after_text(row: GroupFacts) -> str:
    """A group's accuracy after, with its interval."""
    text = percent(row.after)
    return text if row.low is None or row.high is None else f"{text} ({100 * row.low:.1f} to {100 * row.high:.1f})"


def unfairness_text(record: RecordFacts, value: float | None) -> str:
    """An unfairness in the unit of the record's measure."""
    return in_unit(value, "points" if record.chart.unfairness_in_points else "number")


def rule_text(record: RecordFacts) -> str:
    """The rule in a sentence or two."""
    rule, in_points = record.rule, record.chart.unfairness_in_points
    between = rule.fair_between[:1].lower() + rule.fair_between[1:]
    floors = f"Floors: {'; '.join(rule.floor_texts)}." if rule.floor_texts else "No floor was set."
    if rule.name == "promise":
        surely = "surely" if rule.risk is None else f"but for a risk of {percent(rule.risk, 0)}"
        how = f"The sparsest network of which the floors hold {surely} (learn then test)"
    else:
        price = "1 point of gap" if in_points else "0.01 of unfairness"
        among = ", among networks that none beats in sparsity, fairness and accuracy" * (rule.name != "weight")
        how = (
            f"The highest sparsity less the price of unfairness: {price} is worth {rule.weight:g} points of sparsity"
            f"{among}"
        )
    return (
        f"{how}. Unfairness is {rule.measure_label}, between {between}. {floors} Chosen on the {rule.chosen_on} split, "
        f"reported on the {rule.reported_on} split."
    )


def stakeholder_text(record: RecordFacts, with_numbers: bool = True) -> str:
    """What two stakeholders would choose, and the compromise; empty where one weight was asked."""
    facts = record.stakeholders
    if facts is None:
        return ""
    first, second = facts.both

    def named(point: PointFacts) -> str:
        return f"{point.name} ({point_numbers(record, point)})" if with_numbers else point.name

    if facts.agree:
        return f"Two stakeholders: weights {first.weight:g} and {second.weight:g} would both ship {first.choice.name}."
    text = (
        f"Two stakeholders: weight {first.weight:g} would ship {named(first.choice)}, weight {second.weight:g} "
        f"{named(second.choice)}."
    )
    if facts.compromise is None or first.cost is None or second.cost is None:
        return f"{text} No network between the two costs both less."
    return (
        f"{text} Compromise: {named(facts.compromise)}, which costs them {percent(first.cost, 0)} and "
        f"{percent(second.cost, 0)} of what they would lose if the other one chose."
    )


def point_numbers(record: RecordFacts, point: PointFacts) -> str:
    """What a network would have cost, in a line."""
    return (
        f"{sparsity(point.sparsity)} sparsity, accuracy {percent(point.accuracy)}, gap "
        f"{unfairness_text(record, point.unfairness)}"
    )


def dataset_label(key: str) -> str:
    """A data set's name."""
    return DATASETS[key].label if key in DATASETS else object_name(key)


def network_label(key: str) -> str:
    """A network's name."""
    return NETWORKS[key].label if key in NETWORKS else object_name(key)


def clipped(text: str, most: int) -> str:
    """The text, cut at a word where it is longer than that many letters."""
    if len(text) <= most:
        return text
    cut = text[: most - 2].rsplit(" ", 1)[0] if " " in text[: most - 2] else text[: most - 2]
    return f"{cut[: most - 2]} …"


def day(event: Event | None) -> str:
    """The day of an event."""
    return "" if event is None else event.time[:10]


def status_text(decision: Decision | None) -> str:
    """How a decision stands, in words."""
    if decision is None:
        return "not proposed yet"
    if decision.superseded_by:
        return f"superseded by {decision.superseded_by}"
    return decision.status
