"""Who loses, and does their writing explain it?"""

from functools import partial
from html import unescape

import pandas as pd
import streamlit as st

from engine.analysis.members.accuracy import hit_hardest, member_facts
from engine.analysis.members.seed_spread import seed_changes
from engine.analysis.members.slopes import WITHIN, SlopeChange, slope_change
from engine.analysis.members.splines import Curve, curve_band, curved_change
from engine.analysis.members.spread import round_step
from pages.shared import bound, formats
from pages.shared.body import body
from pages.shared.cache.kept import kept
from pages.shared.frame import Frame, open_page
from pages.shared.layout import answer, show_chart, show_rows, side_by_side
from pages.shared.names import baseline_name, group_name
from pages.shared.pickers import ExampleSet
from pages.views.writers import charts, words
from pages.views.writers.among import select_members, show_among
from pages.views.writers.attribute_panels import TILT, attribute_panels, tilt_drawing
from pages.views.writers.chance import chance_sentence, count_sentence
from pages.views.writers.controls import (
    MemberView,
    asked_for,
    choose_members,
    choose_network,
    load_members,
    permuted_losses,
)
from pages.views.writers.gallery import show_member
from pages.views.writers.kept import kept_sentence

LOSS = 0.05
HARDEST = 10


def choose_point(key: str) -> None:
    """Make the member that was clicked the chosen one; several that were drawn around are those that count."""
    if select_members(key):
        return
    points = st.session_state[key]["selection"]["points"]
    if points and (shown := points[0].get("customdata")):
        st.session_state["member"] = unescape(shown[0])


