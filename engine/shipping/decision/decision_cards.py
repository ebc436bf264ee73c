"""A decision record for other tools: a model card that Hugging Face reads, and a CycloneDX bill with a model card."""

import json
import uuid
from typing import Any

from engine.shipping.cards import front_matter, markdown_text
from engine.shipping.decision import decision_words as words
from engine.shipping.decision.annex import annex_headings
from engine.shipping.decision.decision_facts import RecordFacts
from engine.store.records.decisions import Decision

TASK = "image-classification"


def decision_card(record: RecordFacts, decision: Decision | None) -> str:
    """README.md of a decision: front matter with `model-index`, then what a person wants to know first."""
    text, origin, ships = markdown_text, record.origin, record.ships
    lines = [
        *front_matter(f"{record.network}-{record.chosen.technique}", record.dataset, _metrics(record)),
        "",
        f"# {text(record.title)}: {text(record.chosen.name)}",
        "",
        text(record.summary),
        "",
        f"Decision {decision.id if decision else 'not proposed yet'}, status: {words.status_text(decision)}.",
        "",
        "## How it was chosen",
        "",
        text(" ".join(part for part in (words.rule_text(record), words.stakeholder_text(record)) if part)),
        "",
        "## Intended use",
        "",
        text(record.use.intended or words.NOT_STATED),
        "",
        "## Not for",
        "",
        text(record.use.not_for or words.NOT_STATED),
        "",
        "## Numbers",
        "",
        "| | chosen | dense |",
        "| --- | --- | --- |",
        *[
            f"| {text(one.label)} | {words.number_text(one)} | {words.in_unit(one.baseline, one.unit)} |"
            for one in record.numbers
        ],
        "",
        "## Who pays",
        "",
        "| | group | n | before | after |",
        "| --- | --- | --- | --- | --- |",
        *[
            f"| {text(row.grouping)} | {text(row.group)} | {row.n:,} | {words.percent(row.before)} | "
            f"{words.after_text(row)} |"
            for row in record.groups
        ],
        "",
        f"Before: {record.baseline}.",
        "",
        "## Not checked",
        "",
        *[f"- {text(limit)}" for limit in record.not_checked],
        "",
        "## Alternatives considered",
        "",
        *[
            f"- {text(one.role or 'rival')}: {text(one.name)}, {words.point_numbers(record, one)}; {text(one.reason)}"
            for one in record.alternatives
        ],
        "",
        "## Technical documentation (EU AI Act, Annex IV)",
        "",
        *[f"{row.point}. **{row.heading}.** {text(row.text)}" for row in annex_headings(record, decision)],
        "",
        "## Where it comes from",
        "",
        f"Study {text(origin.study)} (SHA-256 `{origin.study_digest}`), data SHA-256 `{origin.data_digest}`, run "
        f"`{ships.run}`, seed {ships.seed}, level {ships.level}; PruneScope {origin.prunescope}, {origin.made}.",
        "",
    ]
    return "\n".join(lines)


def decision_bill(record: RecordFacts, decision: Decision | None) -> str:
    """bom.json of a decision: CycloneDX 1.6, the network that was chosen as a component with its card."""
    ships, origin, use = record.ships, record.origin, record.use
    metrics: list[dict[str, Any]] = [
        {"type": one.key, "value": f"{one.value:.6f}", **_interval(one.low, one.high)}
        for one in record.numbers
        if one.value is not None
    ]
    metrics += [
        {
            "type": "accuracy",
            "value": f"{row.after:.6f}",
            "slice": f"{row.grouping}={row.group}",
            **_interval(row.low, row.high),
        }
        for row in record.groups
        if row.after is not None
    ]
    card = {
        "modelParameters": {
            "task": TASK,
            "architectureFamily": record.network,
            "datasets": [{"type": "dataset", "name": record.dataset}],
        },
        "quantitativeAnalysis": {"performanceMetrics": metrics},
        "considerations": {
            "useCases": [use.intended or words.NOT_STATED],
            "technicalLimitations": [f"Not for: {use.not_for or words.NOT_STATED}", *record.not_checked],
            "performanceTradeoffs": [
                *(f"{one.role or one.name}: {one.reason or one.name}" for one in record.alternatives),
                *filter(None, [words.stakeholder_text(record)]),
            ],
            "fairnessAssessments": [
                {
                    "groupAtRisk": f"{row.grouping} {row.group}",
                    "harms": f"{words.points(row.change, sign=True)} of accuracy, n = {row.n}",
                }
                for row in record.payers
            ],
        },
    }
    values = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, f'{ships.run}-{ships.level}-{origin.made}')}",
        "version": 1,
        "metadata": {
            "timestamp": origin.made,
            "tools": {"components": [{"type": "application", "name": "prunescope", "version": origin.prunescope}]},
        },
        "components": [
            {
                "type": "machine-learning-model",
                "bom-ref": f"run-{ships.run}-level-{ships.level}",
                "name": f"{record.network}-{record.dataset}-{record.chosen.technique}",
                "version": f"{ships.run}-{ships.level}",
                "description": record.summary,
                "modelCard": card,
                "properties": [
                    {"name": f"prunescope:{name}", "value": value}
                    for name, value in (
                        ("decision", decision.id if decision else ""),
                        ("status", words.status_text(decision)),
                        ("seed", str(ships.seed)),
                        ("study-sha256", origin.study_digest),
                        ("data-sha256", origin.data_digest),
                    )
                ],
            }
        ],
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _metrics(record: RecordFacts) -> list[dict[str, Any]]:
    return [
        {"type": one.key, "value": round(one.value, 6), "name": one.label}
        for one in record.numbers
        if one.value is not None
    ]


def _interval(low: float | None, high: float | None) -> dict[str, Any]:
    if low is None or high is None:
        return {}
    return {"confidenceInterval": {"lowerBound": f"{low:.6f}", "upperBound": f"{high:.6f}"}}
