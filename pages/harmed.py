"""Which examples does compression change?"""

import streamlit as st

from engine.analysis.examples.exemplars import (
    PERCENTILES,
    divergence,
    exemplar_accuracy,
    held_out_accuracy,
    percentile_cut,
)
from engine.analysis.examples.representation import representation
from pages.shared import formats, members
from pages.shared.axis import choose_axis
from pages.shared.cache import catalog as load
from pages.shared.cache import predictions as load_predictions
from pages.shared.frame import open_page
from pages.shared.layout import answer, show_chart
from pages.shared.pickers import choose_populations, load_examples
from pages.views.harmed import charts
from pages.views.harmed.gallery import (
    Exemplars,
    answer_sentence,
    choose_examples,
    current_marks,
    gallery_table,
    show_gallery,
    show_marks,
    ties_sentence,
)

frame = open_page("pages/harmed.py")
what_is_known = load_examples(frame)
examples, labels = what_is_known.examples, what_is_known.examples["label"].to_numpy()
n_classes = len(what_is_known.classes)

# -- which networks ---------------------------------------------------------------------------------------------------
said = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    networks = choose_populations(frame)
    scale = choose_axis("kept")
what = Exemplars(what_is_known, networks, divergence(networks.dense, networks.compressed, n_classes))
accuracy = exemplar_accuracy(labels, networks.dense, networks.compressed, what.found)
cuts = {at: percentile_cut(what.found.taxicab, at) for at in PERCENTILES}
with said:
    answer(answer_sentence(accuracy, what))
if networks.training:
    said.caption(networks.training)
if networks.n_missing:
    said.caption(f"{formats.seeds(networks.n_missing)} without this level or the dense one: left out.")

# -- how much harder they are -----------------------------------------------------------------------------------------
left, right = st.container(key="beside-accuracy").columns(2, gap="large")
with left:
    st.markdown("##### Accuracy where they change most")
    apart = held_out_accuracy(labels, networks.dense, networks.compressed, n_classes)
    caption = "Whiskers: 95 % over seeds. "
    caption += (
        "Dotted: exemplars picked by one half of the seeds, scored on the other: what picking alone does is out."
        if len(apart)
        else "Those who pick also score here, which alone lowers the numbers; four seeds or more show how much."
    )
    show_chart(
        charts.percentile_chart(accuracy, apart),
        "percentiles",
        "Accuracy of dense and compressed networks on all examples and on those that changed most.",
        accuracy,
        caption=caption,
    )
with right:
    st.markdown("##### At every sparsity")
    curves = load_predictions.exemplar_levels(frame.source, networks.runs, what_is_known.name)
    curves = curves.assign(sparsity=curves["level"].map(networks.by_level))
    show_chart(
        charts.sparsity_chart(curves, str(scale), networks.level, 99.0),
        "by-sparsity",
        "Accuracy on the exemplars of each sparsity, and on all examples.",
        curves,
        caption="Exemplars are found anew at each sparsity. Dotted: all examples. Faint: modal exemplars.",
    )
st.caption(ties_sentence(what, cuts[99.0]))

# -- one by one -------------------------------------------------------------------------------------------------------
st.markdown("##### Look at them, and say what is wrong")
st.write("Is the label wrong, would people disagree, or is the example truly hard? Marks are kept with the study.")
order = choose_examples(frame, what, cuts)
show_gallery(frame, what, order)
show_marks(frame, what)
with st.expander("As a table"):
    table = gallery_table(what, order[:1000], current_marks(frame, what_is_known))
    st.dataframe(table, hide_index=True, key="gallery-table", alt="The examples one by one, most changed first.")
    if len(order) > 1000:
        st.caption(f"The first 1,000 of {formats.count(len(order))}.")

# -- who they are -----------------------------------------------------------------------------------------------------
st.markdown("##### Who is over-represented among them")
with st.container(horizontal=True, vertical_alignment="bottom"):
    wanted = st.segmented_control(
        "Exemplars",
        ["Top 1 %", "Top 5 %", "Top 10 %", "Modal"],
        default="Top 10 %",
        required=True,
        key="over",
        bind="query-params",
    )
    attributes = members.attributes(examples)
    with_bins = st.toggle("With attributes, in quarters", value=True, key="bins", bind="query-params")
chosen = {"Top 1 %": cuts[99.0].chosen, "Top 5 %": cuts[95.0].chosen, "Top 10 %": cuts[90.0].chosen}.get(
    str(wanted), what.found.modal
)
names = what_is_known.class_names
training = {
    "class": dict(zip(what_is_known.classes["name"].astype(str), what_is_known.classes["n_train"], strict=True))
}
named = examples.assign(**{"class": examples["label"].map(names)})
shares = representation(
    named,
    chosen,
    ["class", *load.groupings(examples)],
    attributes if with_bins else (),
    training if sum(training["class"].values()) > 0 else None,
)
if chosen.any():
    show_chart(
        charts.representation_chart(shares, frame.dark),
        "over-represented",
        "How many times as often each class, group and attribute quarter is among the exemplars as elsewhere.",
        shares,
        caption="Classes against their share in training, all others against their share in the test set. Orange: the "
        "95 % interval leaves out 1. Open circle: fewer than 30 examples.",
    )
else:
    st.info("**No example is modal here.** Choose a higher sparsity, or a percentile.", icon=":material/info:")
