"""What was decided, by whom, and does it stand?"""

import streamlit as st

from engine.store.records.decisions import broken_decisions, read_decisions
from pages.shared import bound, formats
from pages.shared.frame import open_page, shared_link
from pages.shared.get_model import get_model
from pages.shared.layout import answer, show_rows
from pages.views.decisions import steps
from pages.views.decisions.words import decision_sentence, history_table, list_table, option_name

EMPTY = """
1. **Propose**: name who decides, what the network is for and what not. Its record goes into the study.
2. **Approve**: somebody else reads the record and signs.
3. **Ship**: get the model with its checksums; withdraw it, or put another in its place, later.
"""

frame = open_page("pages/decisions.py")
study = frame.source.study
decisions, damaged = read_decisions(study), broken_decisions(study)
for _, reason in damaged:
    st.caption(f":material/warning: Left out: {formats.plain(reason)}")
if not decisions:
    answer("**No decision has been proposed yet.** Choose a network on the Frontier and propose it there.")
    st.markdown(EMPTY)
    with st.container(horizontal=True, key="ways-on"):
        label, icon = "**Open the Frontier**", ":material/stacked_line_chart:"
        st.page_link("pages/frontier.py", label=label, icon=icon, query_params=shared_link())
    st.stop()

names = {one.id: option_name(one) for one in decisions}
key = bound.selectbox("Decision", list(names), key="decision", format_func=names.__getitem__)
chosen = next(one for one in decisions if one.id == key)
record = steps.record_of(chosen)
answer(decision_sentence(chosen, record))
if record is not None:
    steps.show_downloads(study, chosen, record)
    steps.show_links(chosen, record)
    get_model(frame.source, record.ships.run, record.ships.level, chosen.id)
steps.show_steps(study, chosen)

st.markdown("## What happened")
show_rows(history_table(chosen), "history", "The steps of this decision, the first one first.")
st.markdown("## All decisions of this study")
show_rows(list_table(decisions), "decisions", "All decisions of this study, the latest first.")