def choose_row(key: str, names: list[str]) -> None:
    """Make the member whose row was clicked the chosen one."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows:
        st.session_state["member"] = names[rows[0]]


def show_table_one(changes: pd.DataFrame, shown: MemberView, is_paper_case: bool) -> None:
    """Lines of accuracy on the attribute, before and after, and whether the slope changed."""
    label = formats.plain(words.attribute_label(shown.attribute or ""))
    st.markdown(f"### Lines of accuracy on {label}")
    rows = words.table_one(changes, shown.series or "")
    st.dataframe(rows, hide_index=True, key="table-one", alt=f"Intercepts and slopes of accuracy on {label}.")
    inside = words.NAMES[WITHIN] in rows
    st.caption(
        f"Standard errors in brackets. The test is paired: each {formats.plain(shown.of.member)}'s change on {label}, "
        f"HC3 errors and the spread between training runs. {words.WITHIN_HELP if inside else ''}When accuracy falls "
        "for all, slopes have more room to grow; and of twenty tests one is below 0.05 by chance."
    )
    if is_paper_case:
        st.markdown("### What the paper printed")
        st.dataframe(words.paper_table(), hide_index=True, key="paper-table", alt="The paper's Table 1.")
        st.caption(words.PAPER_SOURCE)


def show_hardest(ranked: pd.DataFrame, shown: MemberView, chosen: str | None) -> None:
    """The members that lose most, with bars; a row chooses its member, and the chosen one is ticked."""
    st.markdown(f"## {formats.plain(shown.of.members).capitalize()} hit hardest")
    top = ranked.head(HARDEST)
    names = [str(name) for name in top[shown.grouping]]
    ticked = [names.index(chosen)] if chosen in names else []
    key = f"hardest-{chosen}-{ticked}"
    rows, config = words.hardest_table(top, shown.grouping, shown.series, shown.attribute, shown.of)
    show_rows(
        rows,
        key,
        f"The {len(top)} {shown.of.members} that lose most.",
        column_config=config,
        on_select=partial(choose_row, key, names),
        selection_mode="single-row",
        selection_default={"selection": {"rows": ticked}},
    )
    st.caption(
        "Click a row to see what they wrote. Sorted by what they lose: the top of such a list is always partly luck."
    )


def show_lines(
    example_set: ExampleSet, shown: MemberView, look: charts.Look, changes: pd.DataFrame, curve: Curve
) -> None:
    """The lines of one attribute with their tests, and how the attribute is spread."""
    table, of, member, attribute = shown.table, shown.of, shown.grouping, shown.attribute
    label = words.attribute_label(attribute or "")
    show_chart(
        charts.change_against(table, look, shown.palette, curve_band(curve, charts.attribute_grid(table, look))),
        "writers-change",
        f"Change of accuracy against mean {label} of {len(table)} {of.members}, with lines, 95 % bands and a curve "
        "over all.",
        table,
        selects=partial(choose_point, "writers-change"),
        caption="Lines with 95 % bands; thin: a curve over all.",
    )
    left, right = side_by_side("lines", [4, 3])
    with left:
        paper = (example_set.spec.dataset, member, attribute) == ("qmnist", "writer", "abs_tilt")
        show_table_one(changes, shown, paper)
    with right:
        st.markdown(f"### How {formats.plain(label)} is spread")
        show_chart(
            charts.attribute_histogram(table, look, shown.palette),
            "writers-spread",
            f"How many {of.members} have which mean {label}, by series.",
            table[[member, *([shown.series] if shown.series else []), "n", attribute]],
            caption=f"Mean over the {of.examples} of each {formats.plain(of.member)}.",
        )


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    example_set = load_members(frame)
    above = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        compared = choose_network(frame)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shown = choose_members(frame.source, example_set, compared, frame.dark)
    table, of, moment = shown.table, shown.of, compared.moment
    member, attribute = shown.grouping, shown.attribute
    label = words.attribute_label(attribute or "an attribute")

    # -- the answer ----------------------------------------------------------------------------------------------------
    ranked = hit_hardest(table, len(table))
    names = [str(name) for name in ranked[member]]
    worst_series = group_name(shown.series, str(ranked[shown.series].iloc[0])) if shown.series and len(ranked) else ""
    with above:
        facts = member_facts(table, loss=LOSS)
        by_chance = permuted_losses(frame, example_set, compared, shown, LOSS)
        answer(count_sentence(facts, by_chance, of))
        st.markdown(words.worst_sentence(facts, next(iter(names), ""), moment, of, worst_series))
        with st.expander("How sure is this?"):
            st.markdown(chance_sentence(by_chance, facts, of, shown.series or ""))
            if attribute:
                series = shown.series if len(shown.palette) > 1 else None

                def slopes() -> tuple[pd.DataFrame, Curve]:
                    """How the change leans on the attribute, in lines and in a curve."""
                    assert attribute is not None
                    runs = (compared.before, compared.after)
                    by_seed = seed_changes(example_set.examples, *runs, member, table[member])
                    lines = slope_change(table, attribute, series, seeds=by_seed)
                    return lines, curved_change(table, attribute, series, by_seed)

                asked_of = (*asked_for(compared, shown), attribute, series)
                changes, curve = kept(frame.source, "slopes", asked_of, slopes)
                rows = [SlopeChange(*row) for row in changes.itertuples(index=False)]
                sentence = words.slope_sentence(rows, attribute, round_step(table[attribute]), shown.series or "")
                st.markdown(f"{sentence} {words.curve_sentence(curve, attribute)}")
            st.markdown(kept_sentence(frame, example_set, compared, shown))
        for caution in words.cautions(moment, compared.n_missing, compared.working, compared.training):
            st.caption(f":material/warning: {caution}")

    # -- who is looked at closely: asked first, because the charts mark them -------------------------------------------
    upper, lower = st.container(), st.container()
    with lower:
        st.markdown(f"## One {formats.plain(of.member)}, before and after")
        with st.container(horizontal=True):
            asked = bound.selectbox(
                f"Look at one {formats.plain(of.member)}",
                names,
                index=None,
                placeholder="the one hit hardest",
                key="member",
                help="Or click a point of a chart or a row of the table above.",
                width=260,
            )
            second = bound.selectbox(
                "Compare with",
                names,
                index=None,
                placeholder="nobody",
                key="second",
                help=f"Another {formats.plain(of.member)} beside the first.",
                width=260,
            )
    chosen = asked or (names[0] if names else None)
    look = charts.Look(
        member=member,
        word=formats.chart_text(of.member),
        members=formats.chart_text(of.members),
        examples=of.examples,
        series=shown.series,
        colour=shown.colour,
        attribute=attribute,
        attribute_label=formats.chart_text(label),
        colour_label=formats.chart_text(words.attribute_label(shown.colour)),
        chosen=chosen,
        small=words.SMALL,
        dark=frame.dark,
        before=baseline_name(compared.kind),
    )

    drawn_of = (*asked_for(compared, shown), look, tuple(shown.palette.items()))

    # -- people: before against after, and who is hit hardest ----------------------------------------------------------
    with upper:
        left, right = side_by_side("members", [4, 6])
        with left:
            st.markdown(f"## {words.scatter_title(table, of)}")
            st.caption(
                f"Accuracy of each {formats.plain(of.member)} before and after pruning; below the dashed line: loss. "
                "Click one, or draw around several."
            )
            show_chart(
                kept(frame.source, "before after", drawn_of, lambda: charts.before_after(table, look, shown.palette)),
                "writers-before-after",
                f"Accuracy before against after pruning of {len(table)} {of.members}; below the dashed line they lose.",
                table,
                selects=partial(choose_point, "writers-before-after"),
                modes=("points", "lasso", "box"),
                caption=words.scatter_caution(table, of, shown.n_left_out),
            )
        with right:
            show_hardest(ranked, shown, chosen)

    # -- their digits --------------------------------------------------------------------------------------------------
    with lower:
        looked_at = [name for name in dict.fromkeys((chosen, second)) if name is not None]
        for place, column in enumerate(side_by_side("people", [1] * len(looked_at)) if looked_at else ()):
            row = table[(table[member].astype(str) == looked_at[place]).to_numpy()].iloc[0]
            with column:
                if len(looked_at) > 1:
                    st.markdown(f"### {formats.plain(of.member).capitalize()} {formats.plain(looked_at[place])}")
                show_member(frame.source, row, example_set, compared, of, frame.dark, str(place))

    show_among(frame, example_set, compared, shown)

    # -- does their writing explain it: small charts side by side, statistics folded -----------------------------------
    if not attribute:
        st.info("**No attribute is known.** The examples have no column of numbers, such as tilt, to explain it by.")
        return
    drawn = words.shown_attributes(shown.attributes)
    st.markdown(f"## {words.slope_title(rows, attribute)}")
    st.caption(
        f"Change of accuracy of each {formats.plain(of.member)} against what their {of.examples} look like. A line is "
        f"not a cause: {formats.plain(of.members)} who differ in one way differ in others too."
    )
    show_chart(
        kept(
            frame.source,
            "attribute panels",
            drawn_of,
            lambda: attribute_panels(table, look, shown.palette, drawn),
        ),
        "writers-attributes",
        f"{formats.unmarked(words.slope_title(rows, attribute))}: change of accuracy of {len(table)} {of.members} "
        f"against mean {', '.join(map(words.attribute_label, drawn))}, with lines and 95 % bands.",
        table,
        selects=partial(choose_point, "writers-attributes"),
        caption="Lines with 95 % bands.",
    )
    if {"tilt", "abs_tilt"} & set(drawn):
        st.image(tilt_drawing(frame.dark), width=360, alt=TILT)
        st.caption("Tilt is how far strokes lean; slant is tilt to either side.")
    lines = f"Lines, tests and spread of {formats.plain(label)}"
    fold = st.expander(lines, key="attribute-lines", on_change="rerun")
    if fold.open:
        with fold:
            show_lines(example_set, shown, look, changes, curve)


frame = open_page("pages/writers.py")
show_page(frame)
