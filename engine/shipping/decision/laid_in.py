"""A decision in a shipped folder: laid in when the model ships, and asked later whether it still holds."""

import json
from pathlib import Path
from typing import Any

from engine.errors import PruneScopeError
from engine.shipping.decision.decision_facts import record_from, record_json
from engine.shipping.decision.decision_page import record_html
from engine.shipping.shipped_record import Shipped
from engine.store.records.decisions import APPROVED, WITHDRAWN, Decision, read_decision
from engine.store.study import Study

PAGE, FACTS_FILE = "decision.html", "decision.json"


def decision_files(study: Study, key: str, run: str, level: int) -> dict[str, bytes]:
    """The record as a page and as facts, as it stands now; refused where it is withdrawn or of another network."""
    decision = read_decision(study, key)
    record = record_from(decision.record)
    if (record.ships.run, record.ships.level) != (run, level):
        raise PruneScopeError(
            f"The decision {key} is on run {record.ships.run} level {record.ships.level}, not on {run} level {level}."
        )
    if decision.events[-1].action == WITHDRAWN:
        raise PruneScopeError(f"The decision {key} was withdrawn; ship the model without it, or propose a new one.")
    facts = {"decision": _standing(decision), "record": json.loads(record_json(record))}
    content = json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False).encode()
    return {PAGE: record_html(record, decision).encode(), FACTS_FILE: content}


def decision_status(folder: Path, shipped: Shipped, study: Study | None) -> tuple[str, bool | None]:
    """What is to be said of a folder's decision, and whether it is in force; None where nobody can tell.

    The study is asked where it is given: a decision may have been withdrawn or superseded since.
    """
    if not shipped.decision:
        return "It was shipped without a decision.", None
    if study is None:
        then = _facts(folder).get("status", "not known")
        return (
            f"Its decision {shipped.decision} was {then} when it was shipped; --study asks whether it is still.",
            None,
        )
    decision = read_decision(study, shipped.decision)
    ships = record_from(decision.record).ships
    if (ships.run, ships.level) != (shipped.run, shipped.level):
        return f"Its decision {decision.id} is on another network: run {ships.run} level {ships.level}.", False
    if decision.superseded_by:
        return f"Its decision {decision.id} was superseded by {decision.superseded_by}.", False
    if decision.status != APPROVED or decision.approval is None:
        return f"Its decision {decision.id} is {decision.status}, not approved.", False
    approval = decision.approval
    return f"Its decision {decision.id} was approved by {approval.who} on {approval.time[:10]} and stands.", True


def _standing(decision: Decision) -> dict[str, Any]:
    events = [{"action": e.action, "who": e.who, "time": e.time, "note": e.note} for e in decision.events]
    return {"id": decision.id, "status": decision.status, "supersedes": decision.supersedes, "events": events}


def _facts(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / FACTS_FILE).read_bytes())["decision"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
