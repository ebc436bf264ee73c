"""What a decision record has to say under each heading of Annex IV of the EU AI Act (Regulation (EU) 2024/1689).

A heading on which it is silent says so: the record is a part of technical documentation, not the whole.
"""

from dataclasses import dataclass

from engine.shipping.decision.decision_facts import RecordFacts
from engine.shipping.decision.decision_words import (
    NOT_STATED,
    after_text,
    number_text,
    percent,
    rule_text,
    stakeholder_text,
    status_text,
)
from engine.store.records.decisions import Decision

SILENT = "Not in this record."


@dataclass(frozen=True)
class Heading:
    """A point of Annex IV, its heading in short, and what the record says there."""

    point: str
    heading: str
    text: str


def annex_headings(record: RecordFacts, decision: Decision | None) -> list[Heading]:
    """Every point of Annex IV in its order."""
    origin, ships = record.origin, record.ships
    numbers = "; ".join(f"{number.label} {number_text(number)}" for number in record.numbers)
    groups = "; ".join(
        f"{row.grouping} {row.group}: {percent(row.before)} before, {after_text(row)} after, n = {row.n:,}"
        for row in record.payers
    )
    steps = "" if decision is None else "; ".join(f"{e.action} by {e.who}, {e.time[:10]}" for e in decision.events)
    return [
        Heading(
            "1",
            "General description: intended purpose, name and version",
            f"{record.title}: {record.chosen.name}. Intended use: {record.use.intended or NOT_STATED} Not for: "
            f"{record.use.not_for or NOT_STATED} Run {ships.run}, level {ships.level}, seed {ships.seed}.",
        ),
        Heading(
            "2",
            "Elements of the system and how it was developed: methods, data, validation and testing",
            f"Made by `{origin.command}` with PruneScope {origin.prunescope}; tested on {origin.n_examples:,} examples "
            f"of {origin.examples} (SHA-256 {origin.data_digest}). {rule_text(record)}",
        ),
        Heading(
            "3",
            "Monitoring, functioning and control: accuracy for persons and groups, limits, oversight",
            f"{numbers}. {groups or record.no_groups}. {' '.join(record.not_checked)}",
        ),
        Heading(
            "4",
            "Why the performance metrics are appropriate",
            f"The gap is measured as {record.rule.measure_label}, between {record.rule.fair_between.lower()}; its "
            "price was set by the people who decided. Why these fit the use is for them to say. "
            f"{stakeholder_text(record)}".strip(),
        ),
        Heading("5", "Risk management system (Article 9)", SILENT),
        Heading("6", "Changes over the lifecycle", f"Status: {status_text(decision)}. {steps}".strip()),
        Heading("7", "Harmonised standards applied", SILENT),
        Heading("8", "EU declaration of conformity (Article 47)", SILENT),
        Heading("9", "Evaluation after placing on the market (Article 72)", SILENT),
    ]
