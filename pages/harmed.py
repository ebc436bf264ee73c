"""Which examples does compression change?"""

from zlib import crc32

import streamlit as st

from engine.analysis.curves.baseline import CONTROL
from engine.analysis.example_columns import attribute_columns
from engine.analysis.examples.exemplars import (
    PERCENTILES,
    divergence,
    exemplar_accuracy,
    held_out_accuracy,
    percentile_cut,
)
from engine.analysis.examples.representation import representation
from pages.shared import bound, formats
from pages.shared.body import body, part
from pages.shared.cache import predictions
from pages.shared.cache.kept import kept
from pages.shared.frame import Frame, open_page
from pages.shared.layout import answer, show_chart
from pages.shared.names import BASELINE_LABELS
from pages.shared.pickers import choose_axis, choose_populations, load_examples
from pages.views.harmed import at_risk, charts, words
from pages.views.harmed.gallery import (
    Exemplars,
    choose_examples,
    current_marks,
    gallery_table,
    show_gallery,
    show_marks,
)


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    example_set = load_examples(frame)
    examples, labels = example_set.examples, example_set.examples["label"].to_numpy()
    n_classes = len(example_set.classes)

    # -- which networks ------------------------------------------------------------------------------------------------
    above = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        networks = choose_populations(frame)
        scale = choose_axis("kept")
    exemplars = Exemplars(example_set, networks, divergence(networks.before, networks.compressed, n_classes))
    asked = (networks.asked, networks.level)
    accuracy = kept(
        frame.source,
        "exemplars",
        asked,
        lambda: exemplar_accuracy(labels, networks.before, networks.compressed, exemplars.divergence),
    )
    cuts = {at: percentile_cut(exemplars.divergence.taxicab, at) for at in PERCENTILES}
    # Against controls, the dense network is no second set of the same: it trained shorter. Halves of the controls are.
    controls = (
        None
        if networks.kind == CONTROL
        else predictions.control_population(frame.source, frame.experiment, networks.runs, networks.level)
    )
    beside = predictions.changes_beside_nothing(
        (frame.source, networks.runs, networks.level, crc32(networks.before.tobytes())),
        networks.before,
        networks.compressed,
        controls,
        n_classes,
    )
    with above:
        answer(words.answer_sentence(accuracy, exemplars, beside))
        st.caption(words.beside_caption(beside), help=words.NOTHING_HELP)
    if networks.training:
        above.caption(networks.training)
    if networks.n_missing:
        above.caption(f"{formats.seeds(networks.n_missing)} without this level or a baseline for it: left out.")

    # -- how much harder they are --------------------------------------------------------------------------------------
    left, right = st.container(key="beside-accuracy").columns(2, gap="large")
    with left:
        st.markdown("##### Accuracy where they change most", help=words.ties_help(exemplars, cuts[99.0]))
        apart = kept(
            frame.source,
            "held out",
            asked,
            lambda: held_out_accuracy(labels, networks.before, networks.compressed, n_classes),
        )
        caption = "Whiskers: 95 % over seeds. "
        caption += (
            "Dotted: exemplars picked by one half of the seeds, scored on the other: what picking alone does is out."
            if len(apart)
            else "Those who pick also score here, which alone lowers the numbers; four seeds or more show how much."
        )
        show_chart(
            charts.percentile_chart(accuracy, apart, BASELINE_LABELS[networks.kind]),
            "percentiles",
            f"Accuracy of {networks.baseline} and compressed networks on all examples and on those that changed most.",
            accuracy,
            caption=caption,
        )
    with right:
        st.markdown("##### At every sparsity")
        curves = predictions.exemplar_levels(networks.asked, example_set.name)
        curves = curves.assign(sparsity=curves["level"].map(networks.by_level))
        show_chart(
            charts.sparsity_chart(curves, str(scale), networks.level, 99.0, BASELINE_LABELS[networks.kind]),
            "by-sparsity",
            "Accuracy on the exemplars of each sparsity, and on all examples.",
            curves,
            caption="Exemplars are found anew at each sparsity. Dotted: all examples. Faint: modal exemplars.",
        )
    if coarse := words.ties_sentence(exemplars, cuts[99.0]):
        st.caption(coarse)

    # -- one by one ----------------------------------------------------------------------------------------------------
    @part
    def show_examples() -> None:
        """The examples one by one."""
        st.markdown("##### Look at them, and say what is wrong")
        st.write(
            "Is the label wrong, would people disagree, or is the example truly hard? Marks are kept with the study."
        )
        order = choose_examples(frame, exemplars, cuts)
        show_gallery(frame, exemplars, order)
        show_marks(frame, exemplars)
        folded = st.expander("As a table", key="as-table", on_change="rerun")
        if folded.open:
            with folded:
                table = gallery_table(exemplars, order[:1000], current_marks(frame, example_set))
                alt = "The examples one by one, most changed first."
                st.dataframe(table, hide_index=True, key="gallery-table", alt=alt)
                if len(order) > 1000:
                    st.caption(f"The first 1,000 of {formats.count(len(order))}.")

    show_examples()

    # -- who they are --------------------------------------------------------------------------------------------------
    @part
    def show_shares() -> None:
        """Who is over-represented among exemplars of choice."""
        st.markdown("##### Who is over-represented among them")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            wanted = bound.segmented_control(
                "Exemplars",
                ["Top 1 %", "Top 5 %", "Top 10 %", "Modal"],
                default="Top 10 %",
                key="over",
            )
            attributes = attribute_columns(examples)
            with_bins = st.toggle("With attributes, in quarters", value=True, key="bins", bind="query-params")
        chosen = {"Top 1 %": cuts[99.0].listed, "Top 5 %": cuts[95.0].listed, "Top 10 %": cuts[90.0].listed}.get(
            str(wanted), exemplars.divergence.modal
        )
        names = example_set.class_names
        training = {
            "class": dict(zip(example_set.classes["name"].astype(str), example_set.classes["n_train"], strict=True))
        }
        named = examples.assign(**{"class": examples["label"].map(names)})
        shares = representation(
            named,
            chosen,
            ["class", *example_set.group_columns],
            attributes if with_bins else (),
            training if sum(training["class"].values()) > 0 else None,
        )
        if chosen.any():
            show_chart(
                charts.representation_chart(shares, frame.dark),
                "over-represented",
                "How many times as often each class, group and attribute quarter is among the exemplars as elsewhere.",
                shares,
                caption="Classes against their share in training, all others against their share in the test set. "
                "Orange: the 95 % interval leaves out 1. Open circle: fewer than 30 examples.",
            )
        else:
            st.info("**No example is modal here.** Choose a higher sparsity, or a percentile.", icon=":material/info:")

    show_shares()

    # -- who was at risk -----------------------------------------------------------------------------------------------
    st.markdown("##### Could one have known before pruning?", help=at_risk.HELP)
    at_risk.show_risk(frame, networks, labels, n_classes)


frame = open_page("pages/harmed.py")
show_page(frame)
