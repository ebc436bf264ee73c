"""Which examples does compression change?"""

from zlib import crc32

import streamlit as st

from engine.analysis.curves.baseline import CONTROL
from engine.analysis.examples.exemplars import (
    PERCENTILES,
    divergence,
    exemplar_accuracy,
    held_out_accuracy,
    percentile_cut,
)
from pages.shared import formats
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
from pages.views.harmed.shares import show_shares


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    example_set = load_examples(frame)
    labels = example_set.examples["label"].to_numpy()
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
        answer(words.answer_sentence(exemplars))
        st.caption(words.whom_sentence(exemplars), help=words.ANSWER_HELP)
        st.markdown(words.nothing_sentence(beside, int(exemplars.divergence.modal.sum())), help=words.NOTHING_HELP)
    for line in (words.beside_caption(beside), networks.training):
        if line:
            above.caption(line)
    if networks.n_missing:
        above.caption(f"{formats.seeds(networks.n_missing)} without this level or a baseline for it: left out.")

    # -- one by one ----------------------------------------------------------------------------------------------------
    @part
    def show_examples() -> None:
        """The examples one by one."""
        st.markdown("## Wrong label, ambiguous, or truly hard? Look and mark them")
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
    show_shares(frame, exemplars, cuts)

    # -- how much harder they are --------------------------------------------------------------------------------------
    st.markdown(f"## {words.hardest_title(accuracy)}", help=words.ties_help(exemplars, cuts[99.0]))
    left, right = st.container(key="beside-accuracy").columns(2, gap="large")
    with left:
        apart = kept(
            frame.source,
            "held out",
            asked,
            lambda: held_out_accuracy(labels, networks.before, networks.compressed, n_classes),
        )
        caption = f"Accuracy at {formats.sparsity(networks.sparsity)} sparsity, with 95 % intervals. "
        caption += (
            "Dotted lines correct for having picked these examples by their disagreement."
            if len(apart)
            else "Picking them by their disagreement alone lowers both; four training runs or more show how much."
        )
        show_chart(
            charts.percentile_chart(accuracy, apart, BASELINE_LABELS[networks.kind]),
            "percentiles",
            f"{formats.unmarked(words.hardest_title(accuracy))}.",
            accuracy,
            caption=caption,
        )
    with right:
        curves = predictions.exemplar_levels(networks.asked, example_set.name)
        curves = curves.assign(sparsity=curves["level"].map(networks.by_level))
        show_chart(
            charts.sparsity_chart(curves, str(scale), networks.level, 99.0, BASELINE_LABELS[networks.kind]),
            "by-sparsity",
            "Accuracy on the examples that change most at each sparsity, and on all.",
            curves,
            caption="The same at every sparsity: the most changed examples are found anew each time. Dotted: all.",
        )
    if coarse := words.ties_sentence(exemplars, cuts[99.0]):
        st.caption(coarse)

    # -- who was at risk -----------------------------------------------------------------------------------------------
    st.markdown("## Could one have known before pruning?", help=at_risk.HELP)
    at_risk.show_risk(frame, networks, labels, n_classes)


frame = open_page("pages/harmed.py")
show_page(frame)
