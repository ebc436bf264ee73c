"""The Decisions page in parts: a decision's files, its link, and the steps that may follow."""

from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qs, urlsplit

import streamlit as st

from engine.errors import PruneScopeError
from engine.shipping.decision.decision_cards import decision_bill, decision_card
from engine.shipping.decision.decision_facts import RecordFacts, record_from, record_json
from engine.shipping.decision.decision_page import record_html
from engine.store.records.decisions import (
    APPROVED,
    LONGEST_NAME,
    LONGEST_NOTE,
    PROPOSED,
    Decision,
    approve,
    decision_file,
    withdraw,
)
from engine.store.study import Study
from pages.shared import formats
from pages.shared.frame import shared_link
from pages.shared.session.access import name_field, refusal, writing


def record_of(decision: Decision) -> RecordFacts | None:
    """What the decision's record says; None where it is of another version."""
    try:
        return record_from(decision.record)
    except PruneScopeError:
        return None


def show_downloads(study: Study, decision: Decision, record: RecordFacts) -> None:
    """The record in all its renderings, as the decision stands now."""
    key = decision.id
    files = st.container(horizontal=True)
    for label, make, name, kind in (
        ("Record, HTML", lambda: record_html(record, decision), f"decision-{key}.html", "text/html"),
        ("Record, JSON", lambda: record_json(record), f"decision-{key}.json", "application/json"),
        ("Model card", lambda: decision_card(record, decision), "README.md", "text/markdown"),
        ("Bill of materials", lambda: decision_bill(record, decision), "bom.json", "application/json"),
    ):
        files.download_button(label, make, name, kind, key=f"{label}-{key}", on_click="ignore")
    for name in decision.files:
        files.download_button(
            name, partial(decision_file, study, key, name), name, key=f"{name}-{key}", on_click="ignore"
        )


def show_links(decision: Decision, record: RecordFacts) -> None:
    """The decision's own link, and the way back to the choice as it was made."""
    st.page_link(
        "pages/decisions.py",
        label="Link to this decision",
        icon=":material/link:",
        query_params=shared_link() | {"decision": [decision.id]},
    )
    asked = parse_qs(urlsplit(record.origin.link).query)
    st.page_link(
        "pages/frontier.py",
        label="See this choice on the Frontier, or propose another in its place",
        icon=":material/stacked_line_chart:",
        query_params=asked,
    )


def show_steps(study: Study, decision: Decision) -> None:
    """Forms for what may follow: approve, withdraw; a sentence where they would be refused."""
    if refused := refusal("approve and withdraw decisions"):
        st.caption(refused)
        return
    left, right = st.columns(2, gap="large")
    if decision.status == PROPOSED:
        with left, st.form(f"approve-{decision.id}"):
            st.markdown("**Approve**")
            who = name_field(f"approve-who-{decision.id}", LONGEST_NAME)
            note = st.text_input("Note", max_chars=LONGEST_NOTE, key=f"approve-note-{decision.id}")
            if st.form_submit_button("Approve", type="primary"):
                _act(lambda: approve(study, decision.id, who, note))
    if decision.status in (PROPOSED, APPROVED):
        with right, st.form(f"withdraw-{decision.id}"):
            st.markdown("**Withdraw**")
            who_not = name_field(f"withdraw-who-{decision.id}", LONGEST_NAME)
            why = st.text_input("Why", max_chars=LONGEST_NOTE, key=f"withdraw-why-{decision.id}")
            if st.form_submit_button("Withdraw"):
                _act(lambda: withdraw(study, decision.id, who_not, why))


def _act(step: Callable[[], object]) -> None:
    """Take a step; a sentence where it is refused, else the page anew."""
    try:
        with writing():
            step()
    except PruneScopeError as error:
        st.error(f"**Nothing was changed.** {formats.plain(error)}", icon=":material/error:")
        return
    st.rerun()
