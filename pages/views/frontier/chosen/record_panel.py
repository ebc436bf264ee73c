"""The Frontier's panel of the decision: its record to download, the policy, the proposal, and the model itself."""

import streamlit as st

from engine.errors import PruneScopeError
from engine.shipping.decision.decision_cards import decision_bill, decision_card
from engine.shipping.decision.decision_facts import UseFacts, record_json, record_values
from engine.shipping.decision.decision_page import record_html
from engine.shipping.decision.record_parts import shipped_seed
from engine.shipping.policy import floors_policy, policy_text
from engine.store.records.decisions import APPROVED, LONGEST_NAME, LONGEST_NOTE, propose, read_decisions
from pages.shared import formats
from pages.shared.body import part
from pages.shared.frame import shared_link
from pages.shared.get_model import get_model
from pages.shared.session.access import name_field, refusal, writing
from pages.views.frontier.chosen.record import Decided, record_facts, rival_table

RIVALS = "rivals.csv"
PROPOSED = "proposed decision"
"""Where a session keeps the id of what it proposed last."""


@part
def show_record(decided: Decided) -> None:
    """The panel, for the point that is decided on; what is folded away is drawn when it is folded out."""
    st.markdown("## Decision record")
    st.write("The choice with its reasons, numbers and limits on one page, to sign, to keep or to hand on.")
    _downloads(decided)
    _proposal(decided)
    ships = shipped_seed(decided.seeds, decided.choice.measure)
    get_model(decided.frame.source, ships.run, ships.level)


def _downloads(decided: Decided) -> None:
    name, use = f"decision-{decided.frame.name}", UseFacts()
    files = st.container(horizontal=True)
    files.download_button(
        "HTML, for people",
        lambda: record_html(record_facts(decided, use)),
        f"{name}.html",
        "text/html",
        key="record-html",
        on_click="ignore",
    )
    files.download_button(
        "JSON, for machines",
        lambda: record_json(record_facts(decided, use)),
        f"{name}.json",
        "application/json",
        key="record-json",
        on_click="ignore",
    )
    files.download_button(
        "Rivals, CSV",
        lambda: formats.csv_bytes(rival_table(decided)),
        f"{name}-{RIVALS}",
        "text/csv",
        key="record-rivals",
        help="Every other network, and why it was not chosen.",
        on_click="ignore",
    )
    files.download_button(
        "Policy for CI",
        lambda: policy_text(floors_policy(decided.asked.limits, decided.asked.between.columns)),
        "policy.toml",
        "application/toml",
        key="record-policy",
        help="The floors that are set here, as rules for `prunescope gate`.",
        on_click="ignore",
    )
    more = files.popover("More", type="tertiary", key="record-more", on_change="rerun")
    if not more.open:
        return
    more.download_button(
        "Model card (README.md)",
        lambda: decision_card(record_facts(decided, use), None),
        "README.md",
        "text/markdown",
        key="record-card",
        on_click="ignore",
    )
    more.download_button(
        "Bill of materials (bom.json)",
        lambda: decision_bill(record_facts(decided, use), None),
        "bom.json",
        "application/json",
        key="record-bill",
        on_click="ignore",
    )


def _proposal(decided: Decided) -> None:
    """The form that puts the decision into the study; a grey button where it would be refused."""
    if refused := refusal("propose decisions"):
        st.button(
            "Propose this decision",
            icon=":material/how_to_vote:",
            key="propose-refused",
            width="stretch",
            disabled=True,
            help=refused,
        )
        return
    fold = st.expander("Propose this decision", icon=":material/how_to_vote:", key="propose-fold", on_change="rerun")
    if fold.open:
        with fold, st.form("propose", border=False):
            _form(decided)
    if last := st.session_state.get(PROPOSED):
        st.success(f"**Proposed as {last}.** Somebody else has to approve it.", icon=":material/check_circle:")
        st.page_link(
            "pages/decisions.py",
            label="Open the decision",
            icon=":material/gavel:",
            query_params=shared_link() | {"decision": [last]},
        )


def _form(decided: Decided) -> None:
    study, seeds = decided.frame.source.study, decided.seeds["seed"].tolist()
    in_force = [one.id for one in read_decisions(study) if one.status == APPROVED]
    who = name_field("propose-who", LONGEST_NAME)
    intended = st.text_area("Intended use", max_chars=LONGEST_NOTE, key="propose-use", height=80)
    not_for = st.text_area("Not for", max_chars=LONGEST_NOTE, key="propose-not", height=80)
    usual = seeds.index(shipped_seed(decided.seeds, decided.choice.measure).seed)
    seed = st.selectbox("Seed that ships", seeds, usual, key="propose-seed", help="The most usual one, by default.")
    old = st.selectbox("Supersedes", ["", *in_force], key="propose-old", help="What its approval replaces.")
    note = st.text_input("Note", max_chars=LONGEST_NOTE, key="propose-note")
    if not st.form_submit_button("Propose", type="primary"):
        return
    try:
        record = record_facts(decided, UseFacts(intended=intended, not_for=not_for), int(seed))
        rivals = formats.csv_bytes(rival_table(decided))
        with writing():
            key = propose(study, record_values(record), who, note, str(old or ""), {RIVALS: rivals})
    except PruneScopeError as error:
        st.error(f"**Nothing was proposed.** {formats.plain(error)}", icon=":material/error:")
    else:
        st.session_state[PROPOSED] = key
