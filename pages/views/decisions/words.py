"""What the Decisions page says: how a decision stands, its history, and the list of all."""

from collections.abc import Sequence

import pandas as pd

from engine.shipping.decision.decision_facts import RecordFacts
from engine.store.records.decisions import APPROVED, PROPOSED, SUPERSEDED, Decision
from pages.shared import formats


def option_name(decision: Decision) -> str:
    """A decision in a list: its id, its status and what it is about."""
    return f"{decision.id} · {decision.status} · {decision.record.get('title', '')}"


def decision_sentence(decision: Decision, record: RecordFacts | None) -> str:
    """How the decision stands, and on which network; markdown."""
    first, last = decision.events[0], decision.events[-1]
    by = {
        PROPOSED: f"by {formats.plain(first.who)}; somebody else has to approve it",
        APPROVED: f"by {formats.plain(last.who)}",
        SUPERSEDED: f"by decision {decision.superseded_by}",
    }.get(decision.status, f"by {formats.plain(last.who)}: {formats.plain(last.note)}")
    head = f"**{decision.status.capitalize()}** {by}."
    if record is None:
        return f"{head} Its record is of another version and cannot be shown."
    chosen = record.chosen
    sparsity, accuracy = (float("nan") if x is None else x for x in (chosen.sparsity, chosen.accuracy))
    return (
        f"{head} {formats.plain(record.title)}: {formats.plain(chosen.name)}, {formats.sparsity(sparsity)} sparsity, "
        f"accuracy {formats.percent(accuracy)}."
    )


def history_table(decision: Decision) -> pd.DataFrame:
    """The steps of a decision in their order."""
    rows = [(e.action, e.who, e.time[:16].replace("T", " "), e.note) for e in decision.events]
    return pd.DataFrame(rows, columns=["step", "who", "when (UTC)", "note"])


def list_table(decisions: Sequence[Decision]) -> pd.DataFrame:
    """All decisions, the latest first."""
    rows = []
    for one in decisions:
        approval = one.approval
        rows.append(
            {
                "decision": one.id,
                "status": one.status,
                "about": str(one.record.get("title", "")),
                "decided by": one.events[0].who,
                "reviewed by": approval.who if approval else "",
                "last change": one.events[-1].time[:10],
                "supersedes": one.supersedes,
                "superseded by": one.superseded_by,
            }
        )
    return pd.DataFrame(rows)
