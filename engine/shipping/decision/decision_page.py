"""The decision record for people: one page to print, with a block to sign, and an appendix; it needs nothing else."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from engine.shipping.decision import decision_words as words
from engine.shipping.decision.annex import annex_headings
from engine.shipping.decision.decision_charts import frontier_picture, group_picture
from engine.shipping.decision.decision_facts import PointFacts, RecordFacts
from engine.store.records.decisions import APPROVED, PROPOSED, Decision, Event

MOST_SAID, MOST_PAYERS, MOST_ALTERNATIVES, MOST_LIMITS = 3, 4, 3, 4
"""Sentences and rows that the first page has room for; the appendix has all."""
LONG, MIDDLE, SHORT = 330, 200, 60
"""Letters that a text may have on the first page."""

# A value is text whatever it holds, and a name that the template misspells is an error rather than a gap.
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def record_html(record: RecordFacts, decision: Decision | None = None) -> str:
    """The record as a page: with `decision` it says how that stands and who signed."""
    template = TEMPLATES.get_template("decision_page.html.j2")
    return template.render(_first_page(record, decision), **_appendix(record, decision))


def _first_page(record: RecordFacts, decision: Decision | None) -> dict[str, Any]:
    """What stands on the first page, in plain texts of bounded length; none of it is markup but the pictures."""
    clip, ships, origin = words.clipped, record.ships, record.origin
    two = words.stakeholder_text(record, with_numbers=False)
    said = [text for text in (two, *record.texts) if text][:MOST_SAID]
    return {
        "title": clip(record.title, 80),
        "key": decision.id if decision else "draft",
        "status": words.status_text(decision),
        "date": words.day(decision.events[-1]) if decision else origin.made[:10],
        "summary": clip(record.summary, LONG),
        "said": [clip(text, LONG if text == two else MIDDLE) for text in said],
        "override": clip(record.use.reason, MIDDLE),
        "rule": clip(words.rule_text(record), 2 * LONG),
        "numbers": [
            (clip(one.label, SHORT), words.number_text(one), words.in_unit(one.baseline, one.unit))
            for one in record.numbers
        ],
        "baseline": record.baseline,
        "payers": [_group(row, SHORT // 2) for row in record.payers[:MOST_PAYERS]],
        "no_groups": clip(record.no_groups, MIDDLE),
        "pictures": [
            ("All networks: ★ chosen, ○ runner-up", Markup(frontier_picture(record))),
            ("Who loses most", Markup(group_picture(record))),
        ],
        "not_checked": [clip(text, MIDDLE) for text in record.not_checked[:MOST_LIMITS]],
        "more_limits": max(len(record.not_checked) - MOST_LIMITS, 0),
        "intended": clip(record.use.intended or words.NOT_STATED, LONG),
        "not_for": clip(record.use.not_for or words.NOT_STATED, LONG),
        "alternatives": [_alternative(record, one) for one in record.alternatives[:MOST_ALTERNATIVES]],
        "n_rivals": record.n_rivals,
        "ships": f"Run {ships.run}, seed {ships.seed}, level {ships.level}: {clip(ships.why, MIDDLE)}",
        "ships_numbers": f"accuracy {words.percent(ships.accuracy)}, "
        f"gap {words.unfairness_text(record, ships.unfairness)}",
        "digests": [("Study", origin.study_digest), ("Data", origin.data_digest)],
        "version": origin.prunescope,
        "made": origin.made,
        "signatures": _signatures(decision),
        "supersedes": decision.supersedes if decision else "",
    }


def _appendix(record: RecordFacts, decision: Decision | None) -> dict[str, Any]:
    """What follows, as long as it is."""
    origin = record.origin
    run_heads = list(dict.fromkeys(name for row in origin.runs for name in row))
    return {
        "summary_whole": record.summary,
        "texts": record.texts,
        "stakeholders_whole": words.stakeholder_text(record),
        "use": [
            ("Intended use", record.use.intended),
            ("Not for", record.use.not_for),
            ("Why not the recommended network", record.use.reason),
        ],
        "nearest": [
            (
                one.name,
                words.sparsity(one.sparsity),
                words.percent(one.accuracy),
                words.unfairness_text(record, one.unfairness),
                words.MISSING if one.value is None else f"{one.value:.3f}",
                one.reason,
            )
            for one in record.nearest
        ],
        "measure": record.rule.measure_label,
        "groups": [_group(row, 10 * LONG) for row in record.groups],
        "limits": record.not_checked,
        "history": [(e.action, e.who, e.time[:16].replace("T", " "), e.note) for e in decision.events]
        if decision
        else [],
        "annex": annex_headings(record, decision),
        "run_heads": [name.replace("_", " ") for name in run_heads],
        "runs": [[str(row.get(name, "")) for name in run_heads] for row in origin.runs],
        "command": origin.command,
        "link": origin.link,
        "study": origin.study,
        "examples": origin.examples,
        "n_examples": f"{origin.n_examples:,}",
    }


def _group(row: Any, most: int) -> tuple[str, str, str, str, str, str]:
    return (
        words.clipped(row.grouping, most),
        words.clipped(row.group, most),
        f"{row.n:,}",
        words.percent(row.before),
        words.after_text(row),
        words.points(row.change, sign=True),
    )


def _alternative(record: RecordFacts, point: PointFacts) -> tuple[str, str, str, str]:
    clip = words.clipped
    numbers = words.point_numbers(record, point)
    return clip(point.role, SHORT), clip(point.name, SHORT), numbers, clip(point.reason, MIDDLE // 2)


def _signatures(decision: Decision | None) -> list[tuple[str, str, str, str]]:
    """Who decided, who reviewed, and what ended it: role, name, date, note; empty where there is still to sign."""
    events = decision.events if decision else ()
    by = {event.action: event for event in events}
    rows: list[tuple[str, Event | None]] = [("Decided", by.get(PROPOSED)), ("Reviewed", by.get(APPROVED))]
    rows += [(event.action.capitalize(), event) for event in events if event.action not in (PROPOSED, APPROVED)]
    return [
        (role, words.clipped(event.who, SHORT), words.day(event), words.clipped(event.note, MIDDLE // 2))
        if event
        else (role, "", "", "")
        for role, event in rows
    ]
