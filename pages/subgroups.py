"""Whose errors grow?"""

import pandas as pd
import streamlit as st

from engine.analysis.examples.subgroups import RATES
from pages.shared import bound, formats
from pages.shared.body import body
from pages.shared.cache import predictions
from pages.shared.cache.kept import kept
from pages.shared.frame import Frame, open_page
from pages.shared.layout import answer, show_chart, show_rows
from pages.shared.names import dataset_name
from pages.shared.pickers import choose_axis, choose_populations, load_examples
from pages.views.subgroups import charts
from pages.views.subgroups.controls import (
    MOST_GROUPS,
    answer_sentence,
    choose_groups,
    choose_rates,
    context_sentence,
    curve_heading,
    of_groups,
    shown_table,
    table_columns,
)
from pages.views.subgroups.search import show_search


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    example_set = load_examples(frame)
    if not example_set.group_columns:
        st.info(
            f"**{formats.plain(dataset_name(example_set.spec.dataset))} names no groups.** Rates are shown for "
            "everybody. Predictions that you bring may have any columns of groups.",
            icon=":material/info:",
        )
        st.page_link("pages/bring.py", label="Bring your own predictions", icon=":material/upload:")

    # -- what is asked -------------------------------------------------------------------------------------------------
    above = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        networks = choose_populations(frame)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        asked = choose_rates(example_set)
        value = bound.segmented_control(
            "Show",
            list(charts.VALUES),
            default="compressed",
            format_func={"compressed": "rate", "change": "change", "normalised": "relative change"}.__getitem__,
            key="value",
            help="Change: after − before, before being what is compared with. Relative: the same over the rate before, "
            "as in Hooker 2020.",
        )
        scale = choose_axis("kept")

    # -- what follows --------------------------------------------------------------------------------------------------
    rates = predictions.subgroup_levels(networks.asked, example_set.name, asked.columns, asked.positive)
    of = (networks.asked, networks.level, asked)

    def at_sparsities() -> tuple[pd.DataFrame, pd.DataFrame]:
        every = rates.assign(sparsity=rates["level"].map(networks.by_level))
        return every, every[(every["level"] == networks.level).to_numpy()]

    curves, table = kept(frame.source, "rates at sparsities", of, at_sparsities)
    with above:
        answer(kept(frame.source, "answer", of, lambda: answer_sentence(table, asked, networks)))
        st.caption(kept(frame.source, "context", of, lambda: context_sentence(table, asked, networks)))
    only = choose_groups(table)
    looked_at = (of, tuple(only), frame.dark)
    curves, table = of_groups(curves, only), of_groups(table, only)
    if networks.training:
        above.caption(networks.training)
    if networks.working:
        above.caption(f"Beyond {networks.working} these networks have broken down for everybody.")
    if table["group"].nunique() > MOST_GROUPS:
        st.info(
            f"**{table['group'].nunique()} groups are too many to draw.** Choose fewer columns.", icon=":material/info:"
        )
        st.stop()
    n_groups = len(table[table["grouping"] != "all"].drop_duplicates(["grouping", "group"]))
    left, right = st.container(key="beside-groups").columns(2, gap="large")
    with left:
        heading = kept(frame.source, "rates heading", looked_at, lambda: curve_heading(curves, asked))
        st.markdown(f"## {heading}")
        show_chart(
            kept(
                frame.source,
                "rates over sparsity",
                (looked_at, value, scale),
                lambda: charts.curve_chart(curves, asked.rate, str(value), str(scale), frame.dark),
            ),
            "over-sparsity",
            "The rate of each group over sparsity.",
            curves,
            caption="Thick: everybody. Grey: groups whose rate grows less. Open circles: fewer than 30 examples."
            if n_groups > charts.FEW_LINES
            else "Thick: everybody. Open circles: fewer than 30 examples.",
        )
    with right:
        st.markdown(f"## {RATES[asked.rate]} before, and at {formats.sparsity(networks.sparsity)} sparsity")
        show_chart(
            kept(
                frame.source,
                "rates before and after",
                looked_at,
                lambda: charts.change_chart(table, asked.rate, frame.dark),
            ),
            "dense-compressed",
            f"The rate of each group, {networks.baseline} and pruned, the largest growth on top.",
            table,
            caption="Bars: 95 % intervals for this many examples, or for this many writers where examples name them."
            + (f" The {charts.MOST_ROWS} that grow most; the table has all." if n_groups >= charts.MOST_ROWS else ""),
        )
    show_search(example_set, networks, asked)
    st.markdown("## Group by group")
    show_rows(
        kept(frame.source, "rates", of, lambda: shown_table(table, asked)) if not only else shown_table(table, asked),
        "groups-table",
        f"Rates of each group, {networks.baseline} and pruned, the largest growth against the others first.",
        column_config=table_columns(networks.kind),
    )
    st.caption(
        "A group is tested against all others, not against no change: pruning may cost everybody something. "
        "Intervals and tests allow for other training runs and other examples of the same kind. A small p says that "
        "chance is an unlikely reason, not what the reason is."
    )


frame = open_page("pages/subgroups.py")
show_page(frame)
