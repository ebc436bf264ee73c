"""Who loses, and does their writing explain it?"""

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from engine.analysis.lines import SlopeChange, slope_change
from engine.analysis.writers import hit_hardest, member_facts
from pages.shared import formats, members
from pages.shared.charts import writers as charts
from pages.shared.frame import open_page
from pages.shared.gallery import show_member
from pages.shared.member_controls import choose_members, choose_network, known
from pages.shared.show import show_chart

LOSS = 0.05
HARDEST = 10


def choose_point(key: str) -> None:
    """Make the member whose point was clicked the chosen one."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        found = points[0].get("customdata")
        st.session_state["member"] = found[0] if isinstance(found, list | tuple) else found


def choose_row(names: list[str]) -> None:
    """Make the member whose row was clicked the chosen one."""
    rows = st.session_state["hardest"]["selection"]["rows"]
    if rows:
        st.session_state["member"] = names[rows[0]]


frame = open_page("pages/writers.py")
what = known(frame)
answer = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    compared = choose_network(frame)
with st.container(horizontal=True, vertical_alignment="bottom"):
    shown = choose_members(what, compared, frame.dark)
table, of, moment = shown.table, shown.of, compared.moment
member, attribute = shown.grouping, shown.attribute

# -- the answer -------------------------------------------------------------------------------------------------------
facts = member_facts(table, loss=LOSS)
ranked = hit_hardest(table, len(table))
worst = "" if ranked.empty or not shown.series else str(ranked[shown.series].iloc[0])
sentence = members.loss_sentence(facts, moment, of, worst)
