"""What does pruning hide behind a steady accuracy?"""

import streamlit as st

from engine.analysis.columns import VARIANT
from pages.shared import formats, protocol
from pages.shared.cache import catalog
from pages.shared.frame import MENU, open_page, shared_link
from pages.shared.layout import answer, side_by_side
from pages.views.overview import contents, words

frame = open_page("app.py")
red_flags = catalog.flags(frame.source, frame.experiment, frame.baseline)
rows, names = frame.keep(red_flags.table), frame.class_names

# -- the answer -------------------------------------------------------------------------------------------------------
answer(words.headline_sentence(rows, frame.experiment, names))
st.markdown(f"{words.detail_sentences(rows)} {words.detail_training(rows, frame.source, frame.experiment)}")
with st.container(border=True, width="content", key="way-on"):
    st.page_link(
        "pages/frontier.py",
        label="**Open the frontier**",
        icon=":material/stacked_line_chart:",
        help="Choose the network to ship.",
        query_params=shared_link(),
    )

# -- what is loaded ---------------------------------------------------------------------------------------------------
everything = catalog.load_catalog(frame.source)
for column, (label, (n, text)) in zip(st.columns(4), contents.figures(everything).items(), strict=True):
    column.metric(label, n, help=text or None, border=True)

# -- red flags --------------------------------------------------------------------------------------------------------
st.markdown(
    "##### Red flags",
    help="For each technique: its sparsest level whose mean accuracy is within 1 point of the unpruned network's, and "
    "who surely loses most there. Class gap: best minus worst class accuracy, against that of the unpruned network; "
    "above 1× it grows. Unpruned is the dense network, or one that trained as long as what is finetuned.",
)
told, not_told = words.told_and_not(rows)
SHOWN = "For each technique: how sparse it gets within 1 point, and the class and group that lose most there."
if len(told):
    st.table(words.flag_table(told, names), border="horizontal", hide_index=True, alt=SHOWN)
elif len(not_told):
    st.markdown("No loss of a class or group can be told from chance.")
if len(not_told):
    with st.expander(f"Not told from chance: {formats.count(len(not_told))} row{'s' * (len(not_told) > 1)}"):
        st.table(words.flag_table(not_told, names), border="horizontal", hide_index=True, alt=SHOWN)
if len(told) + len(not_told):
    st.caption(words.cautions(rows, catalog.classes(frame.source, frame.experiment)["class"].nunique()))
for sentence in words.left_out(rows):
    st.caption(sentence)
if red_flags.no_groups and len(told) + len(not_told):
    st.caption(formats.plain(f"No worst group: {red_flags.no_groups}."))

# -- how it was made, and where to look next --------------------------------------------------------------------------
spec = catalog.spec(frame.source, frame.experiment)
seeds = catalog.levels(frame.source, frame.experiment).groupby(list(VARIANT), observed=True)["seed"].nunique()
st.markdown("##### How these runs were made")
st.markdown(
    f"{formats.plain(protocol.protocol_sentences(spec))} "
    f"{protocol.difference_sentence(spec, int(seeds.min()), int(seeds.max()))}"
)

st.markdown("##### Ask further")
half = len(MENU) // 2 + 1
for column, entries in zip(side_by_side("pages", [1, 1]), (MENU[1:half], MENU[half:]), strict=True):
    for entry in entries:
        label = f"**{entry.label}** · {entry.question}"
        column.page_link(entry.file, label=label, icon=entry.icon, query_params=shared_link())

st.markdown(
    "##### All experiments in this study",
    help="Runs that differ in data set, split, network or protocol are never averaged. Hours of computing, all runs "
    "together.",
)
if about := contents.about(frame.source.study):
    st.markdown(formats.plain(about))
st.table(
    contents.experiment_table(everything, frame.experiment),
    border="horizontal",
    hide_index=True,
    alt="Data set, network, protocol, runs and seeds of each experiment.",
)
for sentence in contents.not_whole(everything):
    st.caption(formats.plain(sentence))
